"""Explanations that differ in their layer alone: which they are, and their pictures where the kind has such."""

from collections.abc import Hashable, Sequence

from markupsafe import Markup

from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.report.renderers import renderer_of
from whylight.report.templating import markup_of


def stacks(explanations: Sequence[Explanation]) -> list[list[Explanation]]:
    """Return explanations that differ in their layer alone, the first layer first; one layer is no stack."""
    groups: dict[Hashable, dict[int, Explanation]] = {}
    for one in explanations:
        layer = one.provenance.settings.get("layer")
        if isinstance(layer, int):
            groups.setdefault(_in_common(one), {})[layer] = one
    return [[own[layer] for layer in sorted(own)] for own in groups.values() if len(own) > 1]


def stacked(explanations: Sequence[Explanation]) -> set[Explanation]:
    """Return those explanations that are drawn as layers of a picture."""
    return {one for stack in stacks(explanations) if renderer_of(stack[0].example.kind).layers for one in stack}


def pictures(explanations: Sequence[Explanation], target: Target) -> tuple[Markup, ...]:
    """Return a picture of each method that explains a target at several layers."""
    own = [one for one in explanations if target in one.targets]
    drawn = ((renderer_of(stack[0].example.kind).layers, stack) for stack in stacks(own))
    return tuple(markup_of(layers(stack, target)) for layers, stack in drawn if layers is not None)


def method_of(one: Explanation) -> str:
    """Return the name of the method; tables add the layer to it."""
    return one.provenance.method.removesuffix(f"@{one.provenance.settings['layer']}")


def _in_common(one: Explanation) -> Hashable:
    """Return what the layers of a method have in common."""
    receipt = one.provenance
    others = tuple(sorted((name, str(value)) for name, value in receipt.settings.items() if name != "layer"))
    return method_of(one), others, receipt.unit, receipt.remover, receipt.score, one.example, one.targets, one.places
