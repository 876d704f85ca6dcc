"""A method in front of a classifier, with what several checks of it share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from whylight.core.errors import WhylightError
from whylight.core.explanation import Explanation
from whylight.core.registry import Spec
from whylight.explaining.compatible import obstacle
from whylight.explaining.explain import explain
from whylight.testing.inputs import Inputs, inputs_for
from whylight.testing.running import promise
from whylight.testing.snapshot import changed_parts, snapshot
from whylight.testing.tiny import tiny_classifier
from whylight.testing.twins import hosted, in_training
from whylight.views.classifier import Classifier

GivenSettings = Mapping[str, object] | Callable[[Classifier], Mapping[str, object]]
"""Settings, or a function from a classifier to them, for a method that is fitted to one."""


@dataclass(frozen=True, eq=False)
class MethodSubject:
    """A method in front of a classifier.

    Attributes:
        spec: The method.
        given: The classifier; None for the tiny one.
        settings: Settings that the method is run with, or what makes them for a classifier.
    """

    spec: Spec
    given: Classifier | None
    settings: GivenSettings

    def settings_for(self, classifier: Classifier) -> Mapping[str, object]:
        """Return the settings that the method is run with in front of a classifier."""
        return self.settings(classifier) if callable(self.settings) else self.settings

    @cached_property
    def classifier(self) -> Classifier:
        """The classifier."""
        return tiny_classifier() if self.given is None else self.given

    @cached_property
    def inputs(self) -> Inputs:
        """What the classifier is asked about."""
        return inputs_for(self.classifier)

    @cached_property
    def explanation(self) -> Explanation:
        """How it explains all labels of the ordinary input."""
        return self.explain(self.inputs.ordinary, target="all")

    @cached_property
    def in_training(self) -> tuple[Explanation, list[str]]:
        """How it explains a model in training, and what is different about the model afterwards."""
        twin = in_training(hosted(self.classifier))
        self.require_that_it_works(twin)
        before = snapshot(twin.model)
        found = self.explain(self.inputs.ordinary, classifier=twin, target="all")
        return found, changed_parts(before, snapshot(twin.model))

    @property
    def asks(self) -> bool:
        """Whether it looks at the model at all; random scores do not."""
        receipt = self.explanation.provenance
        return receipt.forward_passes + receipt.backward_passes > 0

    def explain(self, given: Any, *, classifier: Classifier | None = None, **options: Any) -> Explanation:  # noqa: ANN401  options of `explain`
        """Explain an input by the method alone; that this is refused breaks a promise."""
        asked: dict[str, Any] = {"evidence_sign": "none", **self.settings_for(classifier or self.classifier), **options}
        try:
            found: Explanation = explain(
                classifier or self.classifier, given, method=self.spec.name, progress=False, **asked
            )
        except WhylightError as error:
            raise AssertionError(f"{given!r} must be explained (with {options}); it was refused: {error}") from error
        return found

    def require_that_it_works(self, classifier: Classifier) -> None:
        """Let it be found out whether the method works with a classifier; that it does not breaks a promise."""
        reason = obstacle(self.spec, classifier)
        promise(reason is None, f"the method must work with the classifier that it is checked on: {reason}.")
