"""`whylight audit`: how far explanations of a model can be trusted, as one page."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from whylight.cli.completion import complete_methods, complete_removers
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
from whylight.cli.models import AskedBy, Device, EndpointModel, EndpointSettings, EndpointUrl, named_model
from whylight.cli.settings import parse_head, parse_settings
from whylight.core.printable import to_json
from whylight.explaining.console import put, say_written

EXAMPLES = """
[bold]Examples[/bold]

whylight audit --model ./my-model --data reviews.jsonl --out audit.html

whylight audit --model ./my-model --data reviews.jsonl --set infill.model=./my-mlm --budget 600 --out audit.html

whylight audit --data reviews.jsonl --analysis ranking --method "lime\\[samples=500]" --remover unk --remover delete
"""


def audit(  # noqa: PLR0913  one parameter an option
    *,
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Web page to write.")] = None,
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds to spend.")] = 120.0,
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            help="One alone, may be repeated: returns, damage, size, agreement, ranking, randomised or all_words."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method to rank besides occlusion, may be repeated; lime\\[samples=200].",
            autocompletion=complete_methods,
        ),
    ] = None,
    remover: Annotated[
        list[str] | None,
        typer.Option(
            help='What "removed" may mean, may be repeated. [dim]\\[default: two, and infill for the bundled model or '
            "with a named masked language model][/]",
            autocompletion=complete_removers,
        ),
    ] = None,
    sample: Annotated[int, typer.Option(help="The most texts to draw from the data.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of a remover or method.")
    ] = None,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    rationale_column: RationaleColumn = None,
    map_label: MapLabel = None,
    data_settings: DataSettings = None,
    drop_broken: DropBroken = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    prompt: AskedBy = None,
    endpoint: EndpointUrl = None,
    endpoint_model: EndpointModel = None,
    endpoint_settings: EndpointSettings = None,
    device: Device = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Say how far explanations of a model can be trusted: do rankings flip with what "removed" means?"""
    options, subject = locals(), named_model(model, endpoint, endpoint_model, endpoint_settings)
    from whylight.models.load import load  # noqa: PLC0415  torch loads only when it is needed
    from whylight.report.audit_page import audit_page  # noqa: PLC0415
    from whylight.report.page import write_page  # noqa: PLC0415
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.report.study_sheets import audit_sheet  # noqa: PLC0415
    from whylight.store.files import check_place  # noqa: PLC0415
    from whylight.study.audit import audit as find  # noqa: PLC0415

    if out is not None:
        check_place(out)
    records = read_data(data, split=split, options=options, labelled=False)
    say_losses(records)
    found = find(
        load(subject, head=parse_head(head), prompt=prompt, device=device),
        records,
        budget=budget,
        analyses=analysis,
        methods=method,
        removers=remover,
        sample=sample,
        seed=seed,
        settings=parse_settings(settings or []),
    )
    command = shlex.join(["whylight", *sys.argv[1:]])
    if out is not None:
        write_page(out, audit_page(found, command=command))
        say_written(out)
    if as_json:
        put(f"{to_json({**found.to_dict(), 'command': command})}\n")
    else:
        print_sheet(audit_sheet(found))


audit.__doc__ = f"{audit.__doc__}\n{EXAMPLES}"
