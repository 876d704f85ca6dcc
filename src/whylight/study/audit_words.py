"""What the tables of an audit say, in plain words.

A difference is spoken of where it is clear by the rule of `run/compare.py`, over the same texts; elsewhere the verdict
is `cannot tell`. Tests are corrected for the number of those in the same analysis.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Literal

from whylight.core.registry import METRICS
from whylight.run.summary import Cell
from whylight.store.tables import RANDOM
from whylight.study import attribution_size as size, infill_returns as returns
from whylight.study.figures import Difference, FigureTable
from whylight.study.head_randomised import CHANGES, PUBLISHED, USUAL
from whylight.study.marginal_words import BOTH, EVERY, FEW
from whylight.study.removal_damage import HALF, ONE, UNTOUCHED
from whylight.study.removal_ranking import MEASURES, column_of
from whylight.study.remover_agreement import FIRST, ORDER

Answer = Literal["flips", "holds", "differs", "cannot tell", "measured"]
Column = tuple[str, str]
"""A measure and a remover."""
SHOWN = 3
"""Flips that are told one by one."""


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """What one analysis says.

    Attributes:
        analysis: Its name.
        answer: The verdict; `measured` where there is a figure, and nothing to be held against it.
        sentences: The same in words.
    """

    analysis: str
    answer: Answer
    sentences: tuple[str, ...]


def verdicts_of(found: Mapping[str, FigureTable], *, removers: Sequence[str]) -> tuple[AuditVerdict, ...]:
    """Put tables into words, the most important first.

    Args:
        found: Tables, by the name of the analysis.
        removers: The removers that are held against each other.
    """
    words: dict[str, Callable[[FigureTable], AuditVerdict]] = {
        "ranking": lambda own: _of_ranking(own, removers),
        "agreement": _of_agreement,
        "returns": _returns,
        "damage": lambda own: _damage(own, removers),
        "size": lambda own: _size(own, removers),
        "randomised": lambda own: _randomised(own, removers),
        "all_words": lambda own: _of_all_words(own, removers),
    }
    return tuple(say(found[name]) for name, say in words.items() if name in found)


def standings(figures: FigureTable, removers: Sequence[str]) -> dict[tuple[str, str], dict[Column, int]]:
    """Hold every two methods of a ranking against each other.

    Args:
        figures: The table of the ranking.
        removers: The removers of its columns; those that it lacks are left out.

    Returns:
        By pair, and by measure and remover: 1 where the first is clearly better, -1 where worse, 0 where neither is.
    """
    columns = list(product(MEASURES, tried(figures, removers)))
    every = list(product(combinations(figures.rows, 2), columns))
    asked = [((one, column_of(*by)), (other, column_of(*by))) for (one, other), by in every]
    found: dict[tuple[str, str], dict[Column, int]] = {pair: {} for pair in permutations(figures.rows, 2)}
    for ((one, other), by), difference in zip(every, figures.differences(asked), strict=True):
        sign = 0 if difference is None else difference.sign
        better = sign if METRICS[by[0]].facts["higher_is_better"] else -sign
        found[one, other][by], found[other, one][by] = better, -better
    return found


def tried(figures: FigureTable, removers: Sequence[str]) -> list[str]:
    """Return the removers that a ranking has columns of; there may have been no time for some."""
    return [name for name in removers if column_of(next(iter(MEASURES)), name) in figures.columns]


def under_each(figures: FigureTable, removers: Sequence[str]) -> str:
    """Name the removers that a ranking was made under."""
    *others, last = tried(figures, removers)
    return f"under {', '.join(others)} and {last}" if others else f"under {last}"


def _of_ranking(figures: FigureTable, removers: Sequence[str]) -> AuditVerdict:
    """Say whether two methods change places with the remover of the metric: the headline of an audit."""
    table = standings(figures, removers)
    pairs = list(combinations([row for row in figures.rows if row != RANDOM], 2))
    flips, same = [], dict.fromkeys(MEASURES, 0)
    for measure, pair in product(MEASURES, pairs):
        signs = {remover: sign for (by, remover), sign in table[pair].items() if by == measure}
        if {1, -1} <= set(signs.values()):
            flips.append(_flip(measure, *pair, signs))
        same[measure] += set(signs.values()) in ({1}, {-1})
    told = "; ".join(f"{held} of {len(pairs)} pairs of methods by {measure}" for measure, held in same.items())
    steady = f"The order is clear, and the same under every remover of the table, for {told}."
    if flips:
        more = len(flips) - SHOWN
        rest = (f"{more} more of these flips are in the tables.",) if more > 0 else ()
        said = f"Your ranking flips with the remover: {'; '.join(flips[:SHOWN])}."
        return AuditVerdict("ranking", "flips", (said, *rest, steady))
    if all(held == len(pairs) for held in same.values()):
        held = f"Your ranking of methods holds {under_each(figures, removers)}."
        return AuditVerdict("ranking", "holds", (held, steady))
    unclear = "whether your ranking of methods flips with the remover: no pair clearly does."
    return AuditVerdict("ranking", "cannot tell", (f"{_text_count(figures)} cannot tell {unclear}", steady))


def _flip(measure: str, one: str, other: str, signs: Mapping[str, int]) -> str:
    better = [name for name, sign in signs.items() if sign > 0]
    worse = [name for name, sign in signs.items() if sign < 0]
    return (
        f"by {measure}, {one} is better than {other} where words are removed by {' or '.join(better)}, and worse where "
        f"by {' or '.join(worse)}"
    )


def _of_agreement(figures: FigureTable) -> AuditVerdict:
    said = []
    for row in figures.rows:
        first, order = figures.cell(row, FIRST), figures.cell(row, ORDER)
        tau = "" if order is None else f"; Kendall’s tau of all words {_with_range(order)}"
        if first is not None:
            said.append(f"Occlusion by {row} names the same first word on {_percent(first)} of texts{tau}.")
    return AuditVerdict("agreement", "measured", tuple(said))


def _returns(figures: FigureTable) -> AuditVerdict:
    back = figures.cell(returns.ALL, returns.RETURNED)
    likely = figures.cell(returns.ALL, returns.LIKELIHOOD)
    if back is None:
        return AuditVerdict("returns", "cannot tell", ("No word could be asked about.",))
    how = "" if likely is None else f", which it finds {_percent(likely)} likely"
    what = f"Infill puts the word itself back at {_percent(back)} of the places{how}"
    said = [f"{what}: such a word is not removed, and looks unimportant whatever the model does with it."]
    marked = figures.cell(returns.MARKED, returns.RETURNED)
    said += [] if marked is None else [f"Of the words that people marked, it puts back {_percent(marked)}."]
    return AuditVerdict("returns", "measured", tuple(said))


def _damage(figures: FigureTable, removers: Sequence[str]) -> AuditVerdict:
    said = []
    for column in (ONE, HALF):
        drops = {name: figures.cell(name, column) for name in removers}
        each = ", ".join(f"{_points(cell)} by {name}" for name, cell in drops.items() if cell is not None)
        said.append(f"With {column}, the model loses {each}.")
    right = figures.cell(*UNTOUCHED)
    said += [] if right is None else [f"It is right on {_percent(right)} of the untouched texts."]
    lost = {column: f"with {column}, more right answers are lost" for column in (ONE, HALF)}
    clear, words = _pairs(figures, removers, lost)
    return AuditVerdict("damage", "differs" if clear else "cannot tell", (*said, *words))


def _size(figures: FigureTable, removers: Sequence[str]) -> AuditVerdict:
    larger = {size.SIZE: "scores are larger", size.COVERAGE: "more words are marked"}
    clear, words = _pairs(figures, removers, larger)
    people = figures.cell(size.PEOPLE, size.COVERAGE)
    said = [] if people is None else [f"People marked {_percent(people)} of the words."]
    return AuditVerdict("size", "differs" if clear else "cannot tell", (*words, *said))


def _randomised(figures: FigureTable, removers: Sequence[str]) -> AuditVerdict:
    noticed = dict(zip(CHANGES, ("more scores change their sign", "scores change more"), strict=True))
    more = {
        f"{change}{way}": f"with a new head{way}, {what}"
        for way in (USUAL, PUBLISHED)
        for change, what in noticed.items()
    }
    clear, words = _pairs(figures, removers, {name: what for name, what in more.items() if name in figures.columns})
    return AuditVerdict("randomised", "differs" if clear else "cannot tell", words)


def _of_all_words(figures: FigureTable, removers: Sequence[str]) -> AuditVerdict:
    columns = [column_of(measure, name) for measure in MEASURES for name in removers]
    clear, words = _pairs(figures, (FEW, EVERY), {name: f"the {name} is larger" for name in columns}, where="with")
    likeness = figures.cell(*BOTH)
    said = [] if likeness is None else [f"Their scores correlate by {_with_range(likeness)} (Pearson)."]
    return AuditVerdict("all_words", "differs" if clear else "cannot tell", (*said, *words))


def _pairs(
    figures: FigureTable, rows: Sequence[str], more: Mapping[str, str], *, where: str = "under"
) -> tuple[bool, tuple[str, ...]]:
    """Compare rows two by two in each column; return whether any difference is clear, and what to say of all.

    Args:
        figures: The table.
        rows: The rows.
        more: By column, what is the case where its value is higher.
        where: What stands before the name of a row.
    """
    said, unclear = list[str](), dict[str, list[str]]()
    asked = [(column, one, other) for column, (one, other) in product(more, combinations(rows, 2))]
    every = figures.differences([((one, column), (other, column)) for column, one, other in asked])
    for (column, one, other), found in zip(asked, every, strict=True):
        if found is not None and found.sign:
            first, second = (one, other) if found.sign > 0 else (other, one)
            told = f"{more[column]} {where} {first} than {where} {second}, by {_by(found)}."
            said.append(told[0].upper() + told[1:])
        elif found is not None:
            unclear.setdefault(column, []).append(f"{one} from {other}")
    each = "; ".join(f"{', '.join(pairs)} ({column})" for column, pairs in unclear.items())
    return bool(said), (*said, *([f"{_text_count(figures)} cannot tell {each}."] if each else []))


def _by(found: Difference) -> str:
    cell = found.cell
    low, high = sorted((abs(cell.low), abs(cell.high)))
    return f"{abs(cell.mean):.3f} ({low:.3f} to {high:.3f})"


def _percent(cell: Cell) -> str:
    return f"{cell.mean:.0%} ({cell.low:.0%} to {cell.high:.0%})"


def _points(cell: Cell) -> str:
    return f"{100 * cell.mean:.1f} points ({100 * cell.low:.1f} to {100 * cell.high:.1f})"


def _with_range(cell: Cell) -> str:
    return f"{cell.mean:.2f} ({cell.low:.2f} to {cell.high:.2f})"


def _text_count(figures: FigureTable) -> str:
    return f"{figures.texts} text{'' if figures.texts == 1 else 's'}"
