"""Putting terms together: weights, bounds and the multiplier."""

from itertools import pairwise
from typing import Any

import pytest
import stage
import torch

from whylight.core.errors import SettingError
from whylight.training.combine import Multiplier, loss_of
from whylight.training.recipe import Recipe, check_recipe, make_terms


def recipe(*objectives: str, combine: Any = "joint", **numbers: Any) -> Recipe:
    return Recipe(terms=make_terms(objectives, {}, combine=combine), combine=combine, **numbers)


def test_joint_is_the_weighted_sum() -> None:
    loss = loss_of(stage.step(), recipe("rationale_attention=3", "input_gradient_penalty=0.5"))
    values = loss.values
    expected = values["classification"] + 3 * values["rationale_attention"] + 0.5 * values["input_gradient_penalty"]
    assert float(loss.total.detach()) == pytest.approx(expected)
    assert loss.labels == pytest.approx(values["classification"])
    assert loss.labels + loss.rest == pytest.approx(expected)


def test_a_weight_of_zero_is_no_term_at_all() -> None:
    step = stage.step(attention=False)  # nothing records attention: the term would fail if it were computed
    asked = recipe("rationale_attention=0")
    assert asked.needs == frozenset()
    with_it, without = loss_of(step, asked), loss_of(step, recipe())
    assert torch.equal(with_it.total, without.total)
    assert with_it.values == without.values


def test_the_multiplier_rises_while_the_bound_is_broken_and_falls_after() -> None:
    multiplier = Multiplier(rate=0.1)
    values = [multiplier.value]
    for excess in [0.5] * 20 + [-0.5] * 100:
        multiplier.climb(excess)
        values.append(multiplier.value)
    assert values[0] == 1.0
    assert all(a < b for a, b in pairwise(values[:21]))
    assert all(a >= b for a, b in pairwise(values[20:]))
    assert values[-1] == 0.0


def test_the_multiplier_climbs_as_rmsprop_does() -> None:
    parameter = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    optimiser = torch.optim.RMSprop([parameter], lr=0.1, maximize=True)
    multiplier = Multiplier(rate=0.1)
    for excess in (0.3, -0.1, 0.2, 0.05):
        parameter.grad = torch.tensor(excess, dtype=torch.float64)
        optimiser.step()
        multiplier.climb(excess)
        assert multiplier.value == pytest.approx(float(parameter.detach()))
    again = Multiplier(**multiplier.state()["args"])
    assert (again.value, again.square) == (multiplier.value, multiplier.square)


def test_a_constraint_weighs_the_excess_over_the_bound() -> None:
    asked = recipe("rationale_attention", combine="constrained", bound_train=0.01, bound_validation=0.01)
    loss = loss_of(stage.step(), asked, multiplier=2.0)
    assert float(loss.total.detach()) == pytest.approx(loss.labels + 2 * (loss.rest - 0.01))


def test_trained_alone_there_are_no_labels() -> None:
    loss = loss_of(stage.step(), recipe("rationale_attention", combine="alone"))
    assert loss.labels == 0
    assert float(loss.total.detach()) == pytest.approx(loss.rest)


@pytest.mark.parametrize(
    ("sentence", "ask"),
    [
        ("unknown objective", lambda: recipe("rationale_atention")),
        ("must be a number", lambda: recipe("rationale_attention=much")),
        ("0 or more", lambda: recipe("rationale_attention=-1")),
        ("both teach the labels", lambda: recipe("classification", "token_masking")),
        ("needs an objective besides", lambda: recipe(combine="constrained")),
        ("needs an objective besides", lambda: recipe("classification", combine="alone")),
        ("--bound-train and --bound-val", lambda: check_recipe(recipe("rationale_attention", combine="constrained"))),
        ("'epochs' must be above 0", lambda: check_recipe(recipe(epochs=0))),
        ("cannot be cut", lambda: check_recipe(recipe(batch_size=8, micro_batch=3))),
        ("unknown way to combine", lambda: recipe("rationale_attention", combine="jointly")),
        ("unknown setting", lambda: make_terms(["adversarial_noise"], {"eps": 1}, combine="joint")),
    ],
)
def test_what_makes_no_training_is_refused_in_one_sentence(sentence: str, ask: Any) -> None:
    with pytest.raises(SettingError, match=sentence):
        ask()


def test_masking_replaces_the_labels_of_the_data() -> None:
    assert [term.name for term in recipe("token_masking").terms] == ["token_masking"]
    assert [term.name for term in recipe("adversarial_noise").terms] == ["classification", "adversarial_noise"]
    assert recipe("adversarial_noise").terms[1].weight == 0.5
