"""Masks that are optimised: what is minimised, from where, and when a mask has settled.

A preset holds the published numbers for texts, for convolutional networks on pictures (`cnn`) and for vision
transformers (`vit`). They differ in what the optimisation starts from and in when it ends: a mask of a text is looked
at every fifty steps, that of a picture ends when its mean has hardly fallen for a while.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from whylight.core.errors import SettingError, unknown
from whylight.methods._pull import Pull, grid_of
from whylight.views.gradient import Baseline
from whylight.views.soft import SoftGame

Complement = Literal["log_one_minus", "log", "none"]
Kernel = Literal["sigma", "sigma_squared"]
Preset = Literal["auto", "text", "cnn", "vit"]
ROWS = 2
"""Of a background and a target: what the mask keeps, and the rest."""
SMALL_MASK, SMALL_CHANGE, EARLY_CHECKS, EARLY_MASK, LARGEST_MASK = 0.2, 2.5, 3, 0.3, 0.45
"""The published rule of texts: a small mask may change 2.5 times as much, and settle early; a large one never does."""
MEMORY, LEAST_DECREASE, FIRST_STEPS, LARGEST_PICTURE_MASK = 0.95, 2e-4, 250, 0.5
"""That of pictures: the mean's decrease per step, remembered so far, falls below this, after so many steps."""
DIMENSIONS = 2
"""Of places in a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What is minimised, and from where to where.

    Attributes:
        sparsity: Weight of the squared mean of the mask.
        smoothness: Weight of narrow kernels.
        neighbours: Weight of differences between neighbours on a grid.
        noise: Of the input, as a share of its spread.
        flips: Share of features that are set to 0, and to 1, in each step.
        steps: At most.
        weight: What every w is at first.
        sigma: What every sigma is at first.
        least_sigma: Below which none falls.
    """

    sparsity: float
    smoothness: float
    neighbours: float
    noise: float
    flips: float
    steps: int
    weight: float
    sigma: float
    least_sigma: float

    def __post_init__(self) -> None:
        """Refuse numbers that nothing can be optimised with."""
        for name in ("sparsity", "smoothness", "neighbours", "noise"):
            if getattr(self, name) < 0:
                raise SettingError(f"the setting '{name}' must be 0 or more, not {getattr(self, name):g}.")
        if not 0 <= self.flips <= 1:
            raise SettingError(f"the setting 'flips' must lie between 0 and 1, not {self.flips:g}.")
        if self.steps < 1:
            raise SettingError(f"the setting 'steps' must be at least 1, not {self.steps}.")


TEXT = Numbers(
    sparsity=1.0,
    smoothness=1.2,
    neighbours=0.0,
    noise=0.06,
    flips=0.05,
    steps=900,
    weight=1.2,
    sigma=2.0,
    # the penalty keeps sigma above 0, unless a step is longer than the way to it
    least_sigma=1e-3,
)
CNN = Numbers(
    sparsity=0.6,
    smoothness=1.2,
    neighbours=10.0,
    noise=0.0,
    flips=0.0,
    steps=7500,
    weight=0.5,
    sigma=1.2,
    least_sigma=0.6,
)
VIT = Numbers(**{**asdict(CNN), "sparsity": 0.25})
PRESETS: Mapping[str, Numbers] = {"text": TEXT, "cnn": CNN, "vit": VIT}
BACKGROUNDS: Mapping[str, tuple[Baseline, ...]] = {"cnn": ("white", "black", "mean"), "vit": ("blur",)}
"""What is averaged over; of a text, the first that there is."""
FIRST: tuple[Baseline, ...] = ("pad", "mask", "unk", "neutral")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How masks are optimised.

    Attributes:
        preset: What the numbers are for where none is given; `auto` takes those of the input.
        given: Numbers that a user gives, by name.
        background: Backgrounds, with commas between them, or None for those of the preset.
        complement: What the rest is to be.
        kernel: What sigma is.
        rate: Of Adam.
        check_every: Steps between two looks at a mask of a text.
        tolerance: How little its mean moves in between when it has settled.
        pace: How many steps are taken as one.
        seed: Of noise and flips.
    """

    preset: Preset
    given: Mapping[str, float | int | None]
    background: str | None
    complement: Complement
    kernel: Kernel
    rate: float
    check_every: int
    tolerance: float
    pace: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse numbers that nothing can be optimised with."""
        if self.preset not in get_args(Preset):
            raise unknown("preset", self.preset, get_args(Preset))
        if self.tolerance < 0:
            raise SettingError(f"the setting 'tolerance' must be 0 or more, not {self.tolerance:g}.")
        if self.check_every < 1:
            raise SettingError(f"the setting 'check_every' must be at least 1, not {self.check_every}.")
        for name in ("rate", "pace"):
            if getattr(self, name) <= 0:
                raise SettingError(f"the setting '{name}' must be above 0, not {getattr(self, name):g}.")

    @property
    def between_checks(self) -> int:
        """Steps between two checks at this pace."""
        return max(1, round(self.check_every / self.pace))

    def preset_of(self, game: SoftGame) -> str:
        """Return the preset for a game: that of pictures, where places have rows and columns."""
        if self.preset != "auto":
            return self.preset
        return "cnn" if game.positions.shape[1] == DIMENSIONS else "text"

    def numbers_of(self, game: SoftGame) -> Numbers:
        """Return what is minimised in a game."""
        known = {name: value for name, value in self.given.items() if value is not None}
        on_a_grid = grid_of(game.positions) is not None
        if known.get("neighbours") and not on_a_grid:
            raise SettingError("the setting 'neighbours' is for features on a grid, as pixels and patches are.")
        preset = asdict(PRESETS[self.preset_of(game)])
        return Numbers(**{**preset, "neighbours": preset["neighbours"] * on_a_grid, **known})

    def backgrounds_of(self, game: SoftGame) -> tuple[Baseline, ...]:
        """Return the backgrounds that a game is played over."""
        if self.background is not None:
            names = tuple(name.strip() for name in self.background.split(",") if name.strip())
            for name in names:
                game.background(name)  # type: ignore[arg-type]  # refused, if there is none of that name
            if not names:
                raise SettingError("the setting 'background' names no background.")
            return names  # type: ignore[return-value]
        own = BACKGROUNDS.get(self.preset_of(game))
        return own if own is not None else (game.first_background(*FIRST),)


class Mask:
    """The mask of one target in one game.

    Args:
        game: The game.
        target: Which of its targets.
        asked: How it is optimised.
    """

    def __init__(self, game: SoftGame, target: int, asked: Asked) -> None:
        self.game, self.target = game, target
        self.backgrounds, self.numbers = asked.backgrounds_of(game), asked.numbers_of(game)
        self._asked = asked
        inputs = game.view.inputs
        self._pull, self._grid = Pull(game.positions, inputs), grid_of(game.positions)
        self._weight = inputs.new_full((game.n_features,), self.numbers.weight).requires_grad_()
        self.sigma = inputs.new_full((game.n_features,), self.numbers.sigma).requires_grad_()
        self._optimiser = torch.optim.Adam([self._weight, self.sigma], lr=asked.rate * asked.pace)
        # its own: the draws are the same whoever shares the batch
        self._generator = torch.Generator().manual_seed(asked.seed % 2**63)
        self._spread = float(inputs[game.view.positions.content].std(correction=0)) * self.numbers.noise
        self._values: Tensor | None = None
        self.done, self.settled, self._last_mean, self._decrease = 0, False, 1.0, 1.0
        self._check = self._check_text if asked.preset_of(game) == "text" else self._check_picture

    @property
    def rows(self) -> int:
        """Rows that a step asks about."""
        return ROWS * len(self.backgrounds)

    @property
    def most_steps(self) -> int:
        """Steps at this pace."""
        return max(1, math.ceil(self.numbers.steps / self._asked.pace))

    def values(self) -> Tensor:
        """Return how far each feature is present, `[features]`; worked out once in a step."""
        if self._values is None:
            width = self.sigma if self._asked.kernel == "sigma" else self.sigma.square()
            with torch.enable_grad():
                self._values = self._pull(self._weight, width).sigmoid()
        return self._values

    def points(self, values: Tensor) -> Tensor:
        """Return what is kept and the rest over each background, with noise, `[rows, positions, dims]`."""
        kept = self._flipped(values)
        both = torch.stack([kept, 1 - kept])
        points = torch.cat([self.game.points(both, background=one) for one in self.backgrounds])
        if not self._spread:
            return points
        noise = torch.randn(points.shape, generator=self._generator, dtype=points.dtype).to(points.device)
        return points + self._spread * noise * self.game.view.positions.content[:, None]

    def loss(self, values: Tensor, scores: Tensor) -> Tensor:
        """Return the loss of a mask, from scores of what it keeps and of the rest over each background, `[rows]`."""
        kept, rest = scores.double().reshape(-1, ROWS).unbind(1)
        terms = -kept
        if self._asked.complement == "log":
            terms = terms + rest
        elif self._asked.complement == "log_one_minus":
            terms = terms - (-torch.expm1(rest.clamp(max=-1e-12))).log()
        total: Tensor = terms.mean() + self.numbers.sparsity * values.mean().square()
        total = total - self.numbers.smoothness * self.sigma.log().mean()
        return total + self.numbers.neighbours * self._unevenness(values) if self.numbers.neighbours else total

    def step(self) -> None:
        """Follow the gradient, and see whether the mask has settled."""
        self._optimiser.step()
        self._optimiser.zero_grad()
        with torch.no_grad():
            self.sigma.clamp_(min=self.numbers.least_sigma)
        self._values = None
        self.done += 1
        self.game.view.meter.backward += self.rows
        self._check()

    @torch.no_grad()
    def _check_text(self) -> None:
        if self.done % self._asked.between_checks:
            return
        mean = float(self.values().mean())
        change, self._last_mean = abs(self._last_mean - mean), mean
        allowed = self._asked.tolerance * (SMALL_CHANGE if mean < SMALL_MASK else 1)
        late = self.done > EARLY_CHECKS * self._asked.between_checks or mean < EARLY_MASK
        self.settled = change < allowed and late and mean < LARGEST_MASK

    @torch.no_grad()
    def _check_picture(self) -> None:
        mean = float(self.values().mean())
        kept = MEMORY**self._asked.pace
        self._decrease = kept * self._decrease + (1 - kept) * (self._last_mean - mean) / self._asked.pace
        self._last_mean = mean
        late = self.done >= FIRST_STEPS / self._asked.pace
        self.settled = self._decrease < LEAST_DECREASE and late and mean < LARGEST_PICTURE_MASK

    def _unevenness(self, values: Tensor) -> Tensor:
        """Return squared differences to neighbours to the right, below, and across, added up per feature."""
        field = values.reshape(self._grid or (1, -1))
        pairs: Sequence[tuple[Tensor, Tensor]] = (
            (field[:, 1:], field[:, :-1]),
            (field[1:], field[:-1]),
            (field[1:, 1:], field[:-1, :-1]),
            (field[1:, :-1], field[:-1, 1:]),
        )
        return torch.stack([(one - other).square().sum() for one, other in pairs]).sum() / len(values)

    def _flipped(self, values: Tensor) -> Tensor:
        """Set some features to 0 and as many to 1; what both happens to stays, and what is set passes no gradient."""
        if not self.numbers.flips:
            return values
        drawn = torch.rand((2, len(values)), generator=self._generator) < self.numbers.flips
        to_none, to_all = drawn.to(values.device)
        set_to_none = values.masked_fill(to_none & ~to_all, 0.0)
        return set_to_none.masked_fill(to_all & ~to_none, 1.0)
