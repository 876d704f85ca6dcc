"""Which methods work with which classifier, and why the others do not."""

from whylight.core.errors import IncompatibleError
from whylight.core.labels import ScoreSpace
from whylight.core.registry import METHODS, Spec
from whylight.views.classifier import Classifier, Differentiable, Traceable
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.trace import TraceView

_OFFERS: dict[type, type] = {Game: Classifier, GradientView: Differentiable, TraceView: Traceable}


def obstacle(spec: Spec, classifier: Classifier) -> str | None:
    """Return why a method cannot work with a classifier, or None if it can."""
    for view in spec.consumes:
        if not isinstance(classifier, _OFFERS[view]):
            return f"'{spec.name}' consumes a {view.__name__}, which {classifier.kind} cannot provide"
    layers = spec.facts.get("layers")
    if layers is not None and isinstance(classifier, Traceable):
        reason = classifier.layers_obstacle(post_norm=layers == "post_norm")
        return None if reason is None else f"'{spec.name}' {reason}"
    return None


def compatible(classifier: Classifier) -> dict[str, str | None]:
    """Return every method with the reason why it does not work with this classifier, or None where it does."""
    return {name: obstacle(METHODS[name], classifier) for name in METHODS.names()}


def require(spec: Spec, classifier: Classifier) -> None:
    """Refuse a method that cannot work, and say which ones can."""
    reason = obstacle(spec, classifier)
    if reason is not None:
        working = ", ".join(name for name, why in compatible(classifier).items() if why is None)
        raise IncompatibleError(f"{reason}. Methods that work with this model: {working}.")


def require_score(spec: Spec, space: ScoreSpace) -> None:
    """Refuse a score that a method has no answer for."""
    if spec.facts["logit_only"] and space != "logit":
        raise IncompatibleError(f"'{spec.name}' explains logits and not the score '{space}'; use --score logit.")
