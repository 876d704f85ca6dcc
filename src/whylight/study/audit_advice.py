"""The recommendation at the end of an audit: method, remover, samples, and how sure that is.

A method comes into question if it is clearly better than random scores by every measure under every remover, and never
clearly worse than another that is. Of those, the one with the best mean rank is recommended; where it draws samples,
the fewest that come into question. That is `sure` if it is clearly better than every other method everywhere, `likely`
if there are others that nobody can tell from it, and `cannot tell` if no method comes into question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylight.core.arrays import Floats
from whylight.run.summary import metric_of
from whylight.store.tables import RANDOM
from whylight.study.audit_words import standings, under_each
from whylight.study.figures import FigureTable
from whylight.study.removal_ranking import PASSES, Candidate

Certainty = Literal["sure", "likely", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to use.

    Attributes:
        method: The method; None where nobody can tell.
        remover: What "removed" should mean to it; None for one that removes nothing.
        samples: How many samples it draws; None for one that draws none.
        certainty: How sure that is.
        sentences: The same in words.
    """

    method: str | None
    remover: str | None
    samples: int | None
    certainty: Certainty
    sentences: tuple[str, ...]


def recommendation_of(figures: FigureTable | None, ranked: Sequence[Candidate], *, removers: Sequence[str]) -> Advice:
    """Recommend a method from the table of the ranking.

    Args:
        figures: The table; None where there is none.
        ranked: What it ranks.
        removers: The removers of its columns.
    """
    if figures is None:
        return _no_advice("methods were not ranked")
    table = {pair: list(signs.values()) for pair, signs in standings(figures, removers).items()}
    methods = [one for one in ranked if one.name in figures.rows and one.name != RANDOM]
    good = [one for one in methods if set(table[one.name, RANDOM]) == {1}]
    if not good:
        return _no_advice(
            f"no method is clearly better than random scores {under_each(figures, removers)} on {figures.texts} texts"
        )
    best = [one for one in good if all(-1 not in table[one.name, other.name] for other in good if other != one)]
    if not best:
        return _no_advice(
            "every method that is better than random scores is clearly worse than another under some remover: decide "
            "first what removing a word should mean"
        )
    ranks = _mean_ranks(figures, [one.name for one in methods])
    first = min(best, key=lambda one: ranks[one.name])
    alike = [one for one in best if _method_and_remover(one) == _method_and_remover(first)]
    chosen = min(alike, key=lambda one: (_samples(one) or 0, ranks[one.name]))
    others = [one.name for one in methods if one != chosen and set(table[chosen.name, one.name]) != {1}]
    untold = [one for one in best if one == chosen or not any(table[chosen.name, one.name])]
    cheapest = min(untold, key=lambda one: _passes(figures, one))
    where = f"{under_each(figures, removers)}, on {figures.texts} texts"
    return _recommended(chosen, others, cheaper=cheapest.name if cheapest != chosen else None, where=where)


def _mean_ranks(figures: FigureTable, names: Sequence[str]) -> dict[str, float]:
    """Return the mean rank of each method over all measures and removers, 0 for the best."""
    ranks = list[Floats]()
    for column in figures.columns:
        if column == PASSES:
            continue
        cells = [figures.cell(name, column) for name in names]
        means = np.asarray([np.nan if cell is None else cell.mean for cell in cells])
        better = -means if metric_of(column).facts["higher_is_better"] else means
        ranks.append(better.argsort(kind="stable").argsort(kind="stable").astype(np.float64))
    return dict(zip(names, np.mean(ranks, axis=0).tolist(), strict=True))


def _method_and_remover(one: Candidate) -> tuple[str, str | None]:
    return one.variant.spec.name, one.remover


def _samples(one: Candidate) -> int | None:
    samples = one.variant.settings.get("samples")
    return samples if isinstance(samples, int) else None


def _passes(figures: FigureTable, one: Candidate) -> float:
    cell = figures.cell(one.name, PASSES)
    return np.inf if cell is None else cell.mean


def _recommended(chosen: Candidate, others: Sequence[str], *, cheaper: str | None, where: str) -> Advice:
    samples = _samples(chosen)
    removing = "" if chosen.remover is None else f", with words removed by {chosen.remover}"
    drawing = "it draws no samples" if samples is None else f"{samples} samples a text"
    what = f"Use {chosen.variant.spec.name}{removing}; {drawing}."
    better = f"It is clearly better than random scores by every measure {where}"
    if not others:
        why = f"{better}, and so it is than every other method that was tried."
        return Advice(chosen.variant.spec.name, chosen.remover, samples, "sure", (what, why))
    why = f"{better}, and never clearly worse than another that is"
    said = [what, f"{why}; but it is not clearly better everywhere than {', '.join(others)}."]
    said += [f"{cheaper} costs fewer passes of the model, and nobody can tell the two apart."] if cheaper else []
    return Advice(chosen.variant.spec.name, chosen.remover, samples, "likely", tuple(said))


def _no_advice(why: str) -> Advice:
    return Advice(None, None, None, "cannot tell", (f"No recommendation: {why}.",))
