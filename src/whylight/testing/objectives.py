"""What every objective promises, in a line: `check_objective("my_objective")`.

A term of a loss is one number that a network can learn from, a mean over examples, and nothing but a function of the
step. Cost: a few passes of a network of two small layers, in double precision.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from whylight.core.errors import WhylightError
from whylight.core.registry import OBJECTIVES, Plugin, Spec
from whylight.testing.running import DECLARED, Check, Named, checks_of, promise, registered, run_checks
from whylight.testing.snapshot import changed_parts, snapshot
from whylight.testing.steps import made_up_batch, padded, step_of, tiny_network
from whylight.views.step import TrainingBatch

EXACT = 1e-6
"""Terms are the same if they differ by this share: searches within a term are not exact to the last digit."""


@dataclass(frozen=True, eq=False)
class ObjectiveSubject:
    """An objective in front of a network.

    Attributes:
        spec: The objective.
        given: A transformers model in double precision; None for the tiny one.
        settings: Settings that it is run with.
        batch: The texts.
    """

    spec: Spec
    given: Any
    settings: Mapping[str, object]
    batch: TrainingBatch

    @cached_property
    def model(self) -> Any:  # noqa: ANN401  a transformers model
        """The model."""
        return tiny_network() if self.given is None else self.given

    def term(self, batch: TrainingBatch | None = None) -> Tensor:
        """Compute the term; a step offers no more than the objective declares to need."""
        step = step_of(self.model, self.batch if batch is None else batch, needs=self.spec.facts["needs"])
        try:
            found: Tensor = self.spec.function(step, **self.spec.complete_settings(self.settings))
        except WhylightError as error:
            raise AssertionError(f"the term must be computed for an ordinary batch; it was refused: {error}") from error
        return found

    def value(self, batch: TrainingBatch | None = None) -> float:
        """Compute the term as a number."""
        return float(self.term(batch).detach())


def check_objective(
    objective: str | Plugin,
    *,
    model: Any = None,  # noqa: ANN401  a transformers model
    batch: TrainingBatch | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Check that an objective keeps every promise of its kind.

    Args:
        objective: Its name, or the function that is decorated with `@objective`.
        model: A sequence classifier in double precision; by default a tiny transformer with two labels.
        batch: Texts for that model, at least two of them and of different lengths.
        settings: Settings to run it with.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    name = objective if isinstance(objective, str) else objective.__name__
    run_checks(name, objective_checks(objective, model=model, batch=batch, settings=settings))


def objective_checks(
    objective: str | Plugin,
    *,
    model: Any = None,  # noqa: ANN401  as above
    batch: TrainingBatch | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Named]:
    """Yield the checks of `check_objective` one by one, as (name, function without arguments).

    Args:
        objective: As for `check_objective`.
        model: As for `check_objective`.
        batch: As for `check_objective`.
        settings: As for `check_objective`.
    """
    own = made_up_batch() if batch is None else batch
    return checks_of(OBJECTIVE_CHECKS, ObjectiveSubject(registered(OBJECTIVES, objective), model, settings or {}, own))


def the_term_is_one_finite_number(subject: ObjectiveSubject) -> None:
    """Which the terms of a loss are added up from."""
    term = subject.term()
    promise(isinstance(term, Tensor) and term.ndim == 0, f"a term must be a tensor without dimensions, not {term!r}.")
    promise(torch.isfinite(term), f"a term must be a finite number, not {float(term.detach())}.")


def the_model_can_learn_from_it(subject: ObjectiveSubject) -> None:
    """The gradient of the term reaches the parameters."""
    parameters = [one for one in subject.model.parameters() if one.requires_grad]
    term = subject.term()
    promise(term.requires_grad, "a term must be differentiable; no gradient can be taken of it.")
    slopes = [one for one in torch.autograd.grad(term, parameters, allow_unused=True) if one is not None]
    promise(any(bool(one.any()) for one in slopes), "the gradient of a term must reach the model; it is 0 everywhere.")
    promise(all(bool(torch.isfinite(one).all()) for one in slopes), "the gradient of a term must be finite.")


def the_same_step_gives_the_same_number(subject: ObjectiveSubject) -> None:
    """Without dropout nothing is left to chance."""
    first, second = subject.value(), subject.value()
    promise(first == second, f"the same step must give the same number, not {first} and {second}.")


def it_is_a_mean_over_examples(subject: ObjectiveSubject) -> None:
    """A batch that holds every text twice gives the same term: learning does not depend on the size of batches."""
    once, twice = subject.value(), subject.value(_doubled(subject.batch))
    promise(
        _terms_alike(once, twice), f"a batch with every text twice must give the same term; {once:g} became {twice:g}."
    )


def padding_does_not_matter(subject: ObjectiveSubject) -> None:
    """Nor does how long the longest text of the batch is."""
    plain, wider = subject.value(), subject.value(padded(subject.batch, 3))
    promise(_terms_alike(plain, wider), f"more padding must not change the term; {plain:g} became {wider:g}.")


def a_batch_without_evidence_gives_a_finite_number(subject: ObjectiveSubject) -> None:
    """Most texts of most data sets have no rationale."""
    found = subject.value(replace(subject.batch, evidence=torch.zeros_like(subject.batch.evidence)))
    promise(abs(found) < float("inf"), f"without evidence the term must be a finite number, not {found}.")


def the_model_and_the_batch_are_left_as_they_were(subject: ObjectiveSubject) -> None:
    """Gradients are for the trainer to take."""
    before, ids = snapshot(subject.model), [_bytes(subject.batch)]
    subject.term()
    changed = changed_parts(before, snapshot(subject.model))
    promise(not changed, f"a term must leave the model and the process as they were; changed: {', '.join(changed)}.")
    promise([_bytes(subject.batch)] == ids, "a term must not change the batch; it did.")


def _doubled(batch: TrainingBatch) -> TrainingBatch:
    count = len(batch.ids)
    return TrainingBatch(
        ids=torch.cat([batch.ids] * 2),
        mask=torch.cat([batch.mask] * 2),
        content=torch.cat([batch.content] * 2),
        labels=torch.cat([batch.labels] * 2),
        pair_example=torch.cat([batch.pair_example, batch.pair_example + count]),
        pair_label=torch.cat([batch.pair_label] * 2),
        evidence=torch.cat([batch.evidence] * 2),
        types=None if batch.types is None else torch.cat([batch.types] * 2),
    )


def _bytes(batch: TrainingBatch) -> bytes:
    tensors = (batch.ids, batch.mask, batch.content, batch.labels, batch.pair_example, batch.pair_label, batch.evidence)
    return b"".join(one.numpy().tobytes() for one in tensors)


def _terms_alike(first: float, second: float) -> bool:
    return abs(first - second) <= EXACT * max(1e-3, abs(first))


OBJECTIVE_CHECKS: tuple[Check[ObjectiveSubject], ...] = (
    *DECLARED,
    Check(the_term_is_one_finite_number),
    Check(the_model_can_learn_from_it),
    Check(the_same_step_gives_the_same_number),
    Check(it_is_a_mean_over_examples),
    Check(padding_does_not_matter),
    Check(a_batch_without_evidence_gives_a_finite_number),
    Check(the_model_and_the_batch_are_left_as_they_were),
)
