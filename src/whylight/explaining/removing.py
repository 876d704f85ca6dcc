"""What "removed" means in a call: which remover, with which settings, and which scores go with it."""

from collections.abc import Collection, Mapping

from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.labels import ScoreSpace
from whylight.perturb.binding import bound
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier

DRAWN: ScoreSpace = "log_odds"
"""The score where a remover draws several texts: they are averaged as probabilities, and have no logit."""


def default_remover(classifier: Classifier) -> str:
    """Return the first remover that works on a classifier's inputs, or say that there is none."""
    if not classifier.removers:
        raise ModelError(f"no remover works on {classifier.kind}; bring one with `@remover` (see CONTRIBUTING.md).")
    return classifier.removers[0]


def chosen_removal(classifier: Classifier, name: str | None, settings: Mapping[str, object] | None = None) -> Removal:
    """Return the remover to use, by default the classifier's own, or say which ones work on it."""
    if name is not None and name not in classifier.removers:
        raise unknown(f"remover for {classifier.kind}", name, classifier.removers)
    return bound(name or default_remover(classifier), settings)


def check_score(classifier: Classifier, score: ScoreSpace | None, removal: Removal) -> ScoreSpace:
    """Return the score space to use, or say which ones exist for the classifier and the remover."""
    if score is not None and score not in classifier.score_spaces:
        raise SettingError(f"{classifier.kind} has no score '{score}'; use {', '.join(classifier.score_spaces)}.")
    if not removal.draws:
        return score or classifier.score_spaces[0]
    if score == "logit":
        others = ", ".join(space for space in classifier.score_spaces if space != "logit")
        raise SettingError(
            f"the remover '{removal.name}' draws several texts, whose probabilities are averaged: there is no score "
            f"'logit'; use {others}."
        )
    return score or DRAWN


def remover_settings(
    settings: Mapping[str, object], removers: Collection[str]
) -> tuple[dict[str, dict[str, object]], dict[str, object]]:
    """Take the settings of removers, `REMOVER.NAME`, apart from those of methods and metrics.

    Args:
        settings: Values by name.
        removers: The removers that are asked for.

    Returns:
        Settings by remover, and the others.
    """
    own: dict[str, dict[str, object]] = {name: {} for name in removers}
    others: dict[str, object] = {}
    for name, value in settings.items():
        owner, _, setting = name.rpartition(".")
        if owner in own:
            own[owner][setting] = value
        else:
            others[name] = value
    return own, others
