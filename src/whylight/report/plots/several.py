"""The one picture of a list of explanations, where there is one."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.report.plots.bars import draw_bars
from whylight.report.plots.comparison import draw_comparison
from whylight.report.plots.layered import draw_layers
from whylight.report.plots.pictures import are_pictures, draw_pictures
from whylight.report.plots.words import draw_summary
from whylight.report.stacks import stacks
from whylight.report.word_sums import methods_of


def draw_several(explanations: Sequence[Explanation]) -> Figure:
    """Draw a list: the layers of a method, several methods on one text, or one method on several texts."""
    if not explanations:
        raise InputError("there is no explanation to draw.")
    if are_pictures(explanations):
        return draw_pictures(explanations)
    if len(explanations) == 1:
        return draw_bars(explanations[0])
    inputs = {(one.example, one.places) for one in explanations}
    methods = methods_of(explanations)
    if len(inputs) > 1 and len(methods) == 1:
        return draw_summary(explanations)
    if len(inputs) != 1:
        raise InputError(
            f"{len(inputs)} texts by {len(methods)} methods have no one picture; save those of one text or of one "
            "method, or all of them as .html."
        )
    found = stacks(explanations)
    alone = len(found) == 1 and len(found[0]) == len(explanations)
    return draw_layers(explanations) if alone else draw_comparison(explanations)
