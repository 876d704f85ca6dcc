"""`whylight compare`: two methods, or two runs, text by text."""

from pathlib import Path
from typing import Annotated

import typer

from whylight.cli.completion import complete_methods


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of `whylight evaluate`.")],
    *,
    first: Annotated[str, typer.Option("--method", help="The one method.", autocompletion=complete_methods)],
    second: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="The other. [dim]\\[default: random, or the same of --run][/]",
            autocompletion=complete_methods,
        ),
    ] = None,
    other: Annotated[
        Path | None, typer.Option("--run", help="Take the other from this run, e.g. of another model.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of resampling.")] = 0,
) -> None:
    """Compare two methods, or one method on two models, by a paired test.

    [bold]Examples[/bold]

    whylight compare runs/sst --method attingrad --against attention

    whylight compare runs/model-a --method lime --run runs/model-b
    """
    from whylight.core.showing import show  # noqa: PLC0415  loads only when it is needed
    from whylight.study.comparing import compare as paired  # noqa: PLC0415

    show(paired(run, first, against=second, other=other, seed=seed))
