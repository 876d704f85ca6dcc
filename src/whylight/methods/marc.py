"""MaRC: the mask that keeps the class, leaves nothing of it behind, and is sparse and smooth; found by optimisation.

    lambda_j = sigmoid( sum over i of  w_i exp(-d(i, j)^2 / sigma_i) )                        how far j is present
    loss = - s(x~) - log(1 - exp s(x~c)) + a (mean of lambda)^2 - b mean of log sigma         a, b: weights

x~ keeps the share lambda of each feature over a background, x~c the rest of it; s is the log-likelihood of the target
(`--score log_sigmoid` for what speaks for a class whatever speaks for others, `log_mixture` for both). Every feature
has a weight w and a width sigma: wide ones pull their neighbours along, so that marked features come in spans. In each
step noise is added, and some features are set to 0 or to 1. The score of a feature is its lambda when the mask has
settled.

Equation 8 of the paper adds log p(x~c), which has no lower bound and so ends in a complement that is only ever more
unlike the class; `complement="log"` is that form, the default is the published code's. `kernel="sigma_squared"` is the
published text code's, in which the same start is wider. The paper's noise of 0.03 is added to what BERT's embedding
module gives out; here it is added to word embeddings, so that the model adds positions once, and is a share of their
spread: 0.06 of it, about what 0.03 is of that. Words are flipped whole, and have one w and one sigma over all pieces.
Each window of a long text has an objective of its own; windows and texts are optimised in common batches, which those
that have settled leave. A mask settles when its mean hardly moves between two checks, by the published rule.
`pace=10` takes steps ten times as long, and a tenth as many: it reaches the objective at which the paper's pace settles
about ten times sooner, by a way of its own; with `pace=3` masks differ about as much as those of two seeds do.
Reference: Brinner and Zarriess 2023. Cost: 2 forward and 2 backward passes per target and step, at most `steps` steps,
and one forward pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from whylight.core import progress
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._pull import Pull
from whylight.views.gradient import Baseline
from whylight.views.joint import answers_together, fits
from whylight.views.soft import SoftGame

Complement = Literal["log_one_minus", "log", "none"]
Kernel = Literal["sigma", "sigma_squared"]
Background = Literal["pad_first", "pad", "mask", "unk", "zero", "blur", "mean", "black", "white"]
FIRST: tuple[Baseline, ...] = ("pad", "mask", "unk", "neutral", "blur")
START_WEIGHT, START_SIGMA = 1.2, 2.0
LEAST_SIGMA = 1e-3
"""The penalty keeps sigma above 0, unless a step is longer than the way to it."""
ROWS = 2
"""Of a target: what the mask keeps, and the rest."""
SMALL_MASK, SMALL_CHANGE, EARLY_CHECKS, EARLY_MASK, LARGEST_MASK = 0.2, 2.5, 3, 0.3, 0.45
"""The published rule: a small mask may change 2.5 times as much, only a small one settles early, a large one never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is minimised, and how; the settings of `marc`."""

    sparsity: float
    smoothness: float
    complement: Complement
    noise: float
    flips: float
    kernel: Kernel
    steps: int
    rate: float
    check_every: int
    tolerance: float
    pace: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse numbers that nothing can be optimised with."""
        for name in ("sparsity", "smoothness", "noise", "tolerance"):
            if getattr(self, name) < 0:
                raise SettingError(f"the setting '{name}' must be 0 or more, not {getattr(self, name):g}.")
        if not 0 <= self.flips <= 1:
            raise SettingError(f"the setting 'flips' must lie between 0 and 1, not {self.flips:g}.")
        for name in ("steps", "check_every"):
            if getattr(self, name) < 1:
                raise SettingError(f"the setting '{name}' must be at least 1, not {getattr(self, name)}.")
        for name in ("rate", "pace"):
            if getattr(self, name) <= 0:
                raise SettingError(f"the setting '{name}' must be above 0, not {getattr(self, name):g}.")

    @property
    def most_steps(self) -> int:
        """Steps at this pace."""
        return max(1, math.ceil(self.steps / self.pace))

    @property
    def between_checks(self) -> int:
        """Steps between two checks at this pace."""
        return max(1, round(self.check_every / self.pace))


@method(
    cite="brinner2023",
    signed=False,
    cost="≤ 1,801 forward, 1,800 backward",
    good_for="few, connected spans such as people mark, where time is no matter",
    scores=("log_probability", "log_sigmoid", "log_mixture"),
    alone=True,
)
def marc(  # noqa: PLR0913  the weights and numbers of an optimisation, each with its default
    games: Sequence[SoftGame],
    *,
    sparsity: float = 1.0,
    smoothness: float = 1.2,
    complement: Complement = "log_one_minus",
    noise: float = 0.06,
    flips: float = 0.05,
    kernel: Kernel = "sigma",
    background: Background = "pad_first",
    steps: int = 900,
    rate: float = 0.03,
    check_every: int = 50,
    tolerance: float = 0.005,
    pace: float = 1.0,
    seed: int = 0,
) -> list[Scores]:
    """Optimise a mask that keeps what the class needs, and leaves nothing of it in the rest."""
    asked = _Asked(
        sparsity=sparsity,
        smoothness=smoothness,
        complement=complement,
        noise=noise,
        flips=flips,
        kernel=kernel,
        steps=steps,
        rate=rate,
        check_every=check_every,
        tolerance=tolerance,
        pace=pace,
        seed=seed,
    )
    masks = [_masks(game, asked, background) for game in games]
    interrupted = _optimise([mask for own in masks for mask in own], asked)
    return [_found_masks(own, interrupted=interrupted) for own in masks]


class _Mask:
    """The mask of one target in one game.

    Args:
        game: The game.
        target: Which of its targets.
        background: What stands for nothing.
        asked: What is minimised.
    """

    def __init__(self, game: SoftGame, target: int, *, background: Baseline, asked: _Asked) -> None:
        self.game, self.target, self.background = game, target, background
        self._asked = asked
        inputs = game.view.inputs
        self._pull = Pull(game.positions, inputs)
        self._weight = inputs.new_full((game.n_features,), START_WEIGHT).requires_grad_()
        self._sigma = inputs.new_full((game.n_features,), START_SIGMA).requires_grad_()
        self._optimiser = torch.optim.Adam([self._weight, self._sigma], lr=asked.rate * asked.pace)
        # its own: the draws are the same whoever shares the batch
        self._generator = torch.Generator().manual_seed(asked.seed % 2**63)
        self._spread = float(inputs[game.view.positions.content].std(correction=0)) * asked.noise
        self.done, self.settled, self._last_mean = 0, False, 1.0

    def values(self) -> Tensor:
        """Return how far each feature is present, `[features]`."""
        width = self._sigma if self._asked.kernel == "sigma" else self._sigma.square()
        return self._pull(self._weight, width).sigmoid()

    def points(self, values: Tensor) -> Tensor:
        """Return what is kept and the rest, with noise, `[2, positions, dims]`."""
        kept = self._flipped(values)
        points = self.game.points(torch.stack([kept, 1 - kept]), background=self.background)
        if not self._spread:
            return points
        noise = torch.randn(points.shape, generator=self._generator, dtype=points.dtype).to(points.device)
        return points + self._spread * noise * self.game.view.positions.content[:, None]

    def loss(self, values: Tensor, scores: Tensor) -> Tensor:
        """Return the loss of a mask, from the scores of what it keeps and of the rest, `[2]`."""
        kept, rest = scores.double().unbind()
        terms = -kept + self._asked.sparsity * values.mean().square()
        if self._asked.complement == "log":
            terms = terms + rest
        elif self._asked.complement == "log_one_minus":
            terms = terms - (-torch.expm1(rest.clamp(max=-1e-12))).log()
        roughness: Tensor = -self._sigma.log().mean()
        return terms + self._asked.smoothness * roughness

    def step(self) -> None:
        """Follow the gradient, and see whether the mask has settled."""
        self._optimiser.step()
        self._optimiser.zero_grad()
        with torch.no_grad():
            self._sigma.clamp_(min=LEAST_SIGMA)
        self.done += 1
        self.game.view.meter.backward += ROWS
        if self.done % self._asked.between_checks == 0:
            self._check()

    @torch.no_grad()
    def _check(self) -> None:
        mean = float(self.values().mean())
        change, self._last_mean = abs(self._last_mean - mean), mean
        allowed = self._asked.tolerance * (SMALL_CHANGE if mean < SMALL_MASK else 1)
        late = self.done > EARLY_CHECKS * self._asked.between_checks or mean < EARLY_MASK
        self.settled = change < allowed and late and mean < LARGEST_MASK

    def _flipped(self, values: Tensor) -> Tensor:
        """Set some features to 0 and as many to 1; what both happens to stays, and what is set passes no gradient."""
        if not self._asked.flips:
            return values
        drawn = torch.rand((2, len(values)), generator=self._generator) < self._asked.flips
        to_none, to_all = drawn.to(values.device)
        set_to_none = values.masked_fill(to_none & ~to_all, 0.0)
        return set_to_none.masked_fill(to_all & ~to_none, 1.0)


def _masks(game: SoftGame, asked: _Asked, background: Background) -> list[_Mask]:
    """Return a mask for each target of a game, before the first step."""
    chosen = game.first_background(*FIRST) if background == "pad_first" else background
    n_targets = len(game.view.score(game.view.inputs))
    return [_Mask(game, target, background=chosen, asked=asked) for target in range(n_targets)]


def _optimise(masks: Sequence[_Mask], asked: _Asked) -> bool:
    """Optimise masks, as many at a time as fit into a batch, the longest first; say whether Ctrl-C ended it early."""
    waiting = sorted(masks, key=lambda mask: -len(mask.game.view.inputs))[::-1]  # the next one is the last
    progress.expect(ROWS * asked.most_steps * len(masks))
    active: list[_Mask] = []
    try:
        while waiting or active:
            while waiting and fits([mask.game.view for mask in (*active, waiting[-1])], ROWS):
                active.append(waiting.pop())
            _step(active)
            for mask in active:
                if mask.settled:
                    progress.expect(-ROWS * (asked.most_steps - mask.done))
            active = [mask for mask in active if not mask.settled and mask.done < asked.most_steps]
    except KeyboardInterrupt:
        return True
    return False


def _step(masks: Sequence[_Mask]) -> None:
    """Take one step with every mask; one pass of the network, forward and backward, serves all of them."""
    with torch.enable_grad():
        values = [mask.values() for mask in masks]
        points = [mask.points(own) for mask, own in zip(masks, values, strict=True)]
        scores = answers_together([mask.game.view for mask in masks], points)
        losses = [
            mask.loss(own, answer[:, mask.target]) for mask, own, answer in zip(masks, values, scores, strict=True)
        ]
        torch.autograd.backward(losses)
    for mask in masks:
        mask.step()
    progress.tell("loss", float(torch.stack(losses).detach().mean()))
    progress.advance(ROWS * len(masks))


def _found_masks(masks: Sequence[_Mask], *, interrupted: bool) -> Scores:
    """Return the masks of a game, one row per target."""
    with torch.no_grad():
        values = np.stack([mask.values().double().cpu().numpy() for mask in masks])
    restless = [mask for mask in masks if not mask.settled]
    stopped = interrupted and bool(restless)
    done = min((mask.done for mask in restless), default=0)
    notes = []
    if stopped:
        notes.append(f"interrupted after {done} steps: the mask had not settled")
    elif restless:
        notes.append(f"the mask had not settled after {done} steps")
    return Scores(values, notes=tuple(notes), resolved={"background": masks[0].background}, interrupted=stopped)
