"""What a method promises of the model and of the process around it: they are, and are left, as they were."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from whylight.core.explanation import Explanation
from whylight.explaining.case import open_case
from whylight.explaining.explain import explain
from whylight.testing.inputs import as_input
from whylight.testing.method_subject import MethodSubject
from whylight.testing.running import promise
from whylight.testing.snapshot import changed_parts, snapshot
from whylight.testing.twins import Hosted, hosted, in_half_precision, in_training, last_called


class MidwayError(RuntimeError):
    """What a model raises in the middle of being explained."""


def half_precision_is_explained_as_it_is(subject: MethodSubject) -> None:
    """A model in bfloat16 stays one."""
    twin = in_half_precision(hosted(subject.classifier))
    found = subject.explain(subject.inputs.ordinary, classifier=twin, target=0)
    promise(np.isfinite(found.scores).all(), "scores of a model in half precision must be finite numbers.")
    dtype = next(twin.model.parameters()).dtype
    promise(dtype == torch.bfloat16, f"the model must stay in bfloat16; it is in {dtype}.")


def a_model_in_training_is_left_as_it_was(subject: MethodSubject) -> None:
    """Weights, flags, hooks, modes, configuration and random generators."""
    changed = subject.in_training[1]
    promise(not changed, f"explaining must leave model and process as they were; changed: {', '.join(changed)}.")


def training_mode_does_not_change_the_scores(subject: MethodSubject) -> None:
    """What is explained is the model as it answers, without dropout."""
    found, _ = subject.in_training
    _same_bytes(subject, found, "a model in training must get the scores of evaluation mode; they differ.")


def a_model_is_left_as_it_was_after_an_error_midway(subject: MethodSubject) -> None:
    """An error in the model's own code, after the prediction, is handed on and leaves nothing behind."""
    twin = in_training(hosted(subject.classifier))
    subject.explain(
        subject.inputs.ordinary, classifier=twin, target=0
    )  # what works is tried before, and not while it fails
    settings: dict[str, Any] = {**subject.settings_for(twin)}
    before = snapshot(twin.model)
    raised = False
    with _failing(twin, subject.inputs.ordinary):
        try:
            explain(twin, subject.inputs.ordinary, method=subject.spec.name, target="all", progress=False, **settings)
        except MidwayError:
            raised = True
    promise(raised == subject.asks, "an error in the model's own code must be handed on as it is; it was not.")
    changed = changed_parts(before, snapshot(twin.model))
    promise(not changed, f"an error midway must leave the model as it was; changed: {', '.join(changed)}.")


def it_works_inside_inference_mode(subject: MethodSubject) -> None:
    """Whatever mode the caller's code is in, it gets the same scores and keeps its mode."""
    with torch.inference_mode():
        inside = subject.explain(subject.inputs.ordinary, target="all")
        promise(torch.is_inference_mode_enabled(), "torch.inference_mode() must still be on after explaining.")
    _same_bytes(subject, inside, "scores must not depend on torch.inference_mode(); they differ.")


def it_works_inside_no_grad(subject: MethodSubject) -> None:
    """As above."""
    with torch.no_grad():
        inside = subject.explain(subject.inputs.ordinary, target="all")
        promise(not torch.is_grad_enabled(), "torch.no_grad() must still be on after explaining.")
    _same_bytes(subject, inside, "scores must not depend on torch.no_grad(); they differ.")


def _same_bytes(subject: MethodSubject, found: Explanation, sentence: str) -> None:
    promise(found.scores.tobytes() == subject.explanation.scores.tobytes(), sentence)


@contextmanager
def _failing(classifier: Hosted, given: Any) -> Iterator[None]:  # noqa: ANN401  any kind of input
    """Let the last linear layer raise at the first call behind those that the prediction takes."""
    layer: Any = last_called(classifier, given)
    own, forward, calls = vars(layer).get("forward"), layer.forward, [0]
    allowed = math.inf

    def fail(*args: Any, **options: Any) -> Any:  # noqa: ANN401  as the layer has it
        calls[0] += 1
        if calls[0] > allowed:
            raise MidwayError("in the middle of it")
        return forward(*args, **options)

    layer.forward = fail
    try:
        open_case(classifier, as_input(given))
        allowed, calls[0] = calls[0], 0
        yield
    finally:
        if own is None:
            del layer.forward
        else:
            layer.forward = own
