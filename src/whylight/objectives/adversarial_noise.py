"""Adversarial noise (PGD): be right also where noise is worst.

    delta = eps tanh(Z),  Z = argmax loss(X + delta),  L = mean over examples of loss(X + delta)

Z starts from zeros and climbs by Adam, in evaluation mode, on the model as it is; the term itself is taken in training
mode. The noise is added to the word embeddings of real tokens.

The published code starts from noise that tanh and eps shrink to about 1e-10, stops after some three steps, adds the
noise after the embedding LayerNorm and then rounds to bfloat16, where 97-99 % of it disappears.
Reference: Edin et al. 2024, equation 5; Madry et al. 2018. Cost: `steps` + 2 passes more, most with a backward.
"""

import torch
from torch import Tensor

from whylight.core.registry import objective
from whylight.views.step import Step, example_losses


@objective(cite="edin2024", weight=0.5)
def adversarial_noise(step: Step, *, epsilon: float = 1e-5, steps: int = 5, rate: float = 0.1) -> Tensor:
    """Learn the labels under the worst small noise on the word embeddings."""
    noise = worst_noise(step, epsilon=epsilon, steps=steps, rate=rate)
    passed = step.network.run(step.batch, train=step.training, change=lambda embeddings: embeddings + noise)
    return example_losses(passed.logits, step.batch.labels).mean()


def worst_noise(step: Step, *, epsilon: float, steps: int, rate: float) -> Tensor:
    """Return the noise that raises the loss most, laid out as embeddings are; how far it does goes into the figures."""
    shape = step.passed.embeddings
    real = step.network.to_rows(step.batch, step.batch.mask.long())[..., None].to(shape.dtype)
    climb = torch.zeros_like(shape, requires_grad=True)
    optimiser = torch.optim.Adam([climb], lr=rate, maximize=True)
    losses = []
    with torch.enable_grad():
        for _ in range(steps):
            loss = _noisy_loss(step, epsilon * climb.tanh() * real)
            (climb.grad,) = torch.autograd.grad(loss, climb)
            optimiser.step()
            losses.append(loss.detach())
    noise = epsilon * climb.detach().tanh() * real
    if losses:
        with torch.no_grad():
            step.figures["loss_rise"] = float(_noisy_loss(step, noise) - losses[0])  # the first one is without noise
    return noise


def _noisy_loss(step: Step, noise: Tensor) -> Tensor:
    passed = step.network.run(step.batch, train=False, change=lambda embeddings: embeddings.detach() + noise)
    return example_losses(passed.logits, step.batch.labels).mean()
