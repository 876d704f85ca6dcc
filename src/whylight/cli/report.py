"""`whylight report`: a run of `whylight evaluate` as one web page."""

from pathlib import Path
from typing import Annotated

import typer

from whylight.cli.completion import complete_metrics
from whylight.explaining.console import say_written

NAME = "report.html"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of `whylight evaluate`.")],
    *,
    out: Annotated[
        Path | None, typer.Option(help=f"File to write. [dim]\\[default: {NAME} in the folder of the run][/]")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric of the chart and of the examples. [dim]\\[default: the first that asks the model][/]",
            autocompletion=complete_metrics,
        ),
    ] = None,
) -> None:
    """Write one self-contained web page about a run: tables, agreement, cost, examples, receipts.

    [bold]Examples[/bold]

    whylight report runs/sst

    whylight report runs/sst --metric average_precision --out sst.html
    """
    from whylight.report.page import write_page  # noqa: PLC0415  loads only when it is needed
    from whylight.report.run_page import run_page  # noqa: PLC0415

    target = out or run / NAME
    write_page(target, run_page(run, quality=metric))
    say_written(target)
