"""`whylight roar`: remove what methods call important, and train anew."""

from pathlib import Path
from typing import Annotated

import typer

from whylight.cli.completion import complete_data, complete_removers
from whylight.cli.data import (
    Data,
    DataSettings,
    DropBroken,
    LabelColumn,
    MapLabel,
    PairColumn,
    RationaleColumn,
    TextColumn,
)
from whylight.cli.engines import Address, Engine, Workers
from whylight.cli.evaluate import DEFAULT_METHODS
from whylight.cli.limits import Budget, MaxMemory
from whylight.cli.models import Device, training_on
from whylight.cli.names import Methods
from whylight.cli.settings import parse_head, parse_settings
from whylight.cli.tables import TableFormat, print_records
from whylight.cli.train import read_texts
from whylight.explaining.console import complain, say_written

EXAMPLES = """
[bold]Examples[/bold]

whylight roar --data sst:trees --encoder ./pretrained --method occlusion --method lime --out runs/roar

whylight roar --data reviews.jsonl --dev more.jsonl --model ./my-model --encoder ./pretrained --method attingrad
--sample 200 --dev-sample 100 --share 0.2 --seeds 1 --epochs 1 --out runs/quick

whylight roar --data sst:trees --encoder ./pretrained --method occlusion --remover infill --out runs/infilled
--workers 4
"""


def roar(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    encoder: Annotated[str, typer.Option(help="Pretrained encoder that trainings start from: folder or hub id.")],
    out: Annotated[Path, typer.Option(help="Folder of the study; a stopped one resumes from there.")],
    model: Annotated[
        str | None, typer.Option(help="The classifier to explain. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    method: Methods = None,
    remover: Annotated[
        str, typer.Option(help="What happens to the words: delete or infill.", autocompletion=complete_removers)
    ] = "delete",
    method_remover: Annotated[
        str | None, typer.Option(help='What "removed" means to methods themselves.', autocompletion=complete_removers)
    ] = None,
    target: Annotated[str, typer.Option(help="Whose scores rank the words: predicted or gold.")] = "predicted",
    share: Annotated[
        list[float] | None, typer.Option(help="Share of the words, may be repeated. [dim]\\[default: 0.1, 0.2, 0.3][/]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each method and share.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first of them; the others follow.")] = 0,
    split: Annotated[str, typer.Option(help="Split to learn from.")] = "train",
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data to measure accuracy on. [dim]\\[default: the split dev of --data][/]",
            autocompletion=complete_data,
        ),
    ] = None,
    dev_split: Annotated[str, typer.Option(help="Split of those data.")] = "dev",
    sample: Annotated[int | None, typer.Option(help="Learn from so many records, drawn at random.")] = None,
    dev_sample: Annotated[int | None, typer.Option(help="Measure on so many records, drawn at random.")] = None,
    sample_seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    epochs: Annotated[int, typer.Option(help="Passes over the texts.")] = 3,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 2e-5,
    batch_size: Annotated[int, typer.Option(help="Texts in an update.")] = 32,
    micro_batch: Annotated[int | None, typer.Option(help="Texts in a pass, where a batch does not fit.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Cut longer texts in trainings.")] = None,
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of a method or remover, e.g. infill.model=FOLDER."),
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Do not learn from texts that accuracy is measured on.")
    ] = False,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    budget: Budget = None,
    max_memory: MaxMemory = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Remove the words that methods call important, train a model anew, and see how much worse it is."""
    texts = read_texts(locals())
    from whylight.explaining.options import Options  # noqa: PLC0415  torch loads only when it is needed
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.report.study_sheets import roar_sheet  # noqa: PLC0415
    from whylight.study.roar import SHARES, roar as run  # noqa: PLC0415

    with training_on(device):
        found = run(
            model,
            *texts,
            encoder=encoder,
            methods=method or DEFAULT_METHODS,
            out=out,
            remover=remover,
            shares=share or SHARES,
            seeds=range(seed, seed + seeds),
            options=Options(target=target, remover=method_remover),
            budget=budget,
            max_memory=max_memory,
            settings=parse_settings(settings or []),
            epochs=epochs,
            learning_rate=learning_rate,
            batch_size=batch_size,
            micro_batch=micro_batch,
            max_tokens=max_tokens,
            precision=precision,
            engine=engine,
            workers=workers,
            address=address,
            load={"head": parse_head(head), "device": device},
        )
    say_written(out)
    for note in found.notes:
        complain(f"{note}.")
    if output_format is TableFormat.table:
        sizes = " and ".join(f"{len(one)} of {one.split}" for one in texts)
        title = f"{texts[0].name}, {sizes}; remover {remover}; {seeds} seed{'' if seeds == 1 else 's'}"
        print_sheet(roar_sheet(found, title=title))
    else:
        print_records(found.records(), output_format)


roar.__doc__ = f"{roar.__doc__}\n{EXAMPLES}"
