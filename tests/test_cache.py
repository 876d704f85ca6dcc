"""What a case remembers: bounded in bytes, and the least recently used goes first."""

import numpy as np

import quick
from whylight.core.text import Text
from whylight.explaining import provide
from whylight.explaining.case import open_case
from whylight.perturb.binding import bound
from whylight.views.cache import Answer, BoundedCache


def answer(size: int) -> Answer:
    return Answer(np.zeros(size), 0.5)


def test_the_least_recently_used_is_forgotten_beyond_the_limit() -> None:
    cache = BoundedCache(limit=3 * 8)
    cache.update({b"a": answer(1), b"b": answer(1), b"c": answer(1)})
    cache[b"a"] = cache[b"a"]  # whoever uses an answer puts it in again
    cache.update({b"d": answer(1)})
    assert list(cache) == [b"c", b"a", b"d"]
    assert cache.size == 24


def test_an_answer_that_is_replaced_counts_once() -> None:
    cache = BoundedCache(limit=100)
    cache[b"a"] = answer(3)
    cache[b"a"] = answer(5)
    assert (cache.size, len(cache)) == (40, 1)
    cache.clear()
    assert (cache.size, len(cache)) == (0, 0)


def test_one_answer_is_kept_however_large() -> None:
    cache = BoundedCache(limit=8)
    cache[b"a"] = answer(100)
    assert cache[b"a"].values.nbytes == 800
    cache[b"b"] = answer(1)
    assert list(cache) == [b"b"]


def test_a_case_remembers_within_bounds_and_forgetting_changes_nothing() -> None:
    clf = quick.classifier("bert")
    case = open_case(clf, Text(quick.TEXT))
    assert isinstance(case.cache, BoundedCache)
    keep = ~np.eye(10, dtype=bool)
    expected = provide.game(case, quick.request(clf), bound("mask"))(keep)
    case.cache.limit = 1
    np.testing.assert_allclose(provide.game(case, quick.request(clf), bound("unk"))(keep).shape, expected.shape)
    np.testing.assert_allclose(provide.game(case, quick.request(clf), bound("mask"))(keep), expected, atol=1e-6)
    assert len(case.cache) == 1
