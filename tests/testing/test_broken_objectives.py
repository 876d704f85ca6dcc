"""Every check of objectives fails for one that breaks its promise, and for no other reason."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from breaking import failing, inside
from torch import Tensor

from whylight.core.registry import objective
from whylight.testing import check_objective, objective_checks
from whylight.testing.running import DECLARED
from whylight.views.step import Step

ABOVE = {one.function.__name__ for one in DECLARED}


def changed(change: Callable[[Step, Tensor], Any]) -> None:
    @objective(cite="here")
    def subject(step: Step) -> Any:
        """Teach the labels."""
        return change(step, step.example_losses)


def the_term_is_one_finite_number() -> None:
    changed(lambda _step, losses: losses if inside("the_term_is_one_finite_number") else losses.mean())


def the_model_can_learn_from_it() -> None:
    changed(lambda _step, losses: losses.mean().detach())


def the_same_step_gives_the_same_number() -> None:
    calls: list[None] = []

    def counted(_step: Step, losses: Tensor) -> Tensor:
        calls.append(None)
        return losses.mean() * (1 + 1e-10 * len(calls))

    changed(counted)


def it_is_a_mean_over_examples() -> None:
    changed(lambda _step, losses: losses.sum())


def padding_does_not_matter() -> None:
    changed(lambda step, losses: losses.mean() * step.batch.ids.shape[1])


def a_batch_without_evidence_gives_a_finite_number() -> None:
    changed(lambda step, losses: losses.mean() + 0 / step.batch.evidence.sum())


def the_model_and_the_batch_are_left_as_they_were() -> None:
    changed(lambda _step, losses: losses.mean() + 0 * torch.rand(1).squeeze())


BROKEN = [
    the_term_is_one_finite_number,
    the_model_can_learn_from_it,
    the_same_step_gives_the_same_number,
    it_is_a_mean_over_examples,
    padding_does_not_matter,
    a_batch_without_evidence_gives_a_finite_number,
    the_model_and_the_batch_are_left_as_they_were,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_seen_and_no_other(broken: Callable[[], None]) -> None:
    broken()
    assert failing(objective_checks("subject")) == {broken.__name__}


def test_every_check_has_a_broken_objective_and_a_sound_one_passes() -> None:
    changed(lambda _step, losses: losses.mean())
    check_objective("subject")
    assert {title for title, _ in objective_checks("subject")} == {broken.__name__ for broken in BROKEN} | ABOVE


def test_what_an_objective_does_not_declare_to_need_it_does_not_get() -> None:
    @objective(cite="here")
    def subject(step: Step) -> Any:
        """Read attention."""
        return step.pair_attention().sum()

    with pytest.raises(AssertionError, match="'subject' breaks"):
        check_objective(subject)
