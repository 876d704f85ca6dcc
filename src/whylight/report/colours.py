"""Colours shared by every report: scores to shade steps, shade steps to colours.

A row of scores is divided by its own largest magnitude and rounded to one of ten steps, so the strongest word of every
row has the full colour. Blue speaks for the label and red against it (the two ends of ColorBrewer's RdBu, which
colour-blind readers tell apart); methods without a sign get purple, named importance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.style import Style

from whylight.core.arrays import Floats

STEPS = 10
FAINTEST = 2
"""Smallest step that a terminal colours: it cannot show shades as faint as a page can."""
Palette = Literal["for", "against", "importance"]
Scheme = Literal["light", "dark", "terminal"]
INKS = ("#000000", "#ffffff")
"""The two colours that text on a shade can have: of these, one always has a contrast of at least 4.58."""

_STOPS: dict[Scheme, dict[Palette, tuple[str, ...]]] = {
    "light": {
        "for": ("#ffffff", "#d1e5f0", "#92c5de", "#4393c3", "#2166ac"),
        "against": ("#ffffff", "#fddbc7", "#f4a582", "#d6604d", "#b2182b"),
        "importance": ("#ffffff", "#e7d4e8", "#c2a5cf", "#9970ab", "#762a83"),
    },
    "dark": {
        "for": ("#171c22", "#17395c", "#1c5d9c", "#4b9fdf", "#92c9f2"),
        "against": ("#171c22", "#57231f", "#97322d", "#e2705c", "#f7ab92"),
        "importance": ("#171c22", "#40284f", "#6d3f87", "#a877c2", "#d5b0e4"),
    },
    # A terminal's background is unknown, so these stay at middle lightness and grow in strength of colour.
    "terminal": {
        "for": ("#a9b4bd", "#8db3d2", "#5c9fd6", "#2f7fc8", "#1a5fae"),
        "against": ("#bdb0a9", "#d9aa94", "#e28a6c", "#d2563f", "#b2182b"),
        "importance": ("#b4adb8", "#bfa3cb", "#ab82c0", "#8f55a8", "#762a83"),
    },
}


@dataclass(frozen=True, slots=True)
class Shade:
    """A background and the text colour that is best read on it, both as `#rrggbb`."""

    background: str
    text: str


def steps(scores: Floats, *, signed: bool) -> list[int]:
    """Turn a row of scores into steps from -10 to 10; an all-zero row gives zeros.

    Args:
        scores: Raw scores, `[features]`.
        signed: Whether negative scores speak against the label; if not, only the magnitude counts.
    """
    peak = float(np.abs(scores).max(initial=0.0))
    if peak == 0:
        return [0] * len(scores)
    relative = scores / peak if signed else np.abs(scores) / peak
    return [int(one) for one in np.rint(relative * STEPS)]


def scale_of(step: int, *, signed: bool) -> Palette:
    """Return the scale that a step other than 0 is drawn in."""
    if not signed:
        return "importance"
    return "for" if step > 0 else "against"


def shades(scale: Palette, *, scheme: Scheme) -> list[Shade]:
    """Return the shades of the steps 1 to 10 of a scale."""
    stops = [_rgb(one) for one in _STOPS[scheme][scale]]
    return [_shade(_between(stops, step / STEPS)) for step in range(1, STEPS + 1)]


def terminal_style(step: int, *, signed: bool) -> Style:
    """Return how a terminal shows what has a step."""
    if abs(step) < FAINTEST:
        return Style.null()
    shade = shades(scale_of(step, signed=signed), scheme="terminal")[abs(step) - 1]
    return Style(color=shade.text, bgcolor=shade.background)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _shade(background: str) -> Shade:
    return Shade(background, max(INKS, key=lambda ink: contrast(ink, background)))


def _between(stops: Sequence[tuple[int, ...]], position: float) -> str:
    """Return the colour at a position from 0 (first stop) to 1 (last stop)."""
    place = position * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    share = place - left
    mixed = (round(a + (b - a) * share) for a, b in zip(stops[left], stops[left + 1], strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _luminance(colour: str) -> float:
    linear = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in _rgb(colour)))  # noqa: PLR2004
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
