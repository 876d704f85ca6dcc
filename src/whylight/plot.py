"""Pictures of results: `wl.plot.bar(ex)`, `wl.plot.text(ex)` and others return matplotlib figures.

A figure belongs to no window and to no global state; a notebook shows it, `figure.savefig("x.svg")` writes it, and its
axes can be styled as any other. What it shows stands in words in `wl.plot.alt_text(figure)`, and in the files. Needs
`pip install whylight[plot]`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.report.plots import check_matplotlib
from whylight.report.plots.subject import (
    alt_text_of,
    evaluated,
    is_list_of_explanations,
    one_explanation,
    several_explanations,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whylight.run.evaluation import Evaluation

__all__ = ["alt_text", "bar", "compare", "curves", "layers", "summary", "text"]


def bar(
    explanation: Explanation, *, target: str | int | None = None, top: int = 12, ax: "Axes | None" = None
) -> "Figure":
    """Draw the strongest words of an explanation as bars, one panel per label.

    Args:
        explanation: What `wl.explain` returned for one text and method.
        target: A label or index, if it explains several; all of them, or the most probable six, if left out.
        top: How many words each label has at most; what the others add up to stands below them.
        ax: Axes to draw one label in; a figure of its own if left out.
    """
    one = one_explanation(explanation, several="wl.plot.compare takes several of one text")
    check_matplotlib()
    from whylight.report.plots.bars import draw_bars  # noqa: PLC0415  matplotlib is optional, and slow to import

    return draw_bars(one, target=target, top=top, ax=ax)


def text(explanation: Explanation, *, target: str | int | None = None, ax: "Axes | None" = None) -> "Figure":
    """Draw the text of an explanation in the colours of its scores.

    Args:
        explanation: What `wl.explain` returned for one text and method.
        target: A label or index, if it explains several.
        ax: Axes to draw it in; a figure of its own if left out.
    """
    one = one_explanation(explanation, several="wl.plot.compare takes several of one text")
    check_matplotlib()
    from whylight.report.plots.coloured import draw_text  # noqa: PLC0415

    return draw_text(one, target=target, ax=ax)


def compare(
    explanations: Sequence[Explanation],
    *,
    target: str | int | None = None,
    top: int = 25,
    scale: Literal["own", "shared"] = "own",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw what several methods say of one text: a column each, and a row per word.

    Args:
        explanations: Explanations of one text, e.g. of `wl.explain(clf, text, method=["lime", "occlusion"])`.
        target: A label or index, if they explain several.
        top: How many words are shown at most: those that some method finds strongest, in reading order.
        scale: `own`, the strongest word of each column has the full colour, because methods have different units; or
            `shared`, the strongest of all has it.
        ax: Axes to draw it in; a figure of its own if left out.
    """
    several = several_explanations(explanations, least=2)
    check_matplotlib()
    from whylight.report.plots.comparison import draw_comparison  # noqa: PLC0415

    return draw_comparison(several, target=target, top=top, scale=scale, ax=ax)


def layers(
    explanations: Sequence[Explanation],
    *,
    target: str | int | None = None,
    scale: Literal["own", "shared"] = "shared",
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one method at several layers above the words, the last layer on top.

    Args:
        explanations: What `wl.explain(clf, text, method=..., layer="all")` returned.
        target: A label or index, if they explain several.
        scale: `shared`, one scale for all layers; or `own`, each layer has its own, and its strongest score beside it.
        ax: Axes to draw it in; a figure of its own if left out.
    """
    several = several_explanations(explanations, least=2)
    check_matplotlib()
    from whylight.report.plots.layered import draw_layers  # noqa: PLC0415

    return draw_layers(several, target=target, scale=scale, ax=ax)


def curves(found: "Evaluation", *, remover: str | None = None, methods: Sequence[str] | None = None) -> "Figure":
    """Draw how the score changes as the top words of each method go, and as they come alone.

    Args:
        found: What `wl.evaluate` returned, with the metrics that draw curves (`aopc_comprehensiveness` is one).
        remover: What "removed" means; a panel for each remover of the run if left out.
        methods: The methods; all, `random` and `human` among them, if left out.
    """
    known = evaluated(found)
    check_matplotlib()
    from whylight.report.plots.deletion import draw_perturbation  # noqa: PLC0415

    return draw_perturbation(known, remover=remover, methods=methods)


def summary(
    found: "Evaluation | Sequence[Explanation]",
    *,
    method: str | None = None,
    label: str | None = None,
    top: int = 12,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw which words drive each label over many texts: their mean score, its spread, and how often they stand there.

    Words are ranked by the sum of their scores without sign, as other tools rank by the mean over all texts.

    Args:
        found: What `wl.evaluate` returned, or explanations of many texts.
        method: The method; the first one if left out.
        label: The label; all, or the six with the most words, if left out.
        top: How many words each label has at most.
        ax: Axes to draw one label in; a figure of its own if left out.
    """
    if isinstance(found, Explanation):
        raise InputError("this picture is of many texts; wl.plot.bar takes one explanation.")
    known = found if is_list_of_explanations(found) else evaluated(found)
    check_matplotlib()
    from whylight.report.plots.words import draw_summary  # noqa: PLC0415

    return draw_summary(known, method=method, label=label, top=top, ax=ax)


def alt_text(figure: "Figure") -> str:
    """Return what a picture shows, in words, for who cannot see it; "" if it is not of this package."""
    return alt_text_of(figure)
