"""How inputs are drawn of which nobody says how: their features, each with its place and its score, in their order.

Of very many features, the strongest are listed, and a sentence counts the others; all scores are in the JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from rich.text import Text

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.inputs import named_numbers
from whylight.core.labels import Target
from whylight.core.printable import one_line
from whylight.report.colours import steps, terminal_style
from whylight.report.numbers import exact_score, shown_score
from whylight.report.templating import macro

if TYPE_CHECKING:
    from whylight.report.renderers import Manner
    from whylight.report.rows import AnswerRow

MOST_ON_PAGE, MOST_IN_TILE, MOST_LINES = 200, 60, 40
"""Features that are listed."""
WIDEST = 200
"""Characters of a feature that are shown."""
STYLE = """\
.whylight .features { margin: .5rem 0 .2rem; overflow-x: auto; }
.whylight .features table { border-collapse: collapse; margin: 0; font-size: .875rem; }
.whylight .features :is(th, td) { padding: .15rem 1.25rem .15rem 0; border: 0; text-align: start; }
.whylight .features th { color: var(--muted); font-weight: 400; font-size: .8125rem; }
.whylight .features td { border-top: 1px dotted var(--line); overflow-wrap: anywhere; }
.whylight .features td:nth-child(2) { color: var(--muted); font-size: .8125rem; }
.whylight .features :is(th, td):last-child { text-align: end; padding-inline-end: .25rem; }
.whylight .features span { border-radius: .2em; padding: .14em .25em; white-space: pre-wrap; }
.whylight .features .none { padding-top: .3rem; }"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A feature as it is listed: what stands there, where, its score as shown and exactly, and its shade step."""

    text: str
    where: str
    shown: str
    exact: str
    step: int


def length(explanation: Explanation) -> int:
    """Return the number of features."""
    return len(explanation.places)


def brief(explanation: Explanation) -> str:
    """Return what kind of input it is, and how many features it has."""
    return f"{explanation.example.kind} of {len(explanation.places):,} features"


def html(row: "AnswerRow", _manner: "Manner") -> Markup:
    """Return the features as a table, and lists of the strongest."""
    return macro("plain.html", "page", row, *_feature_entries(row, MOST_ON_PAGE))


def tile(row: "AnswerRow", brief: bool) -> Markup:  # noqa: FBT001  as every renderer
    """Return the features as a table."""
    return macro("plain.html", "table", *_feature_entries(row, MOST_IN_TILE), row.signed, not brief)


def lines(row: "AnswerRow", _manner: "Manner", _width: int) -> list[Text]:
    """Return one line per feature, its score first."""
    entries, more = _feature_entries(row, MOST_LINES)
    room = max((len(one.shown) for one in entries), default=0)
    made = []
    for one in entries:
        shade = terminal_style(one.step, signed=row.signed)
        line = Text(f"{one.shown:>{room}}  ").append(one_line(one.text), style=shade)
        made.append(line.append(f"  {one.where}", style="dim"))
    return [*made, Text(more, style="dim")] if more else made


def listed(explanation: Explanation, target: Target) -> tuple[Sequence[Any], Floats]:
    """Return the features, and a score of each."""
    return explanation.places, explanation.row(target)


def above(_explanation: Explanation, _manner: "Manner") -> list[Text]:
    """Return nothing: every row lists its features."""
    return []


def _feature_entries(row: "AnswerRow", most: int) -> tuple[list[Entry], str]:
    """Return the features in their order, of very many the strongest, and a sentence about the others."""
    explanation, scores = row.explanation, row.explanation.row(row.target)
    peak, shades = float(np.abs(scores).max(initial=0.0)), steps(scores, signed=row.signed)
    kept = sorted(int(i) for i in np.argsort(-np.abs(scores), kind="stable")[:most])
    entries = []
    for i in kept:
        place, score = explanation.places[i], float(scores[i])
        where = ", ".join(f"{name} {number}" for name, number in named_numbers(place).items())
        shown = shown_score(score, peak=peak, signed=row.signed)
        text = _cut_short(explanation.example.show(place))
        entries.append(Entry(text, where, shown, exact_score(score, signed=row.signed), shades[i]))
    return entries, _left_out(len(scores) - len(kept))


def _cut_short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}\u2026"


def _left_out(more: int) -> str:
    if not more:
        return ""
    return (
        f"{more:,} more {'feature is' if more == 1 else 'features are'} not listed; none is stronger than those above"
    )
