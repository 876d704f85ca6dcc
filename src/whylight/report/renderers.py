"""How inputs of a kind are drawn: a renderer is a handful of functions, found by the kind.

A renderer says only what it does differently; the rest is drawn plainly, as a list of features with their scores, and
so is a kind that has none. Those of this package are modules of `whylight.report.kinds`; another package adds its own
by an entry point in the group `whylight.report.kinds` that names a module, which calls `register_renderer`.

HTML is `Markup`. A plain string is text, and is escaped. Lines for a terminal are cleaned on their way out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from rich.text import Text

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.evidence import SPANS, speaks
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.registry import load_plugins
from whylight.report import plain

if TYPE_CHECKING:
    from whylight.report.rows import AnswerRow

KINDS = "whylight.report.kinds"
Listed = tuple[Sequence[Any], Floats]
"""Places, and a score of each."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How much of an input is shown.

    Attributes:
        evidence: How many pieces of evidence are listed at most; 0 for none.
        labels: How many labels are explained.
        length: How much there is to read, as the renderer counts it.
        folded: Whether a reader sees the evidence alone at first: an input that is long, once per row, would bury it.
        once: Whether the input stands above all of its rows, so that they need not show it.
        anchor: What names on the page begin with, so that rows and the one copy of the input can point at each other.
        coloured: Whether there are colours; a terminal may have none.
    """

    evidence: int
    labels: int
    length: int
    folded: bool
    once: bool = False
    anchor: str = ""
    coloured: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Renderer:
    """How inputs of a kind are drawn.

    Attributes:
        length: How much there is to read in one, in words or the like.
        html: One row of scores on a page, below its heading.
        tile: The same in the report of a run, where the rows of all methods stand together; it is told whether the
            input is small enough for rows below each other.
        style: CSS that its HTML needs, once per page; it may use the names and colours of `style.css`.
        lines: The same in a terminal, with its width; lines that are longer are wrapped.
        listed: What is named in lists of the strongest, where features are too small to be: places and their scores.
        above: The input without scores in a terminal, once for several labels, as far as its manner needs that; nothing
            where every row shows it.
        brief: The input alone on one line, to be known by.
        whole: The input once for many labels on a page, with all that their rows list marked in it; rows come with the
            number of their label. Without it, every row shows the input.
        layers: One method at several layers as one picture, the first layer first; without it, layers are rows.
        evidence: The evidence for a target as JSON, with the most that is wanted; without it, there is no such thing.
    """

    length: Callable[[Explanation], int] = plain.length
    html: Callable[["AnswerRow", Manner], str] = plain.html
    tile: Callable[["AnswerRow", bool], str] = plain.tile
    style: str = plain.STYLE
    lines: Callable[["AnswerRow", Manner, int], Sequence[Text]] = plain.lines
    listed: Callable[[Explanation, Target], Listed] = plain.listed
    above: Callable[[Explanation, Manner], Sequence[Text]] = plain.above
    brief: Callable[[Explanation], str] = plain.brief
    whole: Callable[[Sequence[tuple[int, "AnswerRow"]], Manner], str] | None = None
    layers: Callable[[Sequence[Explanation], Target], str] | None = None
    evidence: Callable[[Explanation, Target, int], Sequence[dict[str, Any]]] | None = None


PLAIN = Renderer()
_RENDERERS: dict[str, Renderer] = {}


def register_renderer(kind: str, renderer: Renderer) -> None:
    """Say how inputs of a kind are drawn."""
    if _RENDERERS.setdefault(kind, renderer) != renderer:
        raise SettingError(f"two renderers are registered for the kind of input '{kind}'; leave one of them out.")


def renderer_of(kind: str) -> Renderer:
    """Return how inputs of a kind are drawn: plainly, where nobody says."""
    load_plugins(KINDS)
    return _RENDERERS.get(kind, PLAIN)


def styles_of(kinds: Iterable[str]) -> list[Markup]:
    """Return the CSS that a page with inputs of some kinds needs."""
    found = dict.fromkeys(renderer_of(kind).style for kind in dict.fromkeys(kinds))
    return [Markup(style) for style in found if style]  # noqa: S704  a renderer's own, as its HTML is


def with_evidence(explanation: Explanation, *, spans: int = SPANS) -> list[dict[str, Any]]:
    """Return one JSON-ready object for each target, with its evidence.

    Args:
        explanation: The explanation.
        spans: How many pieces of evidence a target has at most; 0 for none.

    Returns:
        The objects. Spans of a method that has no sign, and that no other method lends one, are in `mattered` instead
        of `evidence`; what nobody asks for, or the kind of input does not have, is None. `evidence_sign` is the method
        that lent the sign, and what it took.
    """
    tell = renderer_of(explanation.example.kind).evidence
    found = [tell(explanation, target, spans) if tell and spans else None for target in explanation.targets]
    name, other = ("evidence", "mattered") if speaks(explanation) else ("mattered", "evidence")
    sign = None if explanation.signs is None else explanation.signs.cost
    return [
        {**one, name: None if own is None else list(own), other: None, "evidence_sign": sign}
        for one, own in zip(explanation.to_dicts(), found, strict=True)
    ]
