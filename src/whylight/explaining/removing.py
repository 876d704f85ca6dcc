"""What "removed" means in a call: which remover, with which settings, and which scores go with it."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from whylight.core.errors import IncompatibleError, ModelError, SettingError, unknown
from whylight.core.labels import OF_LOGITS, ScoreSpace
from whylight.core.registry import REMOVERS, Spec
from whylight.models.infill import filler_of
from whylight.perturb.binding import bound
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier
from whylight.views.filling import Filler

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
    removal = bound(name or default_remover(classifier), settings)
    if Filler not in REMOVERS[removal.name].consumes:
        return removal
    filler = filler_of(classifier, str(removal.settings["model"]))
    return replace(removal, needs=(filler,), contents=filler.contents)


def check_score(classifier: Classifier, score: ScoreSpace | None, removal: Removal) -> ScoreSpace:
    """Return the score space to use, or say which ones exist for the classifier and the remover."""
    if score is not None and score not in classifier.score_spaces:
        raise SettingError(f"{classifier.kind} has no score '{score}'; use {', '.join(classifier.score_spaces)}.")
    if not removal.draws:
        return score or classifier.score_spaces[0]
    if score in OF_LOGITS:
        others = ", ".join(space for space in classifier.score_spaces if space not in OF_LOGITS)
        raise SettingError(
            f"the remover '{removal.name}' draws several texts, whose probabilities are averaged: there is no score "
            f"'{score}'; use {others}."
        )
    return score or DRAWN


def score_for(spec: Spec, classifier: Classifier, asked: ScoreSpace | None, removal: Removal) -> ScoreSpace:
    """Return the score that a method explains: the one that is asked for, else its own default, else the classifier's.

    Args:
        spec: The method.
        classifier: The classifier.
        asked: What the user said, if anything.
        removal: What "removed" means; to a method that removes nothing, it says nothing about the score.
    """
    known: tuple[ScoreSpace, ...] = spec.facts["scores"]
    removal = removal if removes(spec) else replace(removal, draws=False)
    if asked is None and known:
        there = [s for s in known if s in classifier.score_spaces and not (removal.draws and s in OF_LOGITS)]
        if not there:
            raise IncompatibleError(f"'{spec.name}' explains {' or '.join(known)}, which {classifier.kind} has not.")
        return there[0]
    space = check_score(classifier, asked, removal)
    if known and space not in known:
        use = " or ".join(f"--score {one}" for one in known)
        raise IncompatibleError(f"'{spec.name}' does not explain the score '{space}'; use {use}.")
    return space


def removes(spec: Spec) -> bool:
    """Say whether a method looks at inputs with features removed."""
    return bool(spec.consumes[0].removes)


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
