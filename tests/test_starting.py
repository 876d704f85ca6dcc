"""The command line starts without pauses, and afterwards garbage is collected as ever."""

import gc
from collections.abc import Iterator

import pytest

from whylight.cli.starting import without_pauses


class Knot:
    """An object that only the collector can free."""

    freed = 0

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        Knot.freed += 1


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    gc.collect()
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()
    assert gc.callbacks == callbacks


def test_the_first_collection_waits_and_what_is_there_then_is_left_alone() -> None:
    usual, before = gc.get_threshold(), gc.get_freeze_count()
    without_pauses(objects=50_000)
    collected = [one["collections"] for one in gc.get_stats()]
    kept = [[] for _ in range(20_000)]
    assert [one["collections"] for one in gc.get_stats()] == collected
    kept += [[] for _ in range(40_000)]
    assert gc.get_freeze_count() > before + 20_000
    assert gc.get_threshold() == usual
    del kept


def test_garbage_is_collected_afterwards() -> None:
    without_pauses(objects=10_000)
    kept = [[] for _ in range(20_000)]
    Knot.freed = 0
    Knot()
    kept += [[] for _ in range(20_000)]
    assert Knot.freed == 1
