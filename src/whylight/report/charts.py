"""Charts as inline SVG: positions only, so that colours stay the page's own and follow its scheme.

Drawn here rather than by a plotting library: one scatter needs an axis, some circles and care for its labels, and
text stays text that can be searched, copied and coloured for the dark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whylight.report.frame import Axes

WIDTH, HEIGHT = 640.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 66.0, 12.0, 48.0
CHARACTER, LINE = 7.1, 15.0
"""Width of a character and height of a line of a label, in the chart's own units."""
GAP = 9.0
FAR = 3.0
"""Overlap, as an area, that a label rather has than stand one unit further up or down."""
ROOM = 0.08
"""Share of an axis that is left free at both its ends."""
FASTEST = 1e-4
"""Seconds below which a method is drawn as taking this long: a log scale has no 0."""


@dataclass(frozen=True, slots=True)
class Point:
    """A method: what it costs, what it reaches, and the interval of that."""

    name: str
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A point as drawn: circle, interval, label, and a line between them where the label is not beside its point."""

    name: str
    x: float
    y: float
    low: float
    high: float
    label_x: float
    label_y: float
    anchor: str
    leader: bool
    tip: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what is written there."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    """A horizontal line that points are held against."""

    name: str
    y: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """Everything that the template draws."""

    marks: tuple[Mark, ...]
    levels: tuple[Guide, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    frame: Axes


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle that a label takes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Return the area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def scatter(points: Sequence[Point], levels: Sequence[tuple[str, float]]) -> Scatter:
    """Lay out cost (log scale) against quality.

    Args:
        points: What is drawn as circles.
        levels: Names and values of horizontal lines.
    """
    logs = [math.log10(max(point.x, FASTEST)) for point in points]
    x_low, x_high = widened(min(logs), max(logs), least=0.5)
    heights = [*(v for point in points for v in (point.low, point.high)), *(value for _, value in levels)]
    low, high = widened(min(heights), max(heights), least=1e-3)
    frame = Axes(WIDTH, HEIGHT, left=LEFT, right=WIDTH - RIGHT, top=TOP, bottom=HEIGHT - BOTTOM, low=low, high=high)

    def across(log: float) -> float:
        return frame.across((log - x_low) / (x_high - x_low))

    spots = [(point, across(log), frame.down(point.y)) for point, log in zip(points, logs, strict=True)]
    ends = [(frame.down(point.low), frame.down(point.high)) for point in points]
    lines = _levels([(name, frame.down(value)) for name, value in levels])
    return Scatter(
        marks=_marks(spots, ends, lines),
        levels=lines,
        x_ticks=tuple(Tick(across(log), text) for log, text in _log_ticks(x_low, x_high)),
        y_ticks=tuple(Tick(frame.down(value), text) for value, text in ticks(low, high)),
        frame=frame,
    )


def duration_label(seconds: float) -> str:
    """Show a time in the unit that it is best read in."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s"


def widened(low: float, high: float, *, least: float) -> tuple[float, float]:
    """Return the ends of an axis that leaves some room, and is at least so long."""
    spread = max(high - low, least)
    middle = (low + high) / 2
    return middle - spread * (0.5 + ROOM), middle + spread * (0.5 + ROOM)


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks at 1, 2 and 5 times powers of ten, or at the powers alone where those would crowd."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        logs = [(power + math.log10(factor), factor * 10.0**power) for power in powers for factor in factors]
        inside = [(log, duration_label(value)) for log, value in logs if low <= log <= high]
        if len(inside) <= 7:  # noqa: PLR2004  as many as have room beside each other
            break
    return inside


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return four to eight round values."""
    raw = (high - low) / 7
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.{decimals}f}".replace("-", "\u2212")) for i in range(first, last + 1)]


def _levels(lines: Sequence[tuple[str, float]]) -> tuple[Guide, ...]:
    """Write each name at the end of its line, or lower where two are close."""
    made: list[Guide] = []
    for name, y in sorted(lines, key=lambda line: line[1]):
        made.append(Guide(name, y, max(y, made[-1].label_y + LINE) if made else y))
    return tuple(made)


def _marks(
    spots: Sequence[tuple[Point, float, float]], ends: Sequence[tuple[float, float]], lines: Sequence[Guide]
) -> tuple[Mark, ...]:
    """Give every label the free place nearest to its point, the rightmost points first: they have the least room."""
    taken = [Box(x - 6, y - 6, x + 6, y + 6) for _, x, y in spots]
    taken += [Box(x - 1, min(end), x + 1, max(end)) for (_, x, _), end in zip(spots, ends, strict=True)]
    taken += [Box(LEFT, line.y - 1, WIDTH - RIGHT, line.y + 1) for line in lines]
    made: dict[int, Mark] = {}
    for number in sorted(range(len(spots)), key=lambda i: -spots[i][1]):
        point, x, y = spots[number]
        label_x, label_y, anchor, box = min(
            _places(point.name, x, y), key=lambda place: _cost(place[3], taken) + FAR * abs(place[1] - y)
        )
        taken.append(box)
        tip = f"{point.name}: {point.y:.3f} [{point.low:.3f}, {point.high:.3f}], {duration_label(point.x)}"
        made[number] = Mark(point.name, x, y, *ends[number], label_x, label_y, anchor, label_y != y, tip)
    return tuple(made[number] for number in range(len(spots)))


def _places(name: str, x: float, y: float) -> list[tuple[float, float, str, Box]]:
    """Return places for a label in order of liking: right, left, and further up and down on both sides."""
    wide, places = len(name) * CHARACTER, []
    for shift in (0.0, -15.0, 15.0, -30.0, 30.0):
        for anchor, edge in (("start", x + GAP), ("end", x - GAP)):
            left = edge if anchor == "start" else edge - wide
            middle = y + shift
            places.append((edge, middle, anchor, Box(left, middle - LINE / 2, left + wide, middle + LINE / 2)))
    return places


def _cost(box: Box, taken: Sequence[Box]) -> float:
    """Return the area that a label would share with others or lose outside the frame."""
    area = (box.right - box.left) * (box.bottom - box.top)
    outside = area - box.overlap(Box(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM))
    return 3 * outside + sum(box.overlap(other) for other in taken)
