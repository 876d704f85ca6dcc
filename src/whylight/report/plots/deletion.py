"""Perturbation curves of a run: the score while the top words of each method go, and while they come alone.

The x axis is the share of words on a square-root scale, because the first words matter most.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whylight.core.errors import InputError, unknown
from whylight.core.inputs import Noun
from whylight.report.plots.canvas import LINE, MUTED, SMALL, described, heading, new_picture, styled
from whylight.report.run_curves import TICKS, Means, mean_curves
from whylight.run.evaluation import Evaluation
from whylight.store.tables import HUMAN, RANDOM, Row

WIDTH, HEIGHT = 8.6, 3.5
"""Inches of the picture, and of one remover."""
SHADES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of Okabe and Ito, whom colour-blind readers tell apart."""
MARKS = ("o", "s", "^", "D", "v", "P", "X")
STROKES = ("-", "--", ":")
SIDES = ("top {} removed: lower is better", "top {} alone: higher is better")
BASELINES: Mapping[str, Mapping[str, object]] = {
    RANDOM: {"color": "#888888", "linestyle": "--", "linewidth": 1.4},
    HUMAN: {"color": "#222222", "linestyle": ":", "linewidth": 1.8},
}


def draw_perturbation(found: Evaluation, *, remover: str | None = None, methods: Sequence[str] | None = None) -> Figure:
    """Draw how the score of a run changes as words go.

    Args:
        found: An evaluation that has curves.
        remover: What "removed" means; one panel for each remover of the run if left out.
        methods: The methods; all if left out.
    """
    rows = list(found.curves)
    if not rows:
        raise InputError(
            "this evaluation has no curves; measure aopc_comprehensiveness or aopc_sufficiency, which draw them."
        )
    removers = list(dict.fromkeys(row["remover"] for row in rows))
    if remover is not None and remover not in removers:
        raise unknown("remover of this run", remover, removers)
    names = list(dict.fromkeys(row["method"] for row in rows))
    for name in methods or ():
        if name not in names:
            raise unknown("method of this run", name, names)
    kept = [row for row in rows if methods is None or row["method"] in methods]
    drawn = removers if remover is None else [remover]
    with styled(names):
        figure = new_picture(WIDTH, HEIGHT * len(drawn))
        panels = figure.subplots(len(drawn), 2, squeeze=False, sharey="row")
        means = {one: mean_curves(row for row in kept if row["remover"] == one) for one in drawn}
        for pair, one in zip(panels, drawn, strict=True):
            _draw_pair(pair, [row for row in kept if row["remover"] == one], means[one], noun=found.noun)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=SMALL)
    features = found.noun.features
    said = (f"{features.capitalize()} removed by {one}: {_said_curves(own, features)}" for one, own in means.items())
    return described(figure, f"Score while the top {features} of each method go, or come alone", " ".join(said))


def _draw_pair(axes: Sequence[Axes], rows: Sequence[Row], means: Mapping[str, Means], *, noun: Noun) -> None:
    shares, texts = rows[0]["shares"], len({row["example_id"] for row in rows})
    space, remover = rows[0]["score_space"], rows[0]["remover"]
    styles = cycle((shade, stroke) for stroke in STROKES for shade in SHADES)
    marks = cycle(MARKS)
    for name, own in means.items():
        style: Mapping[str, object] = BASELINES.get(name) or _method_style(next(styles), next(marks))
        for axis, values in zip(axes, own, strict=True):
            axis.plot(shares, values, label=name, **style)  # type: ignore[arg-type]  # colours, strokes and marks
    for axis, side in zip(axes, SIDES, strict=True):
        axis.set_xscale("function", functions=(_root, np.square))
        axis.set_xticks(TICKS, [f"{share:.0%}" for share in TICKS])
        axis.set_xticks([], minor=True)
        axis.set_xlim(0, 1)
        axis.set_xlabel(f"share of the {noun.features}")
        axis.grid(axis="y", color=LINE, linewidth=0.5)
        axis.tick_params(length=3, labelsize=SMALL, labelcolor=MUTED)
        title, meaning = side.format(noun.features).split(": ")
        heading(axis, title, [f"{meaning} \u00b7 removed by {remover} \u00b7 {noun.count(texts)}"])
    axes[0].set_ylabel(f"score of the label ({space})")


def _method_style(drawn: tuple[str, str], mark: str) -> Mapping[str, object]:
    shade, stroke = drawn
    return {"color": shade, "linestyle": stroke, "marker": mark, "markersize": 4.5, "linewidth": 1.6}


def _root(share: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.asarray(np.sqrt(np.maximum(share, 0.0)))


def _said_curves(means: Mapping[str, Means], features: str) -> str:
    """Say the mean height of both curves of each method."""
    each = (f"{name} {own[0].mean():.2f} and {own[1].mean():.2f}" for name, own in means.items())
    return f"mean score without the top {features}, and with them alone: {'; '.join(each)}."
