"""The methods of a run that were asked at every layer: which rows are theirs, and how good each layer is.

Tables call the layer l of a method `METHOD@l`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from whylight.report.charts import ticks, widened
from whylight.report.frame import Axes
from whylight.run.summary import Cell, Summary
from whylight.store.tables import RANDOM, Row

MOST_TICKS = 12
"""Layers that are numbered below the x axis; of more, every second or third."""
MethodLayers = Mapping[str, Mapping[int, str]]
"""By method: what tables call each of its layers."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A layer: where its mean and its interval are drawn, and what they are."""

    x: float
    y: float
    low: float
    high: float
    tip: str


@dataclass(frozen=True, slots=True)
class Depth:
    """One method: its layers from the first to the last."""

    method: str
    dots: tuple[Dot, ...]

    @property
    def line(self) -> str:
        """The points of an SVG line through the means."""
        return " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in self.dots)


@dataclass(frozen=True, slots=True)
class Depths:
    """One picture a method on common axes; `chance` is where random scores are, if they are measured."""

    panels: tuple[Depth, ...]
    chance: float | None
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    frame: Axes


def layers_of(explanations: Iterable[Row]) -> MethodLayers:
    """Find the methods that were asked at several layers."""
    found: dict[str, dict[int, str]] = {}
    for name, settings in dict.fromkeys((row["method"], row["settings"]) for row in explanations):
        layer = json.loads(settings or "{}").get("layer")
        if layer is not None and name.endswith(f"@{layer}"):
            found.setdefault(name.removesuffix(f"@{layer}"), {})[int(layer)] = name
    return {method: dict(sorted(own.items())) for method, own in found.items()}


def named_once(methods: Sequence[str], layers: MethodLayers) -> list[str]:
    """Name each method once, with the range of its layers where it has several."""
    of = {
        name: f"{method} (layers {min(own)} to {max(own)})" for method, own in layers.items() for name in own.values()
    }
    return list(dict.fromkeys(of.get(name, name) for name in methods))


def depths(summary: Summary, metric: str, layers: MethodLayers) -> Depths | None:
    """Draw a metric against the layer for each method; None where no method was asked at several layers."""
    cells = {line.method: line.cells[metric] for line in summary.lines if metric in line.cells}
    known = {
        method: {layer: cells[name] for layer, name in own.items() if name in cells} for method, own in layers.items()
    }
    every = [cell for own in known.values() for cell in own.values()]
    if not every:
        return None
    chance = cells[RANDOM].mean if RANDOM in cells else None
    heights = [*(v for cell in every for v in (cell.low, cell.high)), *([] if chance is None else [chance])]
    low, high = widened(min(heights), max(heights), least=1e-3)
    frame = Axes(width=260, height=160, left=40, right=248, top=10, bottom=136, low=low, high=high)
    last = max(layer for own in known.values() for layer in own)

    def across(layer: int) -> float:
        return frame.across((layer - 0.5) / last)

    def dot(layer: int, cell: Cell) -> Dot:
        mean, low, high = (frame.down(value) for value in (cell.mean, cell.low, cell.high))
        return Dot(across(layer), mean, low, high, f"layer {layer}: {cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]")

    step = -(-last // MOST_TICKS)
    return Depths(
        tuple(Depth(method, tuple(dot(*one) for one in own.items())) for method, own in known.items()),
        None if chance is None else frame.down(chance),
        tuple((across(layer), str(layer)) for layer in range(last, 0, -step)),
        tuple((frame.down(value), text) for value, text in ticks(low, high)),
        frame,
    )
