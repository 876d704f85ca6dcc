"""Measuring one explanation against the classifier it is of."""

from whylight.core.arrays import Floats
from whylight.core.encoded import UNITS
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import check_score_space
from whylight.core.registry import METRICS
from whylight.facade import provide
from whylight.facade.case import open_case
from whylight.facade.explain import check_remover, check_score, choice
from whylight.views.classifier import Classifier, Request


def measure(
    classifier: Classifier,
    explanation: Explanation,
    *,
    metric: str = "comprehensiveness",
    remover: str | None = None,
    score: str = "probability",
    **settings: object,
) -> Floats:
    """Measure an explanation.

    Args:
        classifier: The classifier that was explained.
        explanation: The explanation.
        metric: Name of the metric.
        remover: What "removed" means; by default what suits the model.
        score: The score space that is measured in.
        **settings: Settings of the metric, e.g. `share=0.2`.

    Returns:
        One value a target.
    """
    spec = METRICS[metric]
    unit = choice("unit", explanation.provenance.unit, UNITS)
    case = open_case(classifier, explanation.example, unit=unit)
    if case.encoded.spans != explanation.spans:
        raise SettingError("the explanation is of other features than this classifier sees; was the text truncated?")
    if any(classifier.labels.names[t.index : t.index + 1] != (t.label,) for t in explanation.targets):
        raise SettingError("the explanation is of other labels than this classifier has.")
    request = Request(explanation.targets, check_score(classifier, check_score_space(score)))
    evidence = provide.game(case, request, remover=check_remover(classifier, remover))
    values: Floats = spec.function(explanation, evidence, **spec.complete_settings(settings))
    return values
