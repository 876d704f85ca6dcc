"""Which words drive each label over many texts: a dot wherever a word stands, its mean, and its spread."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.explanation import Explanation
from whylight.core.text import Text
from whylight.report.numbers import shown_score
from whylight.report.plots.bars import score_axis
from whylight.report.plots.canvas import (
    LINE,
    MUTED,
    SMALL,
    colour,
    described,
    figure_of,
    heading,
    new_picture,
    styled,
)
from whylight.report.plots.fonts import short_label
from whylight.report.plots.letters import fitted_lines, fitted_title, room_beside
from whylight.report.plots.subject import WIDEST
from whylight.report.sheets import count_of
from whylight.report.terminal import word_entry
from whylight.report.word_sums import LabelWords, WordSum, explained_by, methods_of, word_sums
from whylight.run.evaluation import Evaluation

WIDTH, ROW, AROUND = 6.8, 0.29, 1.15
"""Inches of the picture, of a word, and of what stands above and below the words of a label."""
PANELS = 6
"""Labels that are drawn, if nobody says which: those with the most words."""
DOTS = 300
"""Dots of a word; of more, every second or third in the order of their scores."""
SPOKEN = 3
"""Words of a label that the alternative text names."""


def draw_summary(
    given: Evaluation | Sequence[Explanation],
    *,
    method: str | None = None,
    label: str | None = None,
    top: int = 12,
    ax: Axes | None = None,
) -> Figure:
    """Draw which words drive each label.

    Args:
        given: An evaluation, or explanations of many texts.
        method: The method; the first one if left out.
        label: The label; all of them if left out.
        top: How many words each label has at most.
        ax: Where to draw one label; a figure of its own if left out.
    """
    if top < 1:
        raise SettingError(f"top is at least 1, not {top}.")
    known = methods_of(given)
    if not known:
        raise InputError("nothing is explained by a method here; there is no word to show.")
    chosen = known[0] if method is None else method
    if chosen not in known:
        raise unknown("method", chosen, known)
    explained = list(explained_by(given, chosen))
    if any(one.example.kind != Text.kind for one in explained):
        raise InputError("this picture adds up what each word scores over texts; only texts have words to add up.")
    found = _chosen_labels(word_sums(explained), label if ax is None or label is not None else _only(explained))
    receipt, texts = explained[0].provenance, len({one.example for one in explained})
    caption = [chosen, count_of(texts, "text"), "a dot per place", "black: mean \u00b1 standard deviation"]
    panels = {name: words[:top] for name, words in found.items()}
    with styled([*panels, *(word.word for words in panels.values() for word in words)]):
        if ax is None:
            heights = [AROUND + ROW * len(words) for words in panels.values()]
            figure: Figure = new_picture(WIDTH, sum(heights))
            axes = list(figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0])
        else:
            axes = [ax]
        for axis, (name, words) in zip(axes, panels.items(), strict=True):
            _draw_words(axis, words, signed=receipt.signed)
            room = room_beside([short_label(word.word) for word in words], axis)
            small = fitted_lines(caption, room) if axis is axes[0] else ()
            heading(axis, fitted_title(name, "what drives {}", room), small)
        axes[-1].set_xlabel(score_axis(explained[0]), fontsize=SMALL, color=MUTED)
    said = (
        f"{name}: {'; '.join(_said_word(word, receipt.signed) for word in words[:SPOKEN])}."
        for name, words in panels.items()
    )
    return described(figure_of(axes[0]), f"Words over {count_of(texts, 'text')}, by {chosen}", " ".join(said))


def _chosen_labels(found: LabelWords, label: str | None) -> LabelWords:
    """Return the labels that are drawn: the one asked for, or those with the most words."""
    if label is not None:
        if label not in found:
            raise unknown("label", label, found)
        return {label: found[label]}
    counts = {name: sum(word.count for word in words) for name, words in found.items()}
    kept = sorted(found, key=lambda name: -counts[name])[:PANELS]
    return {name: found[name] for name in found if name in kept}


def _only(explained: Sequence[Explanation]) -> str:
    """Return the one label that is explained; axes hold one."""
    names = list(dict.fromkeys(target.label for one in explained for target in one.targets))
    if len(names) > 1:
        raise SettingError(f"axes hold one label; say which: {', '.join(names)}.")
    return names[0]


def _draw_words(axis: Axes, words: Sequence[WordSum], *, signed: bool) -> None:
    generator = np.random.default_rng(0)  # dots are moved up and down a little, the same way each time
    for place, word in enumerate(words):
        shown = np.sort(word.scores)[:: -(-word.count // DOTS)]
        shades = [colour("importance" if not signed else "for" if score > 0 else "against", 6) for score in shown]
        heights = place + (generator.random(len(shown)) - 0.5) * (0.5 if len(shown) > 1 else 0.0)
        axis.scatter(shown, heights, s=16, c=shades, alpha=0.7, linewidths=0, zorder=2)
        axis.plot(
            [word.mean - word.spread, word.mean + word.spread], [place] * 2, color="#222222", linewidth=1.3, zorder=3
        )
        axis.plot([word.mean], [place], marker="o", markersize=5, color="#222222", markeredgecolor="white", zorder=4)
        axis.annotate(
            f"\u00d7{word.count:,}",
            (1, place),
            xytext=(6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=MUTED,
            annotation_clip=False,
        )
    axis.set_yticks(range(len(words)), [word_entry(word.word, longest=WIDEST) for word in words])
    axis.set_ylim(len(words) - 0.4, -0.6)
    axis.axvline(0, color=LINE, linewidth=0.8, zorder=0)
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", length=3, labelbottom=True)


def _said_word(word: WordSum, signed: bool) -> str:  # noqa: FBT001  one word, and how its numbers are written
    peak = float(np.abs(word.scores).max(initial=0.0))
    mean, spread = (
        shown_score(value, peak=peak, signed=sign) for value, sign in ((word.mean, signed), (word.spread, False))
    )
    return f"{word.word} {mean}, standard deviation {spread}, {count_of(word.count, 'time')}"
