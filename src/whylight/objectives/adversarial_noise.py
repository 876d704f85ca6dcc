"""Adversarial noise (PGD): be right also where noise is worst.

    delta = argmax loss(X + delta) over |delta_i| <= eps,  L = mean over examples of loss(X + delta)

delta starts from zeros and climbs in evaluation mode, on the model as it is; the term itself is taken in training mode.
The noise is added to the word embeddings of real tokens. Each example climbs by

    delta <- clip(best + step sign(d loss / d delta), -eps, eps)

from the best noise that it found so far. The first step reaches a corner of the cube, as FGSM's only one does; where
the loss falls, the step is halved. The climb is over where the slope promises less than 1 % of the rise so far anywhere
in the cube. Noise of the published size needs two passes, noise as large as the embeddings all that `steps` allows.

`published=True` climbs as the paper does, by Adam at 0.1 on Z in delta = eps tanh(Z), for exactly `steps` steps: 3 come
to 29 % of eps and 5 to 46 %, and raise the loss by that share of what FGSM does. (The published code stops after some
three of them, starts from noise that tanh and eps shrink to about 1e-10, adds the noise after the embedding LayerNorm
and then rounds to bfloat16, where 97-99 % of it disappears.)
Reference: Edin et al. 2024, equation 5; Madry et al. 2018. Cost: at most `steps` + 2 passes more, all with a backward.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.core.registry import objective
from whylight.views.step import Step, example_losses

FIRST = 2.0
"""Length of the first step in eps: from wherever the climb stands, it reaches a corner."""
SHORTEST = 1 / 32
"""An example is done when its step is shorter, ..."""
CALM = 0.01
"""... or when its slope promises less than this share of its rise."""
RATE = 0.1
"""Of Adam, in the paper's climb."""
ROUNDED = 4.0
"""A loss that falls by so many units in the last place of the logits has not fallen: noise may be smaller than that."""

Losses = Callable[[Tensor], Tensor]
"""Loss of each example under a noise."""


@objective(cite="edin2024", weight=0.5)
def adversarial_noise(step: Step, *, epsilon: float = 1e-5, steps: int = 20, published: bool = False) -> Tensor:
    """Learn the labels under the worst small noise on the word embeddings."""
    noise = worst_noise(step, epsilon=epsilon, steps=steps, published=published)
    passed = step.network.run(step.batch, train=step.training, change=lambda embeddings: embeddings + noise)
    return example_losses(passed.logits, step.batch.labels).mean()


def worst_noise(step: Step, *, epsilon: float, steps: int, published: bool = False) -> Tensor:
    """Return the noise that raises the loss most, laid out as embeddings are; how far it does goes into the figures."""
    if epsilon <= 0 or steps < 1:
        raise SettingError(f"noise needs an epsilon above 0 and at least one step, not {epsilon:g} and {steps}.")
    shape = step.passed.embeddings
    real = step.network.to_rows(step.batch, step.batch.mask.long())[..., None].to(shape.dtype)

    def losses(noise: Tensor) -> Tensor:
        change = lambda embeddings: embeddings.detach() + real * noise  # noqa: E731  one expression, used once
        return example_losses(step.network.run(step.batch, train=False, change=change).logits, step.batch.labels)

    start = torch.zeros_like(shape)
    with torch.enable_grad():
        if published:
            noise, taken = _by_adam(losses, start, epsilon=epsilon, steps=steps), steps
        else:
            climb = _Climb(
                losses, step.passed.row_example, epsilon, ROUNDED * torch.finfo(step.passed.logits.dtype).eps
            )
            noise, taken = climb.by_signs(start, steps)
    with torch.no_grad():
        step.figures["loss_rise"] = float((losses(noise) - losses(start)).mean())
    step.figures["noise_steps"] = float(taken)
    return real * noise


@dataclass(frozen=True, slots=True, eq=False)
class _Climb:
    """What stays the same while noise is looked for; `resolution` is relative to the loss."""

    losses: Losses
    owner: Tensor  # the example of each row
    epsilon: float
    resolution: float

    def by_signs(self, start: Tensor, steps: int) -> tuple[Tensor, int]:
        """Climb by signs of the gradient, each example at its own step; return the noise and the steps taken."""
        best = start
        slopes, lowest = _slopes(self.losses, start)
        highest, length = lowest, torch.full_like(lowest, FIRST)
        for number in range(steps):
            way = (length * self.epsilon)[self.owner][:, None, None] * slopes.sign()
            noise = (best + way).clamp(-self.epsilon, self.epsilon)
            new_slopes, found = _slopes(self.losses, noise)
            kept = found > highest - self.resolution * lowest
            taken = kept[self.owner][:, None, None]
            best, slopes = torch.where(taken, noise, best), torch.where(taken, new_slopes, slopes)
            highest = torch.maximum(highest, found)
            length = torch.where(kept, length, length / 2)
            if bool(((length < SHORTEST) | (self._promised(slopes, best) <= CALM * (highest - lowest))).all()):
                return best, number + 1
        return best, steps

    def _promised(self, slopes: Tensor, noise: Tensor) -> Tensor:
        """Return the rise of each example that the slope promises, at the corner that it points to."""
        left = (self.epsilon * slopes.abs() - slopes * noise).sum((1, 2))
        return torch.zeros(int(self.owner.max()) + 1, dtype=left.dtype, device=left.device).index_add(
            0, self.owner, left
        )


def _by_adam(losses: Losses, start: Tensor, *, epsilon: float, steps: int) -> Tensor:
    """Climb as published: Adam on the inside of a tanh."""
    climb = start.clone().requires_grad_()
    optimiser = torch.optim.Adam([climb], lr=RATE, maximize=True)
    for _ in range(steps):
        (climb.grad,) = torch.autograd.grad(losses(epsilon * climb.tanh()).mean(), climb)
        optimiser.step()
    return epsilon * climb.detach().tanh()


def _slopes(losses: Losses, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Return slopes and losses at a noise; examples do not depend on each other."""
    here = noise.detach().requires_grad_()
    found = losses(here)
    return torch.autograd.grad(found.sum(), here)[0], found.detach()
