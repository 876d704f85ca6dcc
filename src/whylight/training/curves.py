"""The curves of a training as a picture: each term in training and validation, and how well the labels are learnt."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = (
    *("seconds", "selection", "rest", "labels", "documents_without_labels"),
    *("epoch", "step", "loss", "grad_norm", "learning_rate"),
)
"""Numbers that are no curve of interest."""


def draw_curves(history: Sequence[Mapping[str, float]]) -> str:
    """Draw the log of a training as SVG.

    Args:
        history: What was logged, one record a time; names that start with `eval_` are of the validation texts.
    """
    from matplotlib import rc_context  # noqa: PLC0415  slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = _curve_points(history)
    with rc_context({"svg.hashsalt": "whylight", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7, 2.2 * len(panels)), layout="constrained")
        axes: Any = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axis, (name, lines) in zip(axes, panels.items(), strict=True):
            for kind, points in lines.items():
                style = {"marker": "o", "markersize": 3} if kind == "validation" else {"alpha": 0.6, "linewidth": 1}
                axis.plot([x for x, _ in points], [y for _, y in points], label=kind, **style)
            axis.set_ylabel(name.replace("_", " "))
            axis.spines[["top", "right"]].set_visible(False)
            if len(lines) > 1:
                axis.legend(frameon=False)
        axes[-1].set_xlabel("epoch")
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _curve_points(history: Sequence[Mapping[str, float]]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Group points by the name of the number, then by training and validation."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for record in history:
        for full, value in record.items():
            name = full.removeprefix("eval_").removeprefix("term_")
            if name not in HIDDEN and not full.startswith("train_"):
                kind = "validation" if full.startswith("eval_") else "training"
                panels.setdefault(name, {}).setdefault(kind, []).append((record.get("epoch", 0.0), value))
    return panels or {"nothing": {}}
