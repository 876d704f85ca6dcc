"""The sign of evidence: which words speak for a label, where the method that explains it does not say.

Attention, AttInGrad, saliency, MaRC and others say how much a word matters, and not whether it speaks for the label or
against it. A method with a sign is asked beside them, once per input, whatever number of methods share its answer.
`auto` takes the first of `SOURCES` that works with the model and explains the score that is asked for; each costs one
forward pass, and one backward pass per label. Scores stay as the method gave them. Only texts have evidence.
"""

from dataclasses import replace

from whylight.core.errors import IncompatibleError, ModelError, SettingError
from whylight.core.explanation import Explanation, Signs
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import Case
from whylight.explaining.compatible import obstacle, require
from whylight.explaining.options import Options, removal_of
from whylight.explaining.receipts import explain_case
from whylight.explaining.removing import score_for
from whylight.explaining.variants import Asked, asked_plugin
from whylight.views.classifier import Classifier

AUTO, NONE = "auto", "none"
SOURCES = ("decompx_linear", "input_x_gradient")
"""Methods with a sign that need one pass, the more exact one first."""


class SignSource:
    """Where the sign of evidence comes from.

    Args:
        classifier: The classifier.
        options: What is asked of every method.
        asked: `auto`, `none`, or a method with a sign.
    """

    def __init__(self, classifier: Classifier, options: Options, asked: str = AUTO) -> None:
        self._classifier, self._options, self._asked = classifier, options, asked
        self._named = None if asked in (AUTO, NONE) else _signed_method(classifier, asked)
        self._sources: list[Asked] | None = None
        self._known: dict[int, Signs | None] = {}

    def lent(self, number: int, case: Case, explanation: Explanation) -> Explanation:
        """Return an explanation with the signs of its input, which has a number, if it has none of its own."""
        if explanation.provenance.signed or self._asked == NONE or explanation.example.kind != Text.kind:
            return explanation
        if number not in self._known:
            self._known[number] = self._found(case)
        return replace(explanation, signs=self._known[number])

    def _found(self, case: Case) -> Signs | None:
        """Ask the first source that has an answer about this input; one that the user named may fail."""
        if self._named is not None:
            return _signs(case, self._named, self._options)
        if self._sources is None:
            self._sources = [one for one in map(_as_asked, SOURCES) if self._works(one)]
        for source in self._sources:
            try:
                return _signs(case, source, self._options)
            except (IncompatibleError, ModelError):  # it works with the model, and not on this input
                continue
        return None

    def _works(self, asked: Asked) -> bool:
        """Say whether a method works with the classifier, and explains the score that is asked for."""
        try:
            score_for(asked.spec, self._classifier, self._options.score, removal_of(self._classifier, self._options))
        except (IncompatibleError, SettingError):
            return False
        return obstacle(asked.spec, self._classifier) is None


def _signs(case: Case, asked: Asked, options: Options) -> Signs:
    own = explain_case(case, asked.spec, asked.spec.complete_settings(asked.own), options)
    receipt = own.provenance
    if not receipt.signed:
        raise SettingError(f"'{asked.name}' has no sign with these settings; evidence needs one.")
    return Signs(asked.name, own.scores > 0, receipt.forward_passes, receipt.backward_passes, receipt.seconds)


def _signed_method(classifier: Classifier, name: str) -> Asked:
    """Return the method that a user named for the sign, or say why it cannot give one."""
    asked = _as_asked(name)
    if not asked.spec.facts["signed"]:
        signed = [one for one in METHODS.names() if METHODS[one].facts["signed"]]
        raise SettingError(f"'{name}' has no sign; the sign of evidence is auto, none or one of {', '.join(signed)}.")
    require(asked.spec, classifier)
    return asked


def _as_asked(name: str) -> Asked:
    return asked_plugin(name, METHODS)
