"""Adversarial noise (PGD): be right also where noise is worst.

    delta = argmax loss(X + delta) over |delta_i| <= eps,  L = mean over examples of loss(X + delta)

delta starts from zeros and climbs in evaluation mode, on the model as it is; the term itself is taken in training mode.
The noise is added to the word embeddings of real tokens. Each example climbs by

    delta <- clip(delta + 0.75 step sign(d loss / d delta) + 0.25 (delta - delta before), -eps, eps)

The first step reaches a corner of the cube, as FGSM's only one does. Where that is not the end, the climb starts anew
with a step of a quarter of eps; where the loss falls, it goes back to the best noise so far and the step is halved. The
climb is over where the slope promises less than 1 % of the rise so far anywhere in the cube. Noise of the published
size needs two passes, noise as large as the embeddings all that `steps` allows.

`published=True` climbs as the paper does, by Adam at 0.1 on Z in delta = eps tanh(Z), for exactly `steps` steps: 3 come
to 29 % of eps and 5 to 46 %, and raise the loss by that share of what FGSM does. (The published code stops after some
three of them, starts from noise that tanh and eps shrink to about 1e-10, adds the noise after the embedding LayerNorm
and then rounds to bfloat16, where 97-99 % of it disappears.)
Reference: Edin et al. 2024, equation 5; Madry et al. 2018; momentum and halved steps: Croce and Hein 2020.
Cost: at most `steps` + 3 passes more, all but two with a backward.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.core.registry import objective
from whylight.views.step import Step, example_losses

FIRST, SECOND = 2.0, 0.25
"""Lengths of the first two steps in eps: the first reaches a corner from anywhere."""
MOMENTUM = 0.75
"""Share of a step that is new; the rest is the step before."""
SHORTEST = 1 / 256
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
def adversarial_noise(step: Step, *, epsilon: float = 1e-5, steps: int = 50, published: bool = False) -> Tensor:
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


class _Point(NamedTuple):
    """A noise, the slopes there, and the loss of each example."""

    noise: Tensor
    slopes: Tensor
    losses: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class _Climb:
    """What stays the same while noise is looked for; `resolution` is relative to the loss."""

    losses: Losses
    owner: Tensor  # the example of each row
    epsilon: float
    resolution: float

    def by_signs(self, start: Tensor, steps: int) -> tuple[Tensor, int]:
        """Climb by signs of the gradient, each example at its own step; return the noise and the steps taken."""
        first = self._at(start)
        corner = self._at(self._ahead(first, start, torch.full_like(first.losses, FIRST), momentum=False))
        if steps == 1 or bool(self._calm(corner, first.losses).all()):
            return self._higher(corner, first, first.losses).noise, 1
        slow, taken = self._slowly(first, steps - 1)
        return self._higher(corner, slow, first.losses).noise, taken + 1

    def _slowly(self, first: "_Point", steps: int) -> tuple["_Point", int]:
        """Climb with momentum; where the loss falls, go back to the best noise so far and halve the step."""
        best, here, before = first, first, first.noise
        length = torch.full_like(first.losses, SECOND)
        for number in range(steps):
            tried = self._at(self._ahead(here, before, length, momentum=number > 0))
            up = tried.losses > best.losses
            best = self._higher(tried, best, first.losses)
            before = torch.where(self._rows(up), here.noise, best.noise)
            here = best
            length = torch.where(up, length, length / 2)
            if bool((self._calm(best, first.losses) | (length < SHORTEST)).all()):
                return best, number + 1
        return best, steps

    def _higher(self, one: "_Point", other: "_Point", lowest: Tensor) -> "_Point":
        """Take the one for every example whose loss it does not lower by more than rounding, else the other."""
        up = one.losses > other.losses - self.resolution * lowest
        rows = self._rows(up)
        return _Point(
            torch.where(rows, one.noise, other.noise),
            torch.where(rows, one.slopes, other.slopes),
            torch.where(up, torch.maximum(one.losses, other.losses), other.losses),
        )

    def _calm(self, point: "_Point", lowest: Tensor) -> Tensor:
        """Say of each example whether the slope promises next to nothing more."""
        return self._promised(point.slopes, point.noise) <= CALM * (point.losses - lowest)

    def _ahead(self, here: "_Point", before: Tensor, length: Tensor, *, momentum: bool) -> Tensor:
        """Return where a step leads; with momentum, part of it is the step before."""
        way = self._rows(length * self.epsilon) * here.slopes.sign()
        aim = (here.noise + way).clamp(-self.epsilon, self.epsilon)
        if not momentum:
            return aim
        kept = here.noise + MOMENTUM * (aim - here.noise) + (1 - MOMENTUM) * (here.noise - before)
        return kept.clamp(-self.epsilon, self.epsilon)

    def _at(self, noise: Tensor) -> "_Point":
        return _Point(noise, *_slopes(self.losses, noise))

    def _rows(self, each: Tensor) -> Tensor:
        """Give each row of the noise what belongs to its example."""
        return each[self.owner][:, None, None]

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
