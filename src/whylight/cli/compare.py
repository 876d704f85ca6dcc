"""`whylight compare`: two methods, or two runs, text by text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whylight.cli.completion import complete_methods
from whylight.core.errors import InputError

if TYPE_CHECKING:
    from whylight.store.runs import Stored


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
    from whylight.report.run_sheets import comparison_sheet  # noqa: PLC0415  loads only when it is needed
    from whylight.report.sheets import print_sheet  # noqa: PLC0415
    from whylight.run.agreement import agreement_of, mean_agreement  # noqa: PLC0415
    from whylight.run.compare import compare as paired, select  # noqa: PLC0415

    second = second or (first if other is not None else "random")
    left, right = _scored_run(run), _scored_run(other or run)
    first, second = _stored_name(left, first), _stored_name(right, second)
    _check_labels(run, left, other or run, right)
    results = paired(select(left.scores, first), select(right.scores, second), seed=seed)
    alike = mean_agreement(agreement_of(left.explanations, right.explanations, first, second))
    print_sheet(comparison_sheet(results, title=f"{first} minus {second}", alike=alike))


def _stored_name(run: "Stored", name: str) -> str:
    """Return what a run calls a method; an alias stands for its full name."""
    if any(row["method"] == name for row in run.scores):
        return name
    from whylight.explaining.variants import table_name  # noqa: PLC0415  torch loads only when it is needed

    return table_name(name)


def _check_labels(run: Path, left: "Stored", other: Path, right: "Stored") -> None:
    """Refuse two runs that measured different labels: their differences would not be those of methods or models."""
    from whylight.run.evaluation import target_of  # noqa: PLC0415

    first, second = (target_of(one.about.asked or {} if one.about else {}) for one in (left, right))
    if first != second:
        raise InputError(
            f"'{run}' measured the {first} labels and '{other}' the {second} ones; compare runs of the same labels."
        )


def _scored_run(folder: Path) -> "Stored":
    from whylight.store import runs  # noqa: PLC0415

    stored = runs.read(folder)
    if not stored.scores:
        raise InputError(f"'{folder}' holds no run with scores of single texts to compare.")
    return stored
