"""Measuring one explanation: against the classifier it is of, a rationale, or another explanation."""

from dataclasses import replace
from typing import Any

from whylight.core.arrays import Floats
from whylight.core.encoded import UNITS
from whylight.core.errors import InputError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import asked_again, check_score_space
from whylight.core.marked import is_corpus_metric
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS
from whylight.explaining import provide
from whylight.explaining.case import open_case
from whylight.explaining.options import choice
from whylight.explaining.removing import check_score, chosen_removal, default_remover, remover_settings
from whylight.explaining.variants import share_settings
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier, Request, require_classifier
from whylight.views.game import Game


def measure(  # noqa: PLR0913  every argument but two is optional and named
    classifier: Classifier,
    explanation: Explanation,
    *,
    metric: str = "comprehensiveness",
    remover: str | None = None,
    score: str = "probability",
    rationale: Rationale | None = None,
    other: Explanation | None = None,
    **settings: object,
) -> Floats:
    """Measure an explanation.

    Args:
        classifier: The classifier that was explained.
        explanation: The explanation.
        metric: Name of the metric.
        remover: For faithfulness: what "removed" means; by default what suits the model.
        score: For faithfulness: the score space that is measured in.
        rationale: For plausibility: what people marked as the reason.
        other: For agreement: the explanation to compare with.
        **settings: Settings of the metric, e.g. `share=0.2`.

    Returns:
        One value per target.

    Example:
        >>> import whylight as wl
        >>> clf = wl.load()
        >>> ex = wl.explain(clf, "A gripping, moving film.", method="occlusion")
        >>> bool(wl.measure(clf, ex, metric="comprehensiveness", share=0.2)[0] > 0)
        True
    """
    require_classifier(classifier)
    if not isinstance(explanation, Explanation):
        given = "list" if isinstance(explanation, list) else type(explanation).__name__
        raise InputError(f"measure takes one Explanation, not a {given}; call it for each of them.")
    spec = METRICS[metric]
    if is_corpus_metric(spec):
        raise SettingError(f"the metric '{metric}' is one of all texts together; measure it with evaluate.")
    own, others = remover_settings(settings, [remover or default_remover(classifier)])
    removal = chosen_removal(classifier, remover, next(iter(own.values())))
    evidence: list[Any] = []
    for kind in spec.consumes[1:]:
        given = {Rationale: rationale, Explanation: other}
        if kind is Game:
            evidence.append(_game(classifier, explanation, removal, score=score))
        elif given.get(kind) is not None:
            evidence.append(given[kind])
        else:
            needed = "a rationale: pass rationale" if kind is Rationale else "another explanation: pass other"
            raise InputError(f"the metric '{metric}' needs {needed}=...")
    values: Floats = spec.function(explanation, *evidence, **share_settings([spec], others)[0])
    return values


def _game(classifier: Classifier, explanation: Explanation, removal: Removal, *, score: str) -> Game:
    unit = choice("unit", explanation.provenance.unit, UNITS)
    case = open_case(classifier, explanation.example, unit=unit, target=asked_again(explanation.targets))
    if case.encoded.places != explanation.spans:
        raise SettingError("the explanation is of other features than this classifier sees; was the text truncated?")
    labels, targets = case.classifier.labels, explanation.targets
    if labels.open:  # the same texts, which may stand in other columns now
        targets = tuple(
            replace(one, index=labels.index(name)) for one, name in zip(targets, asked_again(targets), strict=True)
        )
    if any(labels.names[t.index : t.index + 1] != (t.label,) for t in targets):
        raise SettingError("the explanation is of other labels than this classifier has.")
    space = check_score(classifier, check_score_space(score), removal)
    return provide.game(case, Request(targets, space), removal)
