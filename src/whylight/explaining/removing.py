"""What "removed" means in a call: which remover, with which settings, and which scores go with it."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from whylight.core.errors import IncompatibleError, ModelError, SettingError, unknown
from whylight.core.labels import OF_LOGITS, ScoreSpace
from whylight.core.registry import REMOVERS, Spec
from whylight.explaining.variants import asked_plugin, plugin_name, removes
from whylight.models.bundled_start import filling_notes
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
    """Return the remover to use, by default the classifier's own, or say which ones work on it.

    Args:
        classifier: The classifier.
        name: The remover; settings may stand in its name, `infill[mode=top1]`.
        settings: Its settings; those in its name win.
    """
    if name is not None and plugin_name(name) not in classifier.removers:
        raise unknown(f"remover for {classifier.kind}", plugin_name(name), classifier.removers)
    asked = asked_plugin(name or default_remover(classifier), REMOVERS)
    removal = replace(bound(asked.spec.name, {**(settings or {}), **asked.own}), called=asked.name)
    if Filler not in asked.spec.consumes:
        return removal
    model = str(removal.settings["model"])
    if not model:
        raise SettingError(f"the remover '{asked.name}' needs a masked language model: {asked.spec.name}.model=FOLDER.")
    filler = filler_of(classifier, model)
    contents = {f"{asked.name} {what}": value for what, value in filler.contents.items()}
    notes = filling_notes(model, classifier.identity)
    return replace(removal, needs=(filler,), contents=contents, notes=notes)


def check_score(classifier: Classifier, score: ScoreSpace | None, removal: Removal) -> ScoreSpace:
    """Return the score space to use, or say which ones exist for the classifier and the remover."""
    if score is not None and score not in classifier.score_spaces:
        raise SettingError(f"{classifier.kind} has no score '{score}'; use {', '.join(classifier.score_spaces)}.")
    if not removal.draws:
        return score or classifier.score_spaces[0]
    if DRAWN not in classifier.score_spaces:
        raise IncompatibleError(f"the remover '{removal.name}' averages probabilities, of which this model gives none.")
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


def remover_settings(
    settings: Mapping[str, object], removers: Collection[str]
) -> tuple[dict[str, dict[str, object]], dict[str, object]]:
    """Take the settings of removers, `REMOVER.NAME`, apart from those of methods and metrics.

    Args:
        settings: Values by name.
        removers: The removers that are asked for, as they are asked for.

    Returns:
        Settings by remover, and the others.
    """
    own: dict[str, dict[str, object]] = {name: {} for name in removers}
    others: dict[str, object] = {}
    for name, value in settings.items():
        owner, _, setting = name.rpartition(".")
        owned = [asked for asked in own if plugin_name(asked) == owner]
        for asked in owned:
            own[asked][setting] = value
        if not owned:
            others[name] = value
    return own, others
