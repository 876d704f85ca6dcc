"""The best-of-n control: what a method gains from being measured on the best of several maps.

A method that picks the best of its maps on the metric that is reported (fAML does, of ten) is compared with methods
that have one. The control gives any method the same chance: its map and n - 1 perturbations of it, Gaussian noise on
the scores, and each faithfulness metric takes the best of them. The noise is as large as makes the median Kendall tau
between the map and its perturbations equal to `tau`, which is to be that of the maps that the other method picks from.
Reference: the objection is our own, to Barkan et al. 2024. Cost: n times the passes of the metrics.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import kendalltau

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import JsonValue, Settings
from whylight.core.registry import Spec
from whylight.views.game import Game

DEFAULT_TAU = 0.9
HALVINGS = 20
WIDEST = 64.0
"""Spreads of the scores: noise of this size leaves nothing of an order."""


@dataclass(frozen=True, slots=True)
class Control:
    """How many maps there are to choose from, and how alike they are.

    Attributes:
        maps: The map itself, and its perturbations.
        tau: Median Kendall tau between the map and its perturbations.
    """

    maps: int
    tau: float = DEFAULT_TAU

    def __post_init__(self) -> None:
        if self.maps < 2:  # noqa: PLR2004  one is no choice
            raise SettingError(f"the control 'best-of' needs at least 2 maps, not {self.maps}.")
        if not 0 < self.tau < 1:
            raise SettingError(f"the 'tau' of a control must lie between 0 and 1, not {self.tau:g}.")

    @classmethod
    def parse(cls, text: str) -> "Control":
        """Read `best-of=10` or `best-of=10,tau=0.8`."""
        parts = dict(part.partition("=")[::2] for part in text.split(","))
        try:
            maps, tau = int(parts.pop("best-of")), float(parts.pop("tau", DEFAULT_TAU))
        except (KeyError, ValueError):
            parts = {text: ""}
        if parts:
            raise SettingError(f"a control is best-of=10 or best-of=10,tau=0.9, not '{text}'.")
        return cls(maps, tau)

    @property
    def asked(self) -> dict[str, JsonValue]:
        """What a run folder must know of it."""
        return {"maps": self.maps, "tau": self.tau}

    def name(self, method: str) -> str:
        """Return what tables call a method under this control."""
        return f"{method} best-of-{self.maps}"


def candidates(one: Explanation, control: Control) -> list[Explanation]:
    """Return an explanation of one target and its perturbations, the explanation first."""
    about = f"{one.example.key}\0{one.provenance.method}\0{one.targets[0].index}"
    generator = np.random.default_rng(zlib.crc32(about.encode(errors="surrogatepass")))
    row = one.scores[0]
    draws = generator.standard_normal((control.maps - 1, len(row)))
    size = noise_size(row, draws, control.tau)
    return [one, *(replace(one, scores=(row + size * draw)[None]) for draw in draws)]


def noise_size(row: Floats, draws: Floats, tau: float) -> float:
    """Return how large noise has to be for the median Kendall tau to a row of scores to fall to `tau`."""
    spread = float(row.std())
    if not spread:  # there is no order that noise could change a little
        return 0.0
    low, high = 0.0, WIDEST * spread
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        alike = np.median([kendalltau(row, row + middle * draw).statistic for draw in draws])
        low, high = (middle, high) if alike > tau else (low, middle)
    return (low + high) / 2


def controlled(one: Explanation, control: Control) -> Explanation:
    """Return the explanation as the one that stands for its control, named and noted."""
    note = (
        f"each faithfulness metric is the best of {control.maps} maps: this one and perturbations of it "
        f"(median Kendall tau {control.tau:g})"
    )
    receipt = replace(one.provenance, method=control.name(one.provenance.method), notes=(*one.provenance.notes, note))
    return replace(one, provenance=receipt)


def best_value(maps: Sequence[Explanation], game: Game, spec: Spec, settings: Settings) -> float:
    """Return the best value of a metric over maps of one target."""
    values = [float(spec.function(one, game, **settings)[0]) for one in maps]
    best = np.fmax if spec.facts["higher_is_better"] else np.fmin  # a map without a value is not chosen
    return float(best.reduce(values))
