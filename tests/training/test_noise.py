"""Adversarial noise: within its bound, and as bad as the worst that a longer climb finds."""

from typing import Any

import numpy as np
import pytest
import stage
import torch
from test_objectives import ARCHITECTURES, value
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.objectives.adversarial_noise import worst_noise
from whylight.views.step import Step, example_losses


def losses(step: Step, noise: Tensor) -> Tensor:
    passed = step.network.run(step.batch, train=False, change=lambda embeddings: embeddings + noise)
    return example_losses(passed.logits, step.batch.labels)


def climbed(step: Step, *, epsilon: float, rate: float, steps: int) -> float:
    """How far signed gradient steps raise the loss: FGSM's one of size 1, or a patient reference of many small ones."""
    real = step.network.to_rows(step.batch, step.batch.mask.long())[..., None]
    noise = torch.zeros_like(step.passed.embeddings)
    found = [0.0]
    for _ in range(steps):
        here = noise.detach().requires_grad_()
        (slopes,) = torch.autograd.grad(losses(step, here).mean(), here)
        noise = (noise + rate * epsilon * slopes.sign()).clamp(-epsilon, epsilon) * real
        found.append(float((losses(step, noise) - losses(step, torch.zeros_like(noise))).mean().detach()))
    return max(found)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_noise_stays_within_its_bound_and_raises_the_loss(architecture: str) -> None:
    step = stage.step(architecture)
    noise = worst_noise(step, epsilon=1e-3, steps=20)
    assert 0 < float(noise.abs().max()) <= 1e-3
    padding = ~step.network.to_rows(step.batch, step.batch.mask.long()).bool()
    assert not noise[padding].any()
    plain, noisy = (float(losses(step, one).mean().detach()) for one in (torch.zeros_like(noise), noise))
    assert step.figures["loss_rise"] == pytest.approx(noisy - plain, rel=1e-6)
    assert float(value(step, "adversarial_noise", epsilon=1e-3).detach()) == pytest.approx(noisy, rel=1e-6)
    assert step.figures["noise_steps"] <= 2  # small noise is found at once


@pytest.mark.parametrize(
    "architecture", ["bert", *(pytest.param(one, marks=pytest.mark.slow) for one in ARCHITECTURES if one != "bert")]
)
@pytest.mark.parametrize(  # weights of these networks are drawn at 0.02
    "epsilon", [1e-5, 0.3, *(pytest.param(size, marks=pytest.mark.slow) for size in (3e-3, 3e-2))]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_the_noise_is_as_bad_as_that_of_one_big_step_and_of_fifty_small_ones(
    architecture: str, epsilon: float, seed: int
) -> None:
    step = stage.step(architecture, seed=seed)
    worst_noise(step, epsilon=epsilon, steps=50)
    assert step.figures["loss_rise"] >= 0.95 * climbed(step, epsilon=epsilon, rate=1.0, steps=1)
    assert step.figures["loss_rise"] >= 0.95 * climbed(step, epsilon=epsilon, rate=0.1, steps=50)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_noise_too_small_to_be_seen_in_the_loss_is_still_the_worst(architecture: str) -> None:
    step = stage.step(architecture, double=False)
    noise = worst_noise(step, epsilon=1e-9, steps=20)  # float32 does not tell the losses apart
    real = step.network.to_rows(step.batch, step.batch.mask.long()).bool()
    here = torch.zeros_like(noise).requires_grad_()
    (slopes,) = torch.autograd.grad(losses(step, here).mean(), here)
    clear = real[..., None] & (slopes.abs() > 1e-3 * slopes.abs().max())
    assert bool((noise[clear] == 1e-9 * slopes[clear].sign()).all())


def test_the_published_climb_stays_as_it_was() -> None:
    step = stage.step()
    for steps, reached in ((3, np.tanh(0.3)), (5, np.tanh(0.5))):
        noise = worst_noise(step, epsilon=1e-5, steps=steps, published=True)
        assert float(noise.abs().max()) == pytest.approx(1e-5 * reached, rel=0.05)
        assert step.figures["loss_rise"] < 0.5 * climbed(step, epsilon=1e-5, rate=1.0, steps=1)


@pytest.mark.parametrize("settings", [{"epsilon": 0.0, "steps": 5}, {"epsilon": 1e-3, "steps": 0}])
def test_noise_that_is_none_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="epsilon above 0 and at least one step"):
        worst_noise(stage.step(), **settings)
