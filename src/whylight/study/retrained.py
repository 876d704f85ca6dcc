"""What retraining gave: one accuracy per method, share of words and seed, and what can be told from them.

    mean over seeds +- t(0.975, seeds - 1) x standard deviation / sqrt(seeds)

for accuracies, and for differences of two methods, which are taken seed by seed: both start from the same head and
draw alike. A lower accuracy is better, because what was removed mattered more. One method is better than another where
the interval of the difference leaves out 0 and the two-sample t-test of Pham et al. 2022 (Student's, unpaired) gives
p < `CLEAR`: a few seeds may differ alike by chance, and accuracies on few texts come in coarse steps. Intervals are
over seeds: they leave out the luck of the validation texts, which all methods share. They are Student's, because a
bootstrap over so few values is too narrow.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.errors import InputError
from whylight.core.series import Series
from whylight.run.compare import CLEAR, Standing
from whylight.store.tables import RANDOM, Row

UNTOUCHED = "untouched"
"""What stands for a method where nothing is removed."""
FEWEST_SEEDS = 3
"""Seeds below which nothing is clear: two may agree by chance, and then have no spread at all."""
LEVEL = 0.975


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A mean over seeds, its 95 % interval (None of one seed), and how many seeds it is of."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class Retrained:
    """One training.

    Attributes:
        method: Whose most important words were removed; `untouched` where none were.
        share: Share of the words, 0 where none were removed.
        seed: Seed of the training.
        accuracy: On the validation texts, of which the same words were removed.
    """

    method: str
    share: float
    seed: int
    accuracy: float


@dataclass(frozen=True, slots=True)
class RoarLine:
    """Accuracy of one method at one share, over seeds."""

    method: str
    share: float
    accuracy: SeedMean


@dataclass(frozen=True, slots=True)
class RoarComparison:
    """Two methods at one share.

    Attributes:
        share: Share of the words.
        first: A method.
        second: Another.
        difference: Accuracy of the first minus that of the second, seed by seed.
        p_value: Of a two-sample t-test; None where nothing varies, or of one seed.
    """

    share: float
    first: str
    second: str
    difference: SeedMean
    p_value: float | None

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def standing(self) -> Standing:
        """How the first stands to the second; a lower accuracy is better."""
        low, high = self.difference.low, self.difference.high
        if self.difference.seeds < FEWEST_SEEDS or self.p_value is None or self.p_value >= CLEAR:
            return "cannot tell"
        if low is None or high is None or low <= 0 <= high:
            return "cannot tell"
        return "better" if high < 0 else "worse"

    def record(self) -> Row:
        """Return it as one flat record."""
        compared = {"method": self.first, "other": self.second, "share": self.share, **asdict(self.difference)}
        return {**compared, "p_value": self.p_value, "standing": self.standing}


class RoarComparisons(Series[RoarComparison]):
    """Several shares and methods, as a list."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Roar:
    """What remove and retrain gave.

    Attributes:
        rows: Every training: the untouched texts first, then methods in the order of the call.
        notes: What a reader of the numbers has to know.
    """

    rows: tuple[Retrained, ...]
    notes: tuple[str, ...] = ()

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def accuracies(self) -> dict[tuple[str, float], dict[int, float]]:
        """The accuracy of each seed, by method and share."""
        found: dict[tuple[str, float], dict[int, float]] = {}
        for row in self.rows:
            found.setdefault((row.method, row.share), {})[row.seed] = row.accuracy
        return found

    @property
    def lines(self) -> tuple[RoarLine, ...]:
        """Means over seeds, in the order of the rows."""
        return tuple(RoarLine(*key, over_seeds(own.values())) for key, own in self.accuracies.items())

    @property
    def comparisons(self) -> RoarComparisons:
        """Every two methods at every share; `random` comes second wherever it is one of them."""
        known = self.accuracies
        shares = dict.fromkeys(share for _, share in known if share)
        methods = sorted(dict.fromkeys(method for method, share in known if share), key=lambda name: name == RANDOM)
        return RoarComparisons(
            compare_retrained(known[first, share], known[second, share], share=share, names=(first, second))
            for share in shares
            for first, second in combinations(methods, 2)
        )

    def records(self) -> list[Row]:
        """Return every training, mean and comparison as one flat record; `table` says which it is."""
        trainings: list[Row] = [{"table": "trainings", **asdict(row)} for row in self.rows]
        means: list[Row] = [
            {"table": "means", "method": one.method, "share": one.share, **asdict(one.accuracy)} for one in self.lines
        ]
        compared: list[Row] = [{"table": "comparisons", **one.record()} for one in self.comparisons]
        names = ("table", "method", "other", "share", "seed", "accuracy", "mean", "low", "high", "seeds", "p_value")
        return [{**dict.fromkeys((*names, "standing")), **one} for one in (*trainings, *means, *compared)]


def over_seeds(values: Iterable[float]) -> SeedMean:
    """Return the mean of values and its t interval."""
    own = np.asarray(list(values), dtype=np.float64)
    mean, count = float(own.mean()), len(own)
    if count == 1:
        return SeedMean(mean, None, None, count)
    half = float(stats.t.ppf(LEVEL, count - 1)) * float(own.std(ddof=1)) / math.sqrt(count)
    return SeedMean(mean, mean - half, mean + half, count)


def compare_retrained(
    first: Mapping[int, float], second: Mapping[int, float], *, share: float, names: tuple[str, str]
) -> RoarComparison:
    """Compare two methods, of one study or of two, by the accuracies of the seeds that both have.

    Args:
        first: Accuracy by seed.
        second: Likewise.
        share: Share of the words that were removed.
        names: What the two are called.
    """
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        raise InputError(f"'{names[0]}' and '{names[1]}' have no seed in common.")
    one, other = (np.asarray([own[seed] for seed in seeds]) for own in (first, second))
    return RoarComparison(share, *names, over_seeds(one - other), _p_value(one, other))


def _p_value(first: Floats, second: Floats) -> float | None:
    """Return p of Student's test of two samples of one size."""
    if len(first) == 1:
        return None
    (mean, deviation, count), other = ((float(own.mean()), float(own.std(ddof=1)), len(own)) for own in (first, second))
    found = float(stats.ttest_ind_from_stats(mean, deviation, count, *other).pvalue)
    return None if math.isnan(found) else found
