"""Which methods work with which classifier, and why the others do not.

That is found out by trying, on a text of 3 and one of 30 words, and not by what a classifier is called or has: each
view that a method consumes is held against plain calls of the model, once a classifier and only when it is asked for.
Methods for which right views are not enough, because they go into a model's parts, run themselves.
"""

from collections.abc import Mapping, MutableMapping
from weakref import WeakKeyDictionary

import numpy as np

from whylight.core.errors import IncompatibleError
from whylight.core.labels import Target
from whylight.core.registry import METHODS, Spec
from whylight.explaining.apply import apply, large_gaps
from whylight.explaining.case import open_case
from whylight.explaining.removing import chosen_removal
from whylight.models.trial import TEXTS, example_of, outcome
from whylight.views.classifier import Classifier, Dissected, Request, Tried, require_classifier
from whylight.views.game import Game
from whylight.views.view import seen_by

_FOUND: MutableMapping[Classifier, dict[str, str | None]] = WeakKeyDictionary()
"""What was found out: by classifier and method, what is wrong, or None."""


def obstacle(spec: Spec, classifier: Classifier) -> str | None:
    """Return why a method cannot work with a classifier, or None if it can."""
    for view in spec.consumes:
        if view not in classifier.offers:
            return f"'{spec.name}' needs {seen_by(view)}, and {classifier.kind} gives none"
    known = spec.facts["scores"]
    if known and not set(known) & set(classifier.score_spaces):
        return f"'{spec.name}' explains {' or '.join(known)}, which {classifier.kind} has not"
    layers = spec.facts.get("layers")
    if layers is not None and isinstance(classifier, Dissected):
        reason = classifier.layers_obstacle(post_norm=layers == "post_norm")
        if reason is not None:
            return f"'{spec.name}' {reason}"
    if not isinstance(classifier, Tried):
        return None
    found = _FOUND.setdefault(classifier, {})
    if spec.name not in found:
        found[spec.name] = _found_out(spec, classifier)
    return found[spec.name]


def compatible(classifier: Classifier) -> dict[str, str | None]:
    """Return every method with the reason why it does not work with this classifier, or None where it does.

    A method that cannot do without a setting, such as one that is fitted first, says what must be given to it.

    Example:
        >>> import whylight as wl
        >>> found = wl.compatible(wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["ham", "spam"]))
        >>> found["occlusion"], found["saliency"] is None
        (None, False)
    """
    require_classifier(classifier)
    specs = [METHODS[name] for name in METHODS.names()]
    return {spec.name: obstacle(spec, classifier) or lack(spec) for spec in specs}


def lack(spec: Spec) -> str | None:
    """Return what must be given to a method before it does anything, or None where its defaults will do."""
    given: Mapping[str, str] = spec.facts["given"]
    return f"'{spec.name}' needs {' and '.join(given.values())}" if given else None


def require(spec: Spec, classifier: Classifier) -> None:
    """Refuse a method that cannot work, and say which ones can."""
    reason = obstacle(spec, classifier)
    if reason is not None:
        working = ", ".join(name for name, why in compatible(classifier).items() if why is None)
        raise IncompatibleError(f"{reason}. Methods that work with this model: {working or 'none'}.")


def _found_out(spec: Spec, classifier: Tried) -> str | None:
    """Try the views of a method, and the method itself where they are not enough."""
    for view in dict.fromkeys([Game, *spec.consumes]):  # whatever is explained, a game says what is predicted
        reason = classifier.finding(view)
        if reason is not None:
            return f"'{spec.name}' needs {seen_by(view)}, and {reason}"
    if not spec.facts["tried"] and all(view.vouches for view in spec.consumes):
        return None
    reason = outcome(lambda: _miss(spec, classifier))
    if reason is None or reason.startswith(f"'{spec.name}'"):
        return reason
    return f"'{spec.name}' does not work with '{classifier.architecture}': {reason}"


def _miss(spec: Spec, classifier: Classifier) -> str | None:
    """Return what is wrong with the scores of a method on the texts, or None."""
    settings = spec.complete_settings({})
    target, removal = Target(0, classifier.labels.names[0]), chosen_removal(classifier, None)
    for text in TEXTS:
        case = open_case(classifier, example_of(classifier, text), long="truncate")
        applied = apply(case, spec, settings, Request((target,), "logit", removal=removal, cache=case.cache))
        if not np.isfinite(applied.scores).all():
            return "it produces a score that is not a finite number"
        if spec.facts["layers"] is not None and large_gaps(applied):
            return "the parts that it finds do not add up to the logit"
    return None
