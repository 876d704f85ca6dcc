"""The templates' environment: everything is escaped, and shown as HTML allows it."""

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from whylight.report.colours import STEPS, Palette, Scheme, scale_of, shades
from whylight.report.pieces import LONG, tooltip

SCALES: tuple[Palette, ...] = ("for", "against", "importance")
VOWELS = frozenset("aeiou")
_NOT_HTML = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_BREAKS = re.compile(r"(?<=[_,=@])(?=.)|(?<=.)(?=\[)")
"""Where a long name, such as that of a method with settings, may go on in the next line."""


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    made = Environment(
        loader=PackageLoader("whylight.report", "templates"),
        autoescape=True,
        finalize=displayable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(shade_class=shade_class, tooltip=tooltip, palette=palette, steps=STEPS, long=LONG)
    made.filters.update(with_article=with_article, broken=_BREAKS.split)
    return made


def with_article(noun: str) -> str:
    """Return a noun after its indefinite article."""
    return f"{'an' if noun[:1].lower() in VOWELS else 'a'} {noun}"


def macro(template: str, name: str, *given: object) -> Markup:
    """Return what a macro of a template makes of some values."""
    made: Markup = getattr(environment().get_template(template).module, name)(*given)
    return made


def displayable(value: object) -> object:
    """Replace characters that HTML forbids, one for one, in every value that a template prints."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_HTML.sub("\ufffd", value)
    return value


def markup_of(drawn: str) -> Markup:
    """Return what a renderer drew as HTML: a plain string is text, and is escaped; neither holds what HTML forbids."""
    return Markup(_NOT_HTML.sub("\ufffd", escape(drawn)))  # noqa: S704  escaped, or the renderer's own markup


def shade_class(step: int, *, signed: bool) -> str:
    """Return the style class of a shade step: a letter for the scale and the number of the step."""
    return f"{scale_of(step, signed=signed)[0]}{abs(step)}" if step else ""


def palette(scheme: Scheme) -> list[tuple[str, str, str]]:
    """Return class, background and text colour of every shade of a scheme."""
    return [
        (f"{scale[0]}{number}", shade.background, shade.text)
        for scale in SCALES
        for number, shade in enumerate(shades(scale, scheme=scheme), start=1)
    ]
