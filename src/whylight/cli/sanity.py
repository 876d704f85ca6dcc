"""`whylight sanity`: do explanations change when the model forgets what it has learnt?"""

from typing import Annotated, Literal

import typer

from whylight.cli.completion import complete_removers
from whylight.cli.data import (
    Data,
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
    read_data,
    say_losses,
)
from whylight.cli.evaluate import DEFAULT_METHODS
from whylight.cli.limits import Budget, MaxMemory
from whylight.cli.models import AskedBy, Device
from whylight.cli.names import Methods
from whylight.cli.settings import parse_head, parse_settings
from whylight.cli.tables import TableFormat, print_records

Initialiser = Literal["library", "xavier"]
Explained = Literal["untouched", "randomised"]
"""As in `study/sanity.py`, which needs torch."""
EXAMPLES = """
[bold]Examples[/bold]

whylight sanity --data sst:trees --split dev --sample 50 --method occlusion --method attention

whylight sanity --data reviews.jsonl --model ./my-model --method lime --levels head --draws 10

whylight sanity --data reviews.jsonl --method integrated_gradients --levels 3 --format csv
"""


def sanity(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    method: Methods = None,
    levels: Annotated[
        str, typer.Option(help="all (down to the embeddings), head, or a number: 1 is the head, 2 the top layer too.")
    ] = "all",
    draws: Annotated[int, typer.Option(help="How often weights are drawn; changes are averaged over the draws.")] = 3,
    sample: Annotated[int | None, typer.Option(help="Explain so many records, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the new weights and of the sample.")] = 0,
    initialiser: Annotated[
        Initialiser,
        typer.Option(help="library (all weights of a level) or xavier (the last matrix; --levels head)."),
    ] = "library",
    explained: Annotated[
        Explained,
        typer.Option(help="Whose label is explained after the draw: the untouched or randomised model's."),
    ] = "untouched",
    remover: Annotated[
        str | None, typer.Option(help='What "removed" means to methods.', autocompletion=complete_removers)
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="word (default), token or sentence; of pictures pixel (default), patch, superpixel."),
    ] = None,
    long: Annotated[str, typer.Option(help="window, segments, truncate or refuse.")] = "window",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Setting of a method or measure; lime.samples=200 is for one alone."
        ),
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    prompt: AskedBy = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Draw the model's weights anew, from the head downwards, and see which methods notice."""
    options = locals()
    from whylight.explaining.options import Options  # noqa: PLC0415  torch loads only when it is needed
    from whylight.models.load import load  # noqa: PLC0415
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.report.study_sheets import sanity_sheet  # noqa: PLC0415
    from whylight.study.sanity import sanity_check  # noqa: PLC0415

    records = read_data(data, split=split, options=options, labelled=False)
    say_losses(records)
    records = records if sample is None else records.sample(sample, seed=seed)
    found = sanity_check(
        load(model, head=parse_head(head), prompt=prompt, device=device),
        records,
        methods=method or DEFAULT_METHODS,
        levels=int(levels) if levels.isdecimal() else levels,
        draws=draws,
        seed=seed,
        initialiser=initialiser,
        explained=explained,
        options=Options.parse(target="predicted", unit=unit, remover=remover, score=None, long=long, pieces="sum"),
        budget=budget,
        max_memory=max_memory,
        settings=parse_settings(settings or []),
    )
    if output_format is TableFormat.table:
        title = f"{records.name} {records.split}, {records.noun.count(len(records))}, {draws} draws of weights"
        print_sheet(sanity_sheet(found, title=title))
    else:
        print_records(found.records(), output_format)


sanity.__doc__ = f"{sanity.__doc__}\n{EXAMPLES}"
