"""`whylight compare`: two methods, or two runs, text by text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whylight.cli.completion import complete_methods
from whylight.cli.tables import print_columns
from whylight.core.errors import InputError
from whylight.explaining.console import say
from whylight.report.layout import Column

if TYPE_CHECKING:
    from whylight.run.compare import Comparison
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
    from whylight.run.agreement import agreement_of, mean_agreement  # noqa: PLC0415  loads only when it is needed
    from whylight.run.compare import CLEAR, FEWEST_TEXTS, compare as paired, select  # noqa: PLC0415

    second = second or (first if other is not None else "random")
    left, right = _scored_run(run), _scored_run(other or run)
    first, second = _stored_name(left, first), _stored_name(right, second)
    _check_labels(run, left, other or run, right)
    results = paired(select(left.scores, first), select(right.scores, second), seed=seed)
    alike = mean_agreement(agreement_of(left.explanations, right.explanations, first, second))
    rows = [_compared_row(one) for one in results]
    names = ("difference", "95 % interval", "p", "wins", "texts", "verdict")
    print_columns([Column("metric", "key"), *map(Column, names)], rows, title=f"{first} minus {second}")
    for name, cell in alike.items():
        bounds = f"[{cell.low:.3f}, {cell.high:.3f}]"
        say(f"{name}: {cell.mean:.3f} {bounds} over {cell.texts} texts")
    say("Paired over texts: bootstrap interval, permutation test; wins = share of texts it is better on.", style="dim")
    say(
        f"Verdict: clear where the interval leaves out 0 and p < {CLEAR}, on {FEWEST_TEXTS} texts or more.", style="dim"
    )


def _compared_row(one: "Comparison") -> list[str]:
    cell = one.difference
    return [
        f"{one.metric} {'↑' if one.higher_is_better else '↓'}{f' ({one.remover})' if one.remover else ''}",
        f"{cell.mean:+.3f}",
        f"[{cell.low:+.3f}, {cell.high:+.3f}]",
        f"{one.p_value:.4f}",
        f"{one.wins:.0%}",
        str(cell.texts),
        one.standing,
    ]


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
