"""`whylight evaluate`: methods x metrics on a data set, as one table."""

import csv
import json
import sys
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from whylight.cli.explain import parse_head, parse_settings

if TYPE_CHECKING:
    from whylight.run.summary import Cell, Summary

DEFAULT_METHODS = ("integrated_gradients", "lime", "attingrad", "occlusion")
TUNING_SEED = 1
"""Another seed than the sample's own, where both are drawn from one split."""


class TableFormat(StrEnum):
    """How the table is printed."""

    table = "table"
    json = "json"
    csv = "csv"


EXAMPLES = """
[bold]Examples[/bold]

whylight evaluate --data sst:trees --split dev --sample 100 --method lime --method attingrad --out runs/sst

whylight evaluate --data reviews.jsonl --model ./my-model --method occlusion --metric aopc_comprehensiveness

whylight evaluate --data eraser:movies --split test --method lime --metric token_f1 --tune val --tune-sample 50
"""


def evaluate(  # noqa: PLR0913  one parameter an option
    *,
    data: Annotated[str, typer.Option(help="CORPUS:PATH, or the path of a .jsonl, .csv, .tsv or .parquet file.")],
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "test",
    model: Annotated[
        str | None, typer.Option(help="Folder or hub id. [dim]\\[default: the bundled sentiment model][/]")
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="Method, may be repeated.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Metric, may be repeated; see `whylight metrics`.")] = None,
    sample: Annotated[int | None, typer.Option(help="Evaluate on so many records, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    remover: Annotated[str | None, typer.Option(help='What "removed" means to methods and metrics.')] = None,
    metric_remover: Annotated[
        list[str] | None, typer.Option(help="Measure under this remover instead; may be repeated, and should be.")
    ] = None,
    unit: Annotated[str, typer.Option(help="word, token or sentence.")] = "word",
    long: Annotated[str, typer.Option(help="window, segments, truncate or refuse.")] = "window",
    tune: Annotated[str | None, typer.Option(help="Split on which decision boundaries are tuned.")] = None,
    tune_sample: Annotated[int, typer.Option(help="Records of that split to use.")] = 100,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of a method or metric.")
    ] = None,
    data_settings: Annotated[
        list[str] | None, typer.Option("--data-set", metavar="NAME=VALUE", help="Setting of the corpus.")
    ] = None,
    output_format: Annotated[TableFormat, typer.Option("--format", help="table, json or csv.")] = TableFormat.table,
    out: Annotated[
        Path | None, typer.Option(help="Folder for Parquet tables; a stopped run goes on from there.")
    ] = None,
    head: Annotated[str | None, typer.Option(help="softmax, sigmoid or binary.")] = None,
) -> None:
    """Measure methods on a data set: one table with intervals, beside `random` and `human`."""
    from whylight.data.load import dataset  # noqa: PLC0415  torch loads only when it is needed
    from whylight.facade.explain import Options  # noqa: PLC0415
    from whylight.models.load import load  # noqa: PLC0415
    from whylight.run.evaluate import evaluate as run  # noqa: PLC0415

    options = Options.parse(target="predicted", unit=unit, remover=remover, score=None, long=long, pieces="sum")
    for_data = parse_settings(data_settings or [])
    records = dataset(data, split=split, **for_data)
    records = records if sample is None else records.sample(sample, seed=seed)
    tuning = None
    if tune is not None:
        tuning = dataset(data, split=tune, **for_data).sample(tune_sample, seed=seed + TUNING_SEED)
    summary = run(
        load(model, head=parse_head(head)),
        records,
        methods=method or DEFAULT_METHODS,
        metrics=metric or None,
        remover=remover,
        metric_removers=metric_remover or None,
        options=options,
        tune=tuning,
        out=out,
        settings=parse_settings(settings or []),
    )
    _show(summary, output_format, title=f"{records.name} {records.split}, {len(records)} texts")


evaluate.__doc__ = f"{evaluate.__doc__}\n{EXAMPLES}"


def _show(summary: "Summary", output_format: TableFormat, *, title: str) -> None:
    if output_format is TableFormat.table:
        print_table(summary, title=title)
        return
    records = [
        {"method": line.method, "metric": name, "mean": cell.mean, "low": cell.low, "high": cell.high,
         "texts": cell.texts, "seconds": line.seconds, "forward_passes": line.forward_passes,
         "backward_passes": line.backward_passes}
        for line in summary.lines
        for name, cell in line.cells.items()
    ]  # fmt: skip
    if output_format is TableFormat.json:
        sys.stdout.write("".join(f"{json.dumps(record)}\n" for record in records))
        return
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    sys.stdout.write(buffer.getvalue())


def print_table(summary: "Summary", *, title: str) -> None:
    """Print the table of a run."""
    table = Table(title=title, box=None, header_style="bold", pad_edge=False, title_justify="left")
    table.add_column("method")
    for name in summary.metrics:
        table.add_column(f"{name} {'↑' if summary.higher_is_better[name] else '↓'}", justify="right", overflow="fold")
    for name in ("seconds", "forward", "backward"):
        table.add_column(name, justify="right")
    for line in summary.lines:
        cells = [_cell(line.cells.get(name)) for name in summary.metrics]
        costs = (f"{line.seconds:.2f}", f"{line.forward_passes:.0f}", f"{line.backward_passes:.0f}")
        table.add_row(line.method, *cells, *costs)
    console = Console()
    console.print(table)
    console.print(
        "Means over texts with 95 % bootstrap intervals; ↑ higher is better, ↓ lower; cost a text.", style="dim"
    )


def _cell(cell: "Cell | None") -> str:
    return "-" if cell is None else f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
