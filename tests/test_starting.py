"""The command line starts without pauses, and afterwards garbage is collected as ever. Each in a process of its own."""

import subprocess
import sys

BEGIN = """
import gc

from whylight.cli.starting import without_pauses

usual = gc.get_threshold()
def collections():
    return [one["collections"] for one in gc.get_stats()]
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_the_first_collection_waits_and_what_is_there_then_is_left_alone() -> None:
    run("""
without_pauses(objects=50_000)
before = collections()
kept = [[] for _ in range(20_000)]
assert collections() == before
kept += [[] for _ in range(40_000)]
assert gc.get_freeze_count() > 20_000
assert gc.get_threshold() == usual
assert not gc.callbacks
""")


def test_garbage_is_collected_afterwards() -> None:
    run("""
freed = []
class Knot:
    def __init__(self):
        self.own = self
    def __del__(self):
        freed.append(1)

without_pauses(objects=10_000)
kept = [[] for _ in range(20_000)]
Knot()
kept += [[] for _ in range(20_000)]
assert freed == [1]
""")


def test_a_second_call_does_nothing() -> None:
    run("""
without_pauses(objects=10_000)
without_pauses(objects=10_000)
assert len(gc.callbacks) == 1
kept = [[] for _ in range(20_000)]
without_pauses(objects=10_000)
assert gc.get_threshold() == usual
assert not gc.callbacks
""")
