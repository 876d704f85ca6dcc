"""Explanations as a fragment of HTML for notebooks; also the templates' environment, which the page shares."""

import re
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from whylight.core.explanation import Explanation
from whylight.report.cards import GLANCE, Card, Piece, cards, exact_score
from whylight.report.colours import STEPS, Scale, Scheme, scale_of, shades

SCALES: tuple[Scale, ...] = ("for", "against", "importance")
LONG = 400
"""Number of pieces above which a text scrolls in its own box on screen."""
FOLDED = 300
"""Number of words above which a text that is shown several times is folded below its evidence."""
_NOT_HTML = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)


def fragment(explanations: Sequence[Explanation]) -> str:
    """Return explanations as HTML to be placed in a notebook cell, in colours that follow the notebook's theme."""
    return environment().get_template("fragment.html").render(shown(cards(explanations)))


@cache
def environment() -> Environment:
    """Return the environment of the templates: everything is escaped, and shown as HTML allows it."""
    made = Environment(
        loader=PackageLoader("whylight.report", "templates"),
        autoescape=True,
        finalize=displayable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(shade_class=shade_class, tooltip=tooltip, palette=palette, steps=STEPS, long=LONG)
    made.globals.update(folded=folded, glance=GLANCE)
    return made


def shown(all_cards: list[Card]) -> dict[str, object]:
    """Return the variables that both templates need."""
    rows = [row for card in all_cards for section in card.sections for row in section.rows]
    return {
        "cards": all_cards,
        "any_signed": any(row.signed for row in rows),
        "any_unsigned": any(not row.signed for row in rows),
    }


def folded(card: Card) -> bool:
    """Say whether a reader sees the evidence alone at first: a long text once for every label would bury it."""
    rows = [row for section in card.sections for row in section.rows if not row.stacked]
    return card.words > FOLDED and len(rows) > 1 and all(row.evidence is not None for row in rows)


def displayable(value: object) -> object:
    """Replace characters that HTML forbids, one for one, in every value that a template prints."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_HTML.sub("\ufffd", value)
    return value


def shade_class(step: int, *, signed: bool) -> str:
    """Return the style class of a shade step: a letter for the scale and the number of the step."""
    return f"{scale_of(step, signed=signed)[0]}{abs(step)}" if step else ""


def tooltip(piece: Piece, *, signed: bool) -> str:
    """Return the exact score or scores of a piece."""
    return ", ".join(exact_score(score, signed=signed) for score in piece.scores)


def palette(scheme: Scheme) -> list[tuple[str, str, str]]:
    """Return class, background and text colour of every shade of a scheme."""
    return [
        (f"{scale[0]}{number}", shade.background, shade.text)
        for scale in SCALES
        for number, shade in enumerate(shades(scale, scheme=scheme), start=1)
    ]
