"""The strongest words of an explanation as bars, one panel per label; what the others add up to stands below them."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import noun_of
from whylight.core.labels import Target
from whylight.report.drawn import drawn_targets
from whylight.report.numbers import shown_score
from whylight.report.plots.canvas import (
    LINE,
    MUTED,
    SMALL,
    answered,
    colour,
    described,
    figure_of,
    heading,
    new_picture,
    styled,
)
from whylight.report.plots.fonts import short_label
from whylight.report.plots.letters import answer_title, fitted_lines, room_beside
from whylight.report.plots.subject import marked_parts, named_scores, said_words
from whylight.report.sheets import count_of

WIDTH, BAR, AROUND = 6.4, 0.27, 1.15
"""Inches: of the picture, of a bar, and of what stands above and below the bars of a panel."""
ROOM = 0.15
"""Share of the axis beyond the longest bar on each side, where its number stands."""
PANELS = 6
"""Labels that are drawn, if nobody says which."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its score as drawn and as written, and whether it is the sum of others."""

    name: str
    score: float
    shown: str
    rest: bool = False


def draw_bars(
    explanation: Explanation, *, target: str | int | None = None, top: int = 12, ax: Axes | None = None
) -> Figure:
    """Draw the strongest words of an explanation.

    Args:
        explanation: The explanation.
        target: The label, if it explains several; all of them, or the most probable, if left out.
        top: How many words each label has at most.
        ax: Where to draw one label; a figure of its own if left out.
    """
    if top < 1:
        raise SettingError(f"top is at least 1, not {top}.")
    targets = [explanation.the_target(target)] if target is not None or ax is not None else _drawn_labels(explanation)
    panels = {one: bars_of(explanation, one, top=top) for one in targets}
    texts = [bar.name for bars in panels.values() for bar in bars] + [one.label for one in targets]
    with styled(texts):
        axes = [ax] if ax is not None else _new_axes([len(bars) for bars in panels.values()])
        ends = _axis_ends([bar.score for bars in panels.values() for bar in bars if not bar.rest])
        for axis, (one, bars) in zip(axes, panels.items(), strict=True):
            _draw_panel(axis, bars, ends=ends, signed=explanation.provenance.signed)
            room = room_beside([bar.name for bar in bars], axis)
            caption = fitted_lines(caption_of(explanation), room) if axis is axes[0] else ()
            heading(axis, answer_title(explanation, one, room), caption)
        axes[-1].set_xlabel(score_axis(explanation), fontsize=SMALL, color=MUTED)
    more = len(explanation.targets) - len(targets) if target is None and explanation.provenance.class_specific else 0
    words = [f"{answered(explanation, one)}: {_said(explanation, one)}" for one in targets]
    features = noun_of(explanation.example.kind).features.capitalize()
    words += [f"{count_of(more, 'less probable label')} not drawn."] if more else []
    return described(figure_of(axes[0]), f"{features} by {explanation.provenance.method}", " ".join(words))


def score_axis(explanation: Explanation) -> str:
    """Say what lies on both sides of an axis of scores."""
    receipt = explanation.provenance
    if not receipt.signed:
        return f"importance ({receipt.score})"
    return f"speaks against  \u2190  score ({receipt.score})  \u2192  speaks for"


def bars_of(explanation: Explanation, target: Target, *, top: int) -> list[Bar]:
    """Return the strongest words, the strongest first, and the sum of the others."""
    names, scores = named_scores(explanation, target)
    signed, peak = explanation.provenance.signed, float(np.abs(scores).max(initial=0.0))
    order = [int(i) for i in np.argsort(-np.abs(scores), kind="stable")]
    # a sum of one other word would be that word
    kept, rest = (order, []) if len(order) <= top + 1 else (order[:top], order[top:])
    bars = [Bar(names[i], float(scores[i]), shown_score(float(scores[i]), peak=peak, signed=signed)) for i in kept]
    if rest:
        total = float(scores[rest].sum())
        shown = shown_score(total, peak=peak, signed=signed)
        bars.append(Bar(f"{len(rest):,} others", total, f"{shown} in sum", rest=True))
    return bars


def _drawn_labels(explanation: Explanation) -> list[Target]:
    """Return the labels that are drawn: all, or the most probable ones."""
    if not explanation.provenance.class_specific:
        return [explanation.targets[0]]
    probabilities = explanation.prediction.answers
    ranked = sorted(drawn_targets([explanation]), key=lambda one: -probabilities[one.index])
    return ranked[:PANELS]


def _new_axes(counts: list[int]) -> list[Axes]:
    """Return axes below each other in a picture of their own, for so many bars each."""
    heights = [AROUND + BAR * count for count in counts]
    figure = new_picture(WIDTH, sum(heights))
    return list(figure.subplots(len(counts), 1, squeeze=False, height_ratios=heights)[:, 0])


def _draw_panel(axis: Axes, bars: list[Bar], *, ends: tuple[float, float], signed: bool) -> None:
    places = np.arange(len(bars))
    reached = [0.0 if bar.rest else bar.score for bar in bars]  # a sum of hundreds would dwarf the words
    shades = [colour("importance" if not signed else "for" if bar.score > 0 else "against") for bar in bars]
    axis.barh(places, reached, height=0.72, color=shades, linewidth=0)
    for place, bar in enumerate(bars):
        axis.annotate(
            bar.shown.replace("-", "\u2212"),
            (reached[place], place),
            xytext=(4 if bar.score >= 0 else -4, 0),
            textcoords="offset points",
            va="center",
            ha="left" if bar.score >= 0 else "right",
            fontsize=SMALL,
            color=MUTED if bar.rest else shades[place],
        )
    axis.set_yticks(places, [bar.name for bar in bars])
    for text, bar in zip(axis.get_yticklabels(), bars, strict=True):
        text.set(color=MUTED if bar.rest else text.get_color(), fontstyle="italic" if bar.rest else "normal")
    axis.set_ylim(len(bars) - 0.4, -0.6)
    axis.set_xlim(*ends)
    axis.axvline(0, color=LINE, linewidth=0.8, zorder=0)
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", length=3)


def _axis_ends(scores: list[float]) -> tuple[float, float]:
    """Return where the axis begins and ends: at 0 on a side without bars."""
    low, high = min([0.0, *scores]), max([0.0, *scores])
    room = ROOM * ((high - low) or 1.0)
    return low - room * (low < 0), high + room * (high > 0 or low == 0)


def caption_of(explanation: Explanation) -> list[str]:
    """Say by which method and model a picture came about, and what its marks mean."""
    receipt, parts = explanation.provenance, {getattr(place, "part", 0) for place in explanation.places}
    layer, model = receipt.settings.get("layer"), short_label(receipt.model, widest=40)
    said = [receipt.method, *([f"layer {layer}"] if isinstance(layer, int) else []), model]
    said += ["same for every label"] if not receipt.class_specific and len(explanation.targets) > 1 else []
    return said + (marked_parts(explanation) if len(parts) > 1 else [])


def _said(explanation: Explanation, target: Target) -> str:
    return said_words(*named_scores(explanation, target), signed=explanation.provenance.signed)
