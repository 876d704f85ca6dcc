"""What a method is run as: its settings, and with `layer=all` one variant for each layer of the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whylight.core.errors import IncompatibleError, unknown
from whylight.core.explanation import JsonValue
from whylight.core.registry import Spec
from whylight.views.classifier import Classifier, Layered

LAYER, ALL = "layer", "all"


@dataclass(frozen=True, slots=True)
class Variant:
    """A method with complete settings.

    Attributes:
        name: What tables call it: the method, or `METHOD@LAYER` where it is one of all layers.
        spec: The method.
        settings: Its settings.
    """

    name: str
    spec: Spec
    settings: Mapping[str, JsonValue]


def variants(classifier: Classifier, specs: Sequence[Spec], given: Mapping[str, object]) -> list[list[Variant]]:
    """Give each method its settings; one that has a layer becomes a variant a layer, the first first, if all are asked.

    Args:
        classifier: The classifier, which says how many layers it has.
        specs: Methods, and metrics where they are given settings together.
        given: Settings of any of them; a name that none knows is refused.
    """
    every = asks_for_layers(given)
    shared = share_settings(specs, {**given, LAYER: None} if every else given)
    made = []
    for spec, own in zip(specs, shared, strict=True):
        if every and LAYER in spec.settings:
            layers = range(1, _count(classifier) + 1)
            made.append([Variant(f"{spec.name}@{layer}", spec, {**own, LAYER: layer}) for layer in layers])
        else:
            made.append([Variant(spec.name, spec, own)])
    return made


def asks_for_layers(given: Mapping[str, object]) -> bool:
    """Say whether settings ask for every layer."""
    return str(given.get(LAYER)) == ALL


def share_settings(specs: Sequence[Spec], given: Mapping[str, object]) -> list[dict[str, JsonValue]]:
    """Give each method those of the settings that it knows; a name that none knows is refused."""
    known = sorted({name for spec in specs for name in spec.settings})
    for name in given:
        if name not in known:
            raise unknown(f"setting of {' or '.join(repr(s.name) for s in specs)}", name, known)
    return [s.complete_settings({n: v for n, v in given.items() if n in s.settings}) for s in specs]


def _count(classifier: Classifier) -> int:
    if not isinstance(classifier, Layered):
        raise IncompatibleError(
            f"layer=all needs to know how many layers there are, which {classifier.kind} does not say; "
            "name one, e.g. layer=1."
        )
    return classifier.n_layers
