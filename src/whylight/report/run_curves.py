"""Perturbation curves as small pictures, one per method: the score while its top words go, or come alone.

The curves of random scores stand behind each, in grey: what lies between is what the method knows. The x axis is the
share of words on a square-root scale, because the first words matter most.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Floats
from whylight.report.frame import Axes
from whylight.store.tables import HUMAN, RANDOM, Row

TICKS = (0.0, 0.05, 0.2, 0.5, 1.0)
"""Shares that are written below the x axis."""
Means = tuple[Floats, Floats]
"""Mean score without the top words, and with them alone, at each share."""
MethodPoints = dict[str, dict[str, list[Floats]]]
"""By method and text: both curves of each label."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One method: its two curves and those of random scores, as points of SVG lines."""

    method: str
    without_top: str
    top_alone: str
    random_without_top: str
    random_top_alone: str


@dataclass(frozen=True, slots=True)
class Panels:
    """The pictures of one remover, with their common axes."""

    remover: str
    panels: tuple[Panel, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    frame: Axes


def curve_panels(curves: Iterable[Row]) -> list[Panels]:
    """Average stored curves over texts and draw them, remover by remover; none where none are stored."""
    shares: dict[str, Sequence[float]] = {}
    points: dict[str, MethodPoints] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in curves:
        shares.setdefault(row["remover"], row["shares"])
        points[row["remover"]][row["method"]][row["example_id"]].append(_both(row))
    return [_panels(remover, own, _means(points[remover])) for remover, own in shares.items()]


def mean_curves(curves: Iterable[Row]) -> dict[str, Means]:
    """Average over labels of a text, then over texts, by method."""
    points: MethodPoints = defaultdict(lambda: defaultdict(list))
    for row in curves:
        points[row["method"]][row["example_id"]].append(_both(row))
    return _means(points)


def _both(row: Row) -> Floats:
    return np.asarray([row["without_top"], row["top_alone"]])


def _means(points: MethodPoints) -> dict[str, Means]:
    means = {m: np.mean([np.mean(one, axis=0) for one in by.values()], axis=0) for m, by in points.items()}
    return {method: (mean[0], mean[1]) for method, mean in means.items()}


def _panels(remover: str, shares: Sequence[float], means: Mapping[str, Means]) -> Panels:
    every = np.concatenate([np.concatenate(own) for own in means.values()])
    low, high = min(0.0, float(every.min())), max(float(every.max()), 1e-6)
    frame = Axes(width=220, height=130, left=30, right=204, top=8, bottom=108, low=low, high=high)

    def across(share: float) -> float:
        return frame.across(float(np.sqrt(share)))

    def line(values: Floats) -> str:
        return " ".join(f"{across(x):.1f},{frame.down(y):.1f}" for x, y in zip(shares, values.tolist(), strict=True))

    lines = {method: (line(own[0]), line(own[1])) for method, own in means.items()}
    chance = lines.get(RANDOM, ("", ""))
    names = [method for method in means if method not in (RANDOM, HUMAN)] + [HUMAN] * (HUMAN in means)
    return Panels(
        remover,
        tuple(Panel(name, *lines[name], *chance) for name in names),
        tuple((across(share), f"{share:.0%}") for share in TICKS),
        tuple((frame.down(value), f"{value:.2g}") for value in (low, (low + high) / 2, high)),
        frame,
    )
