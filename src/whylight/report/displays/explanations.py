"""Explanations, one or several: coloured text, words for and against, and all scores as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whylight.core.explanation import Explanation
from whylight.core.showing import register_display
from whylight.explaining.console import Console
from whylight.report.brief import brief_list, brief_text
from whylight.report.cards import variants_of
from whylight.report.page import fragment, page
from whylight.report.plots import check_matplotlib
from whylight.report.saving import display
from whylight.report.terminal import render
from whylight.store.tables import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def explanation_records(explanation: Explanation) -> list[Row]:
    """Return one record for each target and feature."""
    return [
        {"method": one["method"], "target": one["target"]["label"], **feature}
        for one in explanation.to_dicts()
        for feature in one["features"]
    ]


def list_records(explanations: Sequence[Explanation]) -> list[Row]:
    """Return one record for each input, method, target and feature; `input` counts inputs from 0.

    `layer` is there where a method has layers, `variant` where some input has one method with several settings.
    """
    numbers: dict[Any, int] = {}
    places = [numbers.setdefault(one.example, len(numbers)) for one in explanations]
    layers = [one.provenance.settings.get("layer") for one in explanations]
    layered = any("layer" in one.provenance.settings for one in explanations)
    methods = [one.provenance.method for one in explanations]
    keys = list(zip(places, methods, layers, strict=True))
    variants = variants_of(explanations) if len({*keys}) < len(keys) else [""] * len(keys)
    about = [
        {"input": place} | ({"layer": layer} if layered else {}) | ({"variant": variant} if any(variants) else {})
        for place, layer, variant in zip(places, layers, variants, strict=True)
    ]
    return [own | record for own, one in zip(about, explanations, strict=True) for record in explanation_records(one)]


def one_picture(explanations: Sequence[Explanation]) -> "Figure":
    """Return the picture of a list: pictures, layers, methods on one text, or words over many texts."""
    check_matplotlib()
    from whylight.report.plots.several import draw_several  # noqa: PLC0415  matplotlib is optional, and slow to import

    return draw_several(explanations)


register_display(
    "Explanation",
    display(
        "an explanation",
        text=brief_text,
        show=lambda one: render([one], console=Console()),
        html=lambda one: fragment([one]),
        records=explanation_records,
        page=lambda one: page([one]),
        plain=Explanation.to_dict,
        picture=lambda one: one_picture([one]),
    ),
)
register_display(
    "Explanations",
    display(
        "a list of explanations",
        text=brief_list,
        show=lambda several: render(several, console=Console()),
        html=fragment,
        records=list_records,
        page=page,
        plain=lambda several: [one.to_dict() for one in several],
        picture=one_picture,
    ),
)
