"""What studies found, as sheets: sanity checks, recommendations, audits, and remove and retrain."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from whylight.report.layout import Column
from whylight.report.run_sheets import summary_grid
from whylight.report.sheets import (
    Bounded,
    FactList,
    Grid,
    Heading,
    Sheet,
    SheetBlock,
    count_of,
    with_interval,
)

if TYPE_CHECKING:
    from whylight.study.audit import Audit
    from whylight.study.figures import FigureTable
    from whylight.study.recommend import Recommendation
    from whylight.study.retrained import Roar, RoarComparison, SeedMean
    from whylight.study.sanity_lines import SanitySummary

RANKED = "Methods are ranked by their mean rank over both metrics; the same figures have the same rank"
DIRECTIONS = {"sign_change": "↑", "mean_change": "↑", "spearman": "→0"}
"""Where a method goes that notices the new weights."""
SANITY = (
    "Explanations of the model beside those of the same model with new weights in all levels down to this one; means "
    "over {many} with 95 % bootstrap intervals. ↑ and →0 say where a method goes that notices; random never looks at "
    "the model, and so does not change. flips: {many} that get another label. Intervals leave out the luck of the "
    "draws: compare methods within a level."
)
ROAR = (
    "Accuracy of a model that was trained anew on texts without the top words by each method, on validation texts "
    "without theirs: means over seeds with 95 % t intervals. Differences are taken seed by seed; lower is better. A "
    "verdict needs 3 seeds, an interval without 0, and p < 0.05 in a two-sample t-test; each line is tested by itself."
)


def sanity_sheet(found: "SanitySummary", *, title: str) -> Sheet:
    """Return how far explanations change with the weights."""
    figures = (Column(f"{name} {direction}") for name, direction in DIRECTIONS.items())
    flips = {level.name: f"{level.flips.mean:.0%}" for level in found.levels}
    cells = [[with_interval(line.cells.get(name), digits=2) for name in DIRECTIONS] for line in found.lines]
    about = [(line.level, flips[line.level], line.method) for line in found.lines]
    rows = tuple((*first, *own) for first, own in zip(about, cells, strict=True))
    return Sheet(
        title,
        (Grid((*_keys("level", "flips", "method"), *figures), rows, grouped=True),),
        (SANITY.format(many=found.noun.many),),
    )


def roar_sheet(found: "Roar", *, title: str) -> Sheet:
    """Return accuracies after retraining, and who is better."""
    heads = (*_keys("share", "method"), Column("accuracy ↓"))
    lines = sorted(found.lines, key=lambda line: line.share)
    rows = tuple((f"{line.share:.0%}", line.method, _over_seeds(line.accuracy)) for line in lines)
    compared = [roar_comparisons(found.comparisons)] if found.comparisons else []
    return Sheet(title, (Grid(heads, rows), *compared), (ROAR,))


def roar_comparisons(found: "Sequence[RoarComparison]") -> Grid:
    """Return who is better after retraining."""
    heads = (*_keys("share", "method", "against"), *map(Column, ("difference", "p", "verdict")))
    rows = tuple(
        (
            f"{one.share:.0%}",
            one.first,
            one.second,
            _over_seeds(one.difference),
            "-" if one.p_value is None else f"{one.p_value:.3f}",
            one.standing,
        )
        for one in found
    )
    return Grid(heads, rows)


def recommendation_sheet(found: "Recommendation", *, title: str, budget: float | None = None) -> Sheet:
    """Return which method to trust.

    Args:
        found: What was found.
        title: What it is about.
        budget: Seconds that were allowed, where that is known.
    """
    ranked = [
        f"best to worst under {remover}: {', '.join(f'{rank}. {name}' for name, rank in ranks.items())}"
        for remover, ranks in found.ranks.items()
    ]
    allowed = f" for {budget:g} seconds" if budget is not None else ""
    left_out = [f"- left out{allowed}: {', '.join(found.left_out)}."] if found.left_out else []
    tables = [summary_grid(found.summary)] if found.rankings else []
    sentences = (f"- {sentence}" for sentence in found.findings)
    return Sheet(title, (*tables, *ranked, *left_out, *sentences), (f"{RANKED}.",) if ranked else ())


def audit_sheet(found: "Audit") -> Sheet:
    """Return what an audit says, in words."""
    title = f"Audit of {found.model} on {count_of(found.texts, 'text')} of {found.data['name']}"
    return Sheet(title, tuple(_audit_sentences(found)))


def _audit_sentences(found: "Audit") -> Iterator[SheetBlock]:
    for verdict in found.verdicts:
        texts = count_of(found.figures[verdict.analysis].texts, "text")
        yield Heading(f"{verdict.analysis} ({texts}): {verdict.answer}")
        yield from (f"- {sentence}" for sentence in verdict.sentences)
    yield from (f"left out: {one.name}; {one.reason}." for one in found.left_out)
    yield Heading(f"recommendation: {found.recommendation.certainty}")
    yield from (f"- {sentence}" for sentence in found.recommendation.sentences)


def figure_sheet(found: "FigureTable") -> Sheet:
    """Return a table of means over texts."""
    heads = (*_keys(""), *map(Column, found.columns))
    rows = tuple((row, *(with_interval(found.cell(row, column)) for column in found.columns)) for row in found.rows)
    notes = [FactList(tuple(("note", note) for note in found.notes))] if found.notes else []
    return Sheet(f"Means over {count_of(found.texts, 'text')}, with 95 % intervals", (Grid(heads, rows), *notes))


def _keys(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "key") for name in names)


def _over_seeds(one: "SeedMean") -> str | Bounded:
    """Write a mean, and its interval where there are several seeds."""
    mean = f"{one.mean:.3f}"
    return mean if one.low is None else Bounded(mean, f"[{one.low:.3f}, {one.high:.3f}]")
