"""Letters of pictures: texts as one line without what steers, in fonts that have them.

Letters that the usual font lacks (Chinese, emoji) are looked for in all fonts of the system; what none has is drawn as
a box, and matplotlib warns of it.
"""

from collections.abc import Iterable
from functools import cache

import matplotlib as mpl
from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, get_font
from matplotlib.ft2font import FaceFlags

from whylight.report.plots.subject import WIDEST
from whylight.report.shortening import shortened

USUAL = "DejaVu Sans"
"""What comes with matplotlib."""


def short_label(text: str, *, widest: int = WIDEST) -> str:
    """Return a text on one line, without its middle where it is wider, in columns of a terminal."""
    return shortened(text, widest)


def families(texts: Iterable[str]) -> list[str]:
    """Return fonts that together have the letters of texts: the user's own first, then the usual one, then others."""
    own = [mpl.rcParams["font.family"][0], USUAL]
    known = [get_font(findfont(FontProperties(family=[name]))) for name in own]
    letters = {letter for text in texts for letter in text if not letter.isspace()}
    missing = sorted(one for one in letters if not any(font.get_char_index(ord(one)) for font in known))
    return list(dict.fromkeys([*own, *(name for one in missing if (name := _font_with(one)) is not None)]))


@cache
def _font_with(letter: str) -> str | None:
    """Return the first font of the system that has a letter; pictures cannot use fonts of coloured letters."""
    return next((one.name for one in _fonts() if get_font(one.fname).get_char_index(ord(letter))), None)


@cache
def _fonts() -> list[FontEntry]:
    """Return the upright fonts of the system, those of many scripts first."""
    named = (one for one in fontManager.ttflist if not one.name.startswith("Last Resort"))  # its letters are boxes
    upright = [one for one in named if one.style == "normal" and one.weight in (400, "normal", "regular")]
    usable = [one for one in upright if _is_usable(one.fname)]
    return sorted(usable, key=lambda one: (not one.name.startswith("Noto Sans"), one.name))


def _is_usable(path: str) -> bool:
    try:
        flags = get_font(path).face_flags
    except (OSError, RuntimeError):  # a file that is gone, or damaged
        return False
    return bool(flags & FaceFlags.SCALABLE) and not flags & FaceFlags.COLOR
