"""The table of retrained models: differences are paired by seed, and a verdict is given only where it is clear."""

import numpy as np
import pytest
from scipy import stats

from whylight.core.errors import InputError
from whylight.study.retrained import UNTOUCHED, Retrained, Roar, RoarComparison, compare_retrained, over_seeds

LIME, RANDOM = {0: 0.70, 1: 0.75, 2: 0.71, 3: 0.74}, {0: 0.80, 1: 0.84, 2: 0.82, 3: 0.83}


def table(**accuracies: dict[int, float]) -> Roar:
    untouched = [Retrained(UNTOUCHED, 0.0, seed, 0.9) for seed in LIME]
    others = [Retrained(name, 0.1, seed, one) for name, own in accuracies.items() for seed, one in own.items()]
    return Roar((*untouched, *others))


def compared(first: dict[int, float], second: dict[int, float]) -> RoarComparison:
    return compare_retrained(first, second, share=0.1, names=("lime", "random"))


def test_differences_are_taken_seed_by_seed() -> None:
    one = compared(LIME, dict(reversed(RANDOM.items())))
    differences = np.asarray([-0.10, -0.09, -0.11, -0.09])
    mean, deviation = -0.0975, np.sqrt(np.sum((differences + 0.0975) ** 2) / 3)
    half = 3.182446305 * deviation / 2  # t of 3 degrees of freedom
    assert (one.difference.mean, one.difference.low, one.difference.high) == pytest.approx(
        (mean, mean - half, mean + half)
    )
    assert one.difference.seeds == 4
    assert one.p_value == pytest.approx(stats.ttest_ind(list(LIME.values()), list(RANDOM.values())).pvalue)
    assert one.standing == "better"  # a lower accuracy: what was removed mattered more
    assert compared(RANDOM, LIME).standing == "worse"


def test_seeds_that_only_one_has_are_left_out() -> None:
    assert compared({**LIME, 9: 0.0}, RANDOM) == compared(LIME, {7: 1.0, **RANDOM})
    with pytest.raises(InputError, match="'lime' and 'random' have no seed in common"):
        compared({9: 0.0}, RANDOM)


def test_nothing_is_told_from_an_interval_with_0_or_from_few_seeds() -> None:
    noisy = {0: 0.70, 1: 0.90, 2: 0.70, 3: 0.90}
    assert compared(noisy, RANDOM).standing == "cannot tell"
    alike = compared({0: 0.7, 1: 0.8, 2: 0.9}, {0: 0.74, 1: 0.85, 2: 0.95})  # by chance: they vary far more than that
    assert alike.difference.high is not None
    assert alike.difference.high < 0
    assert alike.standing == "cannot tell"
    two = compared({0: 0.5, 1: 0.5}, {0: 0.9, 1: 0.9})  # no spread at all, by chance
    assert (two.difference.low, two.difference.high, two.standing) == (-0.4, -0.4, "cannot tell")
    one = compared({0: 0.5}, {0: 0.9})
    assert (one.difference.low, one.difference.high, one.p_value, one.standing) == (None, None, None, "cannot tell")
    same = compared(dict.fromkeys(LIME, 0.5), dict.fromkeys(LIME, 0.5))
    assert (same.difference.mean, same.p_value, same.standing) == (0.0, None, "cannot tell")


def test_the_interval_of_a_mean_is_students() -> None:
    values = list(LIME.values())
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    found = over_seeds(values)
    assert (found.mean, found.low, found.high, found.seeds) == pytest.approx((np.mean(values), low, high, 4))


def test_every_two_methods_are_compared_at_every_share_and_random_comes_second() -> None:
    found = table(random=RANDOM, lime=LIME, alti=LIME)
    pairs = [(one.share, one.first, one.second) for one in found.comparisons]
    assert pairs == [(0.1, "lime", "alti"), (0.1, "lime", "random"), (0.1, "alti", "random")]
    assert [(line.method, line.share, line.accuracy.seeds) for line in found.lines] == [
        (UNTOUCHED, 0.0, 4),
        ("random", 0.1, 4),
        ("lime", 0.1, 4),
        ("alti", 0.1, 4),
    ]


def test_records_are_flat_and_hold_everything() -> None:
    found = table(lime=LIME, random=RANDOM)
    records = found.records()
    assert [one["table"] for one in records] == ["trainings"] * 12 + ["means"] * 3 + ["comparisons"]
    assert len({tuple(one) for one in records}) == 1  # the same columns, for a spreadsheet
    assert (
        records[5] | {"table": "trainings", "method": "lime", "share": 0.1, "seed": 1, "accuracy": 0.75} == records[5]
    )
    assert records[-1]["standing"] == "better"
    assert records[-1]["mean"] == pytest.approx(-0.0975)
