"""Work that takes long or much memory: said beforehand, refused on request, and bounded whatever the text."""

import subprocess
import sys
import threading
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import quick
import whylight as wl
from whylight.cli.main import app
from whylight.core import limits, progress
from whylight.core.arrays import Bools, Floats
from whylight.core.errors import LimitError, SettingError, WhylightError
from whylight.core.estimate import Estimate, duration
from whylight.core.memory import in_bytes, peak_megabytes
from whylight.explaining.bar import progress_bar
from whylight.methods import _regression
from whylight.methods.lime import lime
from whylight.methods.occlusion import occlusion
from whylight.methods.shapley_sampling import shapley_sampling
from whylight.views import game as views
from whylight.views.game import Game

TEXT = " ".join(f"word{number}" for number in range(40))
"""Words that differ: a callable is asked for each distinct text once."""
EACH = 0.004


def slow(seconds_a_text: float = EACH) -> Any:
    """A callable whose speed is known."""

    def function(texts: list[str]) -> Floats:
        time.sleep(seconds_a_text * len(texts))
        share = np.asarray([0.5 + 0.001 * (len(text) % 400) for text in texts])
        return np.stack([1 - share, share], axis=1)

    return wl.load(function, labels=["no", "yes"])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def estimate(plan: list[tuple[str, int]], clock: Clock, **bounds: Any) -> tuple[Estimate, list[str]]:
    said: list[str] = []
    with limits.limited(clock=clock, **bounds) as found:
        return Estimate(plan, found, say=said.append), said


# the estimate


def test_an_estimate_from_the_first_batches_is_what_it_takes() -> None:
    clock = Clock()
    one, _ = estimate([("", 1)] * 3, clock)
    one.step()
    one.expect(100)
    clock.now = 5.0  # the first batch warms up
    one.advance(10)
    clock.now = 6.0
    one.advance(10)
    total, more = one.seconds(clock.now)
    first = 6.0 + 8 * 1.0
    assert (total, more) == (pytest.approx(3 * first), True)  # the first may have more steps than it knows of


def test_what_is_done_between_two_calls_of_the_model_is_not_counted_for_every_step() -> None:
    clock = Clock()
    one, _ = estimate([("", 1)], clock)
    one.step()
    one.expect(1)
    clock.now = 1.0
    one.advance(1)
    clock.now = 20.0  # texts are made before they go through the model
    one.expect(100)
    clock.now = 21.0
    one.advance(10)
    assert one.seconds(clock.now) == (pytest.approx(21.0 + 9.0), False)


def test_texts_to_come_count_by_their_length_and_their_method() -> None:
    clock = Clock()
    one, _ = estimate([("fast", 10), ("slow", 10), ("fast", 30), ("slow", 30)], clock)
    one.step()
    clock.now = 1.0
    one.step()
    assert one.seconds(clock.now) == (pytest.approx(1.0 + 3.0), True)  # nobody has seen the slow one
    clock.now = 11.0
    one.step()
    assert one.seconds(clock.now) == (pytest.approx(11.0 + 30.0 + 0.0), False)


def test_blocks_that_are_to_come_are_part_of_the_estimate() -> None:
    clock = Clock()
    one, _ = estimate([("", 1)], clock)
    one.step()
    with progress.listening(one), progress.blocks(4) as begin:
        for number in range(2):
            begin()
            progress.expect(10)
            for _ in range(2):
                clock.now += 1.0
                progress.advance(5)
            assert one.seconds(clock.now)[0] == pytest.approx(8.0), number


def test_long_work_is_announced_once_and_short_work_never() -> None:
    clock = Clock()
    one, said = estimate([("", 1)], clock)
    one.step()
    one.expect(10_000)
    for _ in range(5):
        clock.now += 1.0
        one.advance(10)
    assert said == [
        "this takes about 17 min; stop it with Ctrl-C, or bound it with a budget (--budget SECONDS; budget= in Python)."
    ]
    short, nothing = estimate([("", 1)], clock)
    short.step()
    short.expect(50)
    for _ in range(5):
        clock.now += 1.0
        short.advance(10)
    assert nothing == []


def test_an_item_that_has_only_begun_is_a_lower_bound_for_those_to_come() -> None:
    """As in an evaluation, where the steps of a text's second method are not known while its first one is at work."""
    clock = Clock()
    one, said = estimate([("", 10)] * 100, clock)
    one.step()
    one.expect(2)
    clock.now += 2.0
    one.advance(2)
    assert one.seconds(clock.now) == (pytest.approx(200.0), True)
    assert said == []
    one.expect(8)
    clock.now += 8.0
    one.advance(8)
    one.step()
    assert one.seconds(clock.now) == (pytest.approx(10.0 + 98 * 10.0), False)
    assert [sentence.split(";")[0] for sentence in said] == ["this takes about 16 min"]


@pytest.mark.parametrize(("seconds", "text"), [(0.25, "0.25 s"), (40, "40 s"), (600, "10 min"), (10_800, "3.0 h")])
def test_times_are_told_as_people_tell_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# the budget


def test_a_budget_refuses_what_takes_longer_and_says_how_long_within_a_factor_of_two() -> None:
    truth = 2000 * EACH
    started = time.monotonic()
    with pytest.raises(LimitError, match="this takes about") as refused:
        wl.explain(slow(), TEXT, method="lime", samples=2000, budget=3.0, progress=False)
    assert time.monotonic() - started < 0.6 * truth
    told = float(str(refused.value).split("about ")[1].split(" s")[0])
    assert truth / 2 < told < truth * 2


def test_work_within_its_budget_is_done_as_without_one() -> None:
    text = TEXT
    bounded = wl.explain(slow(), text, method="occlusion", budget=60, max_memory="64GB", progress=False)
    np.testing.assert_array_equal(bounded.scores, wl.explain(slow(0), text, method="occlusion").scores)


def test_a_budget_is_of_all_texts_together() -> None:
    texts = [TEXT] * 30
    with pytest.raises(LimitError, match="the budget is 2 s"):
        wl.explain(slow(), texts, method="occlusion", budget=2.0, progress=False)


def test_a_budget_in_one_thread_is_no_other_threads_concern() -> None:
    done: list[Any] = []

    def work() -> None:
        done.append(wl.explain(slow(), TEXT, method="lime", samples=600, progress=False))

    thread = threading.Thread(target=work)
    thread.start()
    with pytest.raises(LimitError):
        wl.explain(slow(), TEXT, method="lime", samples=2000, budget=1.5, progress=False)
    thread.join()
    assert len(done) == 1


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_none_is_refused(budget: float) -> None:
    with pytest.raises(SettingError, match="the budget must be above 0 seconds"):
        wl.explain(slow(0), "a film", method="occlusion", budget=budget)


def test_bounds_inside_bounds_are_the_tighter_ones() -> None:
    clock = Clock()
    with limits.limited(budget=10, max_memory="2GB", clock=clock):
        clock.now = 4.0
        with limits.limited(budget=100, max_memory="3GB", clock=clock) as inside:
            assert inside.started + (inside.seconds or 0) == 10.0
            assert inside.memory == 2 * 2**30
        with limits.limited(budget=1, clock=clock) as inside:
            assert inside.started + (inside.seconds or 0) == 5.0
    assert limits.current().seconds is None


def test_the_command_line_refuses_with_one_sentence_and_writes_nothing(tmp_path: Any) -> None:
    out = tmp_path / "note.html"
    text = " ".join(["a gripping film"] * 60)
    call = ["explain", text, "--method", "lime", "--set", "samples=100000", "--budget", "1", "--format", "html"]
    result = CliRunner().invoke(app, [*call, "--out", str(out)])
    assert isinstance(result.exception, WhylightError)
    assert result.exception.exit_code == 2
    assert "the budget is 1 s" in str(result.exception)
    assert not out.exists()


# memory


def test_memory_that_is_claimed_beyond_what_is_allowed_is_refused_before_it_is_taken() -> None:
    with limits.limited(max_memory="500MB"):
        limits.claim(400 * 2**20, "this")
        with pytest.raises(LimitError, match=r"this needs about 1.0GB of memory, and 500MB are allowed"):
            limits.claim(2**30, "this")
    with pytest.raises(LimitError, match="are free"):
        limits.claim(2**60, "this")


def test_a_process_that_has_grown_too_large_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylight.core.estimate.LOOK_EVERY", 0.0)
    with pytest.raises(LimitError, match="10MB are allowed"):
        wl.explain(slow(0.01), TEXT, method="lime", samples=300, max_memory="10MB", progress=False)


@pytest.mark.parametrize("text", ["4", "4 apples", "-1GB", "0GB", ""])
def test_an_amount_of_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="'max_memory' takes an amount such as"):
        wl.explain(slow(0), "a film", method="occlusion", max_memory=text)
    assert in_bytes("1.5 gb") == 3 * 2**29


def counted(n: int, *, blocks: list[int]) -> Game:
    """A game of which the score is the sum of the features' numbers; it writes down how large its blocks are."""
    weight = np.arange(n)  # whole numbers, so that sums are exact in any order

    def value(keep: Bools) -> Floats:
        blocks.append(keep.nbytes)
        return (keep @ weight)[:, None]

    return Game(value, n_features=n)


@pytest.mark.parametrize("method", [occlusion, shapley_sampling, lime])
def test_methods_give_the_same_in_blocks_as_at_once(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def values(blocks: list[int]) -> Any:
        found = method(counted(30, blocks=blocks))
        return getattr(found, "values", found)

    whole = values([])
    monkeypatch.setattr(views, "BLOCK_BYTES", 200)
    blocks: list[int] = []
    np.testing.assert_array_equal(values(blocks), whole)
    if method is not lime:
        assert max(blocks) <= 200


def test_curves_are_the_same_in_blocks_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.classifier("bert")
    explanation = wl.explain(clf, quick.TEXT, method="occlusion", target="all")
    whole = wl.measure(clf, explanation, metric="deletion_auc")
    monkeypatch.setattr(views, "BLOCK_BYTES", 200)
    np.testing.assert_allclose(wl.measure(clf, explanation, metric="deletion_auc"), whole, atol=1e-6)


@pytest.mark.parametrize("n", [20_000])
@pytest.mark.parametrize("window", [1, 5_000])
def test_the_memory_of_occlusion_does_not_grow_with_the_square_of_the_words(n: int, window: int) -> None:
    """All its coalitions together would be 300 or 400 MB, and the words of all wide windows 600."""
    blocks: list[int] = []
    tracemalloc.start()
    game = counted(n, blocks=blocks)
    game._value = lambda keep: blocks.append(keep.nbytes) or np.zeros((len(keep), 1))  # type: ignore[func-returns-value]
    occlusion(game, window=window)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(blocks) <= views.BLOCK_BYTES
    assert peak < 4 * views.BLOCK_BYTES < n * n


def test_a_ridge_regression_by_samples_is_the_one_by_features(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    keep = generator.random((50, 300)) < 0.7
    values, weights = generator.normal(size=(50, 2)), generator.random(50)
    expected = _regression.ridge(keep, values, weights, alpha=1.0)
    monkeypatch.setattr(_regression, "LONG", 100)
    monkeypatch.setattr(_regression, "SAMPLES_AT_ONCE", 64)
    np.testing.assert_allclose(_regression.ridge(keep, values, weights, alpha=1.0), expected, atol=1e-10)


def test_a_regression_that_would_not_fit_is_refused_in_a_sentence() -> None:
    with limits.limited(max_memory="1GB"), pytest.raises(LimitError, match=r"of memory, and 1\.0GB are allowed"):
        wl.explain(slow(0), "word " * 20_000, method="kernel_shap", progress=False)


def test_a_bar_that_nobody_sees_still_bounds() -> None:
    with limits.limited(budget=0.05), progress_bar(2, shown=False) as step:
        step("one")
        time.sleep(0.1)
        with pytest.raises(LimitError, match=r"the budget is 0\.05 s"):
            step("two")


def test_the_peak_of_a_process_is_its_own_and_not_that_of_who_started_it() -> None:
    own = bytearray(2**28)
    said = "from whylight.core.memory import peak_megabytes; print(peak_megabytes())"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)  # noqa: S603
    peak = peak_megabytes()
    assert peak is not None
    assert peak > len(own) / 2**20
    assert float(found.stdout) < 200
