"""Runs of a corpus: the same bytes whoever works on it, whatever dies, however it grows."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import corpus_models
import pytest
from test_parts import Killed, killing, sums

import tiny
import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.core.inputs import Noun
from whylight.core.text import Text
from whylight.data.stream import Stream, stream
from whylight.engines import crew
from whylight.engines.engine import Died, Done, Event, Ready
from whylight.explaining import explain as explaining
from whylight.report import run_page
from whylight.run import book, driving, notes, running, software, tally
from whylight.run.worker import Job, Order, Worker
from whylight.store import files, parts, runs, success, tables

SHARD = 4
TEXTS = [f"a {'very ' * (number % 3)}good film, number {number}" for number in range(14)]


def written(path: Path, texts: Sequence[str] = TEXTS) -> str:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return written(tmp_path / "texts.jsonl")


def model(function: Any = corpus_models.by_length) -> Any:
    return wl.load(function, **corpus_models.LABELS)


def run(data: Any, out: Path, function: Any = corpus_models.by_length, **given: Any) -> running.Ran:
    asked: dict[str, Any] = {"methods": ["occlusion"], "shard": SHARD, "progress": False, **given}
    return wl.run_corpus(model(function), data, out=out, **asked)


class Mortals:
    """Workers of this process that finish shards in another order, and die when the n-th file is changed."""

    def __init__(self, job: Job, classifier: Any, dies_at: Callable[[], bool]) -> None:
        self.worker, self.dies, self.held = Worker(job, classifier=classifier), dies_at, list[tuple[Hashable, Order]]()
        self.names, self.new = 0, list[Event]()

    def start(self, count: int) -> Sequence[Hashable]:
        self.names += count
        names = list(range(self.names - count, self.names))
        self.new += [Ready(name) for name in names]
        return names

    def send(self, worker: Hashable, order: Order) -> None:
        self.held.append((worker, order))

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        assert {name for name, _ in self.held} <= set(workers)
        assert seconds > 0
        if self.new:
            return [self.new.pop()]
        name, order = self.held.pop()  # the last one first
        if self.dies():
            seen: list[str] = []
            patches = list(killing(20, seen))  # after a text: who dies of the same one thrice sets it aside
            for one in patches:
                one.start()
            try:
                self.worker.work(order)
            except Killed:
                return [Died(name)]
            finally:
                for one in patches:
                    one.stop()
        return [Done(name, self.worker.work(order))]

    def stop(self, *, kindly: bool) -> None:
        assert not kindly


def with_mortals(monkeypatch: pytest.MonkeyPatch, deaths: int) -> list[Mortals]:
    """Let runs have three workers, so many of which die."""
    made: list[Mortals] = []
    left = [deaths]

    def dies() -> bool:
        left[0] -= 1
        return left[0] >= 0

    def engine(job: Job, classifier: Any) -> Mortals:
        made.append(Mortals(job, classifier, dies))
        return made[-1]

    monkeypatch.setattr(running, "here", engine)
    real = crew.Crew
    monkeypatch.setattr(driving, "Crew", lambda engine, _: real(engine, 3))
    return made


def test_the_bytes_are_the_same_whatever_the_order_and_whoever_died(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run(data, tmp_path / "one")
    assert (one.texts, one.new, one.failed) == (14, 14, 0)
    assert [len(list((tmp_path / "one" / name).iterdir())) for name in ("texts", "explanations")] == [4, 4]
    monkeypatch.setattr(book, "WRITE_EVERY", -1.0)  # so that workers die between any two texts
    for deaths in (0, 2, 5):
        with_mortals(monkeypatch, deaths)
        out = tmp_path / str(deaths)
        other = run(data, out)
        assert other.deaths == deaths
        assert other.sha256 == one.sha256
        assert sums(out) == sums(tmp_path / "one")
        assert not (out / driving.ATTEMPTS).exists()
        assert not (out / notes.WORKING).exists()


def test_what_evaluate_writes_is_what_run_writes(data: str, tmp_path: Path) -> None:
    kinds: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness"]}
    run(data, tmp_path / "run", **kinds, shard=256)
    wl.evaluate(model(), wl.dataset(data, unlabelled=True), out=tmp_path / "evaluate", progress=False, **kinds)
    one, other = (sums(tmp_path / name) for name in ("run", "evaluate"))
    assert {name: own for name, own in one.items() if name != runs.MANIFEST} == {
        name: own for name, own in other.items() if name != runs.MANIFEST
    }
    again = wl.evaluate(model(), wl.dataset(data, unlabelled=True), out=tmp_path / "run", progress=False, **kinds)
    assert len(again.scores) == 28  # and it goes on there


def test_data_that_has_grown_is_gone_on_with_and_other_data_is_refused(tmp_path: Path) -> None:
    data, out = tmp_path / "texts.jsonl", tmp_path / "run"
    first = run(written(data, TEXTS[:6]), out)
    again = run(written(data), out)
    assert (again.texts, again.new) == (14, 8)
    assert again.sha256 == run(str(data), tmp_path / "at once").sha256 != first.sha256
    manifest = runs.manifest_in(out)
    assert manifest is not None
    assert [one["sha256"] for one in manifest.grown] == [first.sha256]
    before = sums(out)
    for others in (["another film", *TEXTS[1:]], TEXTS[:13], TEXTS[:12], TEXTS[:9], TEXTS[:4]):  # also at a shard's end
        with pytest.raises(InputError, match=r"holds a run of other data: it has (another|more) text"):
            run(written(data, others), out)
    assert sums(out) == before
    assert run(written(data), out).new == 0


def test_a_folder_notes_the_software_that_made_it_and_who_mixes_versions_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    data, out = tmp_path / "texts.jsonl", tmp_path / "run"

    def made_with() -> list[str]:
        manifest = runs.manifest_in(out)
        assert manifest is not None
        return [one["torch"] for one in manifest.software]

    real = software.software()
    assert {"whylight", "torch", "transformers"} <= real.keys()
    run(written(data, TEXTS[:6]), out)
    assert run(written(data, TEXTS[:7]), out).texts == 7
    monkeypatch.setattr(software, "software", lambda: {**real, "torch": "9.9"})
    assert run(str(data), out).new == 0  # nothing is added
    assert (made_with(), capsys.readouterr().err) == ([real["torch"]], "")
    run(written(data), out)
    assert made_with() == [real["torch"], "9.9"]
    said = " ".join(capsys.readouterr().err.split())
    assert f"was begun with torch {real['torch']}, not 9.9; numbers that are added now may differ" in said
    run(str(data), out, methods=["occlusion", "random"])
    assert made_with() == [real["torch"], "9.9"]
    assert "was begun with" not in capsys.readouterr().err


def test_an_id_that_stands_twice_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    rows = [{"id": f"t{number}", "text": text} for number, text in enumerate(TEXTS * 6)]
    data, out = tmp_path / "texts.jsonl", tmp_path / "run"

    def write(own: list[dict[str, str]]) -> str:
        data.write_text("".join(json.dumps(row) + "\n" for row in own), encoding="utf-8")
        return str(data)

    with pytest.raises(InputError, match=r"line 76 of .* has the id 't3' of an earlier record"):
        run(write([*rows[:75], {**rows[75], "id": "t3"}, *rows[76:]]), out)
    assert success.read_success(out) is None
    again = run(write(rows), out)
    assert (again.texts, again.new) == (84, 12)  # the shards before that text are done
    assert again.sha256 == run(str(data), tmp_path / "at once").sha256
    twice = stream(write([*rows, {**rows[3], "text": "another"}]), drop_broken=True, unlabelled=True)
    ran = run(twice, tmp_path / "dropped")
    assert ran.texts == 84
    assert ran.left_out.startswith("1 that cannot be read (line 85 of ")


def test_another_model_method_setting_or_driver_is_refused(data: str, tmp_path: Path) -> None:
    run(data, tmp_path)
    renamed = wl.load(corpus_models.by_length, labels=["negative", "positive"], identity="another")
    with pytest.raises(InputError, match="holds another run, differing in callable name; name another folder"):
        wl.run_corpus(renamed, data, methods=["occlusion"], out=tmp_path, progress=False)
    with pytest.raises(InputError, match=r"differing in settings \(unit\)"):
        run(data, tmp_path, options=wl.Options(unit="sentence"))
    with pytest.raises(SettingError, match="have 4 texts; leave out --shard"):
        run(data, tmp_path, shard=5)
    with files.claimed(tmp_path), pytest.raises(InputError, match="another process is at work in"):
        run(data, tmp_path)


def test_a_text_that_fails_stops_nobody_and_can_be_tried_again(tmp_path: Path) -> None:
    texts = [*TEXTS[:5], "a film that FAILS", *TEXTS[5:]]
    data, out = written(tmp_path / "texts.jsonl", texts), tmp_path / "run"
    found = run(data, out, corpus_models.failing)
    assert (found.texts, found.failed) == (15, 1)
    (row,) = [row for row in _texts(out) if row["status"] == "failed"]
    assert (row["number"], row["reason"], row["explanations"]) == (5, "ValueError: there is no answer", 0)
    stored = wl.open_run(out)
    assert stored.failed == 1
    assert "1 text failed, and no figure is of it." in str(stored)
    page = run_page.run_page(out)
    assert "1 text failed, and no figure is of it" in page
    assert "is not finished" not in page
    assert run(data, out, corpus_models.failing).new == 0
    assert run(data, out, corpus_models.failing, retry_failed=True).failed == 1
    again = run(data, out, retry_failed=True)
    assert (again.failed, again.new) == (0, 1)
    assert again.sha256 == run(data, tmp_path / "at once").sha256
    assert sums(out).keys() == sums(tmp_path / "at once").keys()


def test_failed_texts_and_what_has_grown_are_worked_on_at_once(tmp_path: Path) -> None:
    texts = [*TEXTS[:5], "a film that FAILS", *TEXTS[5:]]
    data, out = tmp_path / "texts.jsonl", tmp_path / "run"
    assert run(written(data, texts[:7]), out, corpus_models.failing, retry_failed=True).failed == 1  # none is there yet
    assert len(_texts(out)) == 7
    again = run(written(data, texts), out, retry_failed=True)
    assert (again.texts, again.new, again.failed) == (15, 9, 0)
    at_once = run(str(data), tmp_path / "at once")
    assert again.sha256 == at_once.sha256
    assert sums(out).keys() == sums(tmp_path / "at once").keys()


def test_failed_texts_and_another_method_are_worked_on_at_once(tmp_path: Path) -> None:
    texts = [*TEXTS[:5], "a film that FAILS", *TEXTS[5:]]
    data, out = written(tmp_path / "texts.jsonl", texts), tmp_path / "run"
    assert run(data, out, corpus_models.failing).failed == 1
    more = run(data, out, methods=["occlusion", "random"], retry_failed=True)
    assert more.failed == 0
    rows = wl.open_run(out).explanations
    assert [(row["example_id"], row["method"]) for row in rows] == [
        (str(number), method) for number in range(1, 16) for method in ("occlusion", "random")
    ]


def test_a_kill_while_failed_texts_are_tried_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    texts = [*TEXTS[:2], "a film that FAILS", *TEXTS[2:5]]
    data, right = written(tmp_path / "texts.jsonl", texts), tmp_path / "right"
    run(data, right)
    run(data, tmp_path / "failed", corpus_models.failing)
    for place in range(1, 99, 2):
        out, seen = tmp_path / str(place), list[str]()
        shutil.copytree(tmp_path / "failed", out)
        patches = list(killing(place, seen))
        with ExitStack() as stack:
            for one in patches:
                stack.enter_context(one)
            with suppress(Killed):
                run(data, out, retry_failed=True)
        left = run(data, out, retry_failed=True)
        assert (left.texts, left.failed) == (6, 0), place
        assert sums(out).keys() == sums(right).keys(), place
        if "dead" not in seen:
            break
    assert place > 20


def _texts(folder: Path) -> list[Any]:
    return [row for path in sorted((folder / "texts").iterdir()) for row in tables.read(path, tables.TEXTS)]


def test_a_text_that_three_workers_died_of_is_set_aside(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(Mortals):
        def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
            if self.new:
                return [self.new.pop()]
            name, order = self.held[-1]
            if 5 in order.shard.numbers and 5 not in order.aside:
                self.held.pop()
                with notes.note(tmp_path / "run", order.shard.first) as note:
                    note.begin([5], new=1, failed=0)
                return [Died(name)]
            return super().wait(workers, seconds=seconds)

    monkeypatch.setattr(running, "here", lambda job, classifier: Dying(job, classifier, lambda: False))
    found = run(data, tmp_path / "run")
    assert (found.deaths, found.failed, found.texts) == (3, 1, 14)
    (row,) = [row for row in _texts(tmp_path / "run") if row["status"] == "failed"]
    assert row["number"] == 5
    assert row["reason"] == "3 processes died while they worked on it"


def test_deaths_of_an_earlier_call_count_unless_failures_are_tried_again(data: str, tmp_path: Path) -> None:
    for retry, failed in ((False, 1), (True, 0)):
        out = tmp_path / str(retry)
        out.mkdir()
        deaths = driving.Deaths()
        for number in (5, 5, 5, 6, 6):
            deaths.add([number])
        deaths.write(out)
        assert run(data, out, retry_failed=retry).failed == failed
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / driving.ATTEMPTS).write_text('{"5": 3}')
    assert driving.Deaths.read(tmp_path / "old") == driving.Deaths()


def test_a_text_that_dies_of_another_method_is_kept_as_failed(data: str, tmp_path: Path) -> None:
    run(data, tmp_path)
    deaths = driving.Deaths()
    for _ in range(3):
        deaths.add([5])
    deaths.write(tmp_path)
    more: dict[str, Any] = {"methods": ["occlusion", "random"]}
    assert run(data, tmp_path, **more).failed == 1
    assert [row["number"] for row in _texts(tmp_path) if row["status"] == "failed"] == [5]
    assert run(data, tmp_path, **more).new == 0
    assert len(wl.open_run(tmp_path).explanations) == 14 + 13
    again = run(data, tmp_path, **more, retry_failed=True)
    assert (again.new, again.failed) == (1, 0)
    assert len(wl.open_run(tmp_path).explanations) == 28


def test_of_texts_that_are_explained_at_once_only_the_one_that_kills_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = list[list[int]]()

    class Dying(Mortals):
        def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
            if self.new or not workers:
                return super().wait(workers, seconds=seconds)
            name, order = self.held.pop()
            real = notes.Note.begin

            def begin(note: notes.Note, numbers: Sequence[int], **counts: int) -> None:
                real(note, numbers, **counts)
                blocks.append([*numbers])
                if 5 in numbers:
                    raise Killed

            with patch.object(notes.Note, "begin", begin), suppress(Killed):
                return [Done(name, self.worker.work(order))]
            return [Died(name)]

    monkeypatch.setattr(running, "here", lambda job, classifier: Dying(job, classifier, lambda: False))
    monkeypatch.setattr(explaining, "TOGETHER", 4)
    data = written(tmp_path / "texts.jsonl", TEXTS[:8])
    classifier = tiny.classifier("bert", labels=["negative", "positive"])
    asked: dict[str, Any] = {"methods": ["marc"], "settings": {"steps": 1}, "shard": 8, "progress": False}
    found = wl.run_corpus(classifier, data, out=tmp_path / "run", **asked)
    assert blocks == [[0, 1, 2, 3], *[[4, 5, 6, 7]] * 3, [4], *[[5]] * 3, [6], [7]]
    assert (found.deaths, found.failed, found.texts) == (6, 1, 8)
    assert [row["number"] for row in _texts(tmp_path / "run") if row["status"] == "failed"] == [5]
    assert not (tmp_path / "run" / driving.ATTEMPTS).exists()


def test_texts_are_counted_while_their_shard_is_worked_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(tmp_path / "texts.jsonl", [*TEXTS[:3], "a film that FAILS", *TEXTS[4:]])
    monkeypatch.setattr(driving, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(tally, "MINUTE", 0.0)
    seen, real, enough = list[driving.Count](), tally.told, threading.Event()

    def told(count: driving.Count, total: int | None, noun: Noun) -> str:
        seen.append(count)
        if count.texts == 10:
            enough.set()
        return real(count, total, noun)

    def waiting(texts: list[str]) -> Any:
        if any("number 10" in text for text in texts):
            assert enough.wait(20)  # the shard of all texts goes on when ten of them have been counted
        return corpus_models.failing(texts)

    monkeypatch.setattr(tally, "told", told)
    found = run(data, tmp_path / "run", waiting, shard=256, progress=True)
    assert (found.texts, found.failed) == (14, 1)
    counts = [count.texts for count in seen]
    assert counts == sorted(counts)
    middle = next(count for count in seen if count.texts == 10)
    assert (middle.new, middle.failed, middle.shards) == (10, 1, 0)
    assert not (tmp_path / "run" / notes.WORKING).exists()


def test_progress_says_rate_time_left_and_failures() -> None:
    count = driving.Count()
    assert tally.told(count, 2000, Text.noun) == "0 of 2,000 texts, the model is being loaded"
    count.ready = time.monotonic() - 100
    assert tally.told(count, 2000, Text.noun) == "0 of 2,000 texts"
    count.texts, count.new, count.failed = 600, 500, 2
    assert tally.told(count, 2000, Text.noun) == "600 of 2,000 texts, 5.0 per second, 5 min left, 2 failed"
    assert tally.told(count, None, Text.noun) == "600 texts, 5.0 per second, 2 failed"
    assert [tally.paced(rate) for rate in (40.0, 0.5, 0.01, 1e-5)] == [
        "40.0 per second",
        "30.0 per minute",
        "36.0 per hour",
        "0.0 per hour",
    ]


def test_any_file_operation_may_fail_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    data = written(tmp_path / "texts.jsonl", TEXTS[:6])
    right, calls = run(data, tmp_path / "whole").sha256, Failing(None)
    with calls.installed():
        run(data, tmp_path / "counted")
    for place in range(1, calls.count + 1):
        out = tmp_path / "runs" / str(place)
        out.parent.mkdir(exist_ok=True)
        with Failing(place).installed(), pytest.raises(InputError) as said:
            run(data, out)
        assert "\n" not in str(said.value)
        assert run(data, out).sha256 == right, place
        assert sums(out).keys() == sums(tmp_path / "whole").keys(), place


class Failing:
    """The n-th write, fsync or replace fails."""

    def __init__(self, place: int | None) -> None:
        self.place, self.count = place, 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in ("write", "fsync", "replace"):
                stack.enter_context(patch.object(os, name, self._call(getattr(os, name))))
            yield

    def _call(self, real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            self.count += 1
            if self.count == self.place:
                raise OSError(28, "No space left on device")
            return real(*given, **more)

        return call


def test_a_part_whose_bytes_have_changed_is_said_in_one_sentence(data: str, tmp_path: Path) -> None:
    run(data, tmp_path)
    path = max((tmp_path / "explanations").iterdir())
    content = path.read_bytes()
    rows = tables.read(path, tables.EXPLANATIONS)
    tables.write(path, [{**row, "probability": 0.5} for row in rows], tables.EXPLANATIONS)
    with pytest.raises(InputError, match=r"is damaged or not a table of a run \(its bytes have changed\); remove it"):
        run(data, tmp_path)
    path.unlink()
    run(data, tmp_path)
    assert path.read_bytes() == content


def test_success_vouches_for_what_is_there_after_a_part_was_lost(data: str, tmp_path: Path) -> None:
    first = run(data, tmp_path)
    max((tmp_path / "explanations").iterdir()).unlink()

    def rounding(texts: list[str]) -> Any:  # as another machine does
        return corpus_models.by_length(texts) + [[1e-12, -1e-12]] * len(texts)

    again = run(data, tmp_path, rounding)
    assert (again.texts, again.new) == (14, 2)
    assert again.sha256 != first.sha256
    (tmp_path / success.SUCCESS).unlink()
    assert success.write_success(tmp_path)["sha256"] == again.sha256


def test_a_manifest_that_was_lost_is_written_anew_for_the_same_question_alone(data: str, tmp_path: Path) -> None:
    run(data, tmp_path)
    before = sums(tmp_path)
    (tmp_path / runs.MANIFEST).write_text("{")
    with pytest.raises(InputError, match="remove it, and run the same command again"):
        run(data, tmp_path)
    (tmp_path / runs.MANIFEST).unlink()
    with pytest.raises(InputError, match="holds another run; name another folder"):
        run(data, tmp_path, methods=["random"])
    assert run(data, tmp_path).new == 0
    assert sums(tmp_path) == before


def test_texts_are_cut_into_shards_by_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from whylight.run import shards  # noqa: PLC0415

    records = list(wl.dataset("planted:", split="test", size=10, length=8))
    found = list(shards.shards_of(records, most=4))
    assert [list(one.numbers) for one in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [record for one in found for record in one.records] == records
    monkeypatch.setattr(shards, "MOST_SIZE", records[0].example.size)
    assert all(len(one.records) == 1 for one in shards.shards_of(records, most=4))


def test_engines_and_workers_are_checked(data: str, tmp_path: Path) -> None:
    for given, said in (
        ({"engine": "spark"}, "engine 'spark'"),
        ({"workers": 0}, "at least one worker"),
        ({"address": "auto"}, "say --engine ray"),
        ({"workers": 2}, "loaded already has one worker"),
    ):
        with pytest.raises((SettingError, InputError), match=said):
            run(data, tmp_path / "run", **given)
    with pytest.raises(SettingError, match=r"a worker in another process cannot get the model \(.*name a folder"):
        wl.run_corpus(lambda _: None, data, methods=["occlusion"], out=tmp_path / "run", load=corpus_models.LABELS)
    assert not list((tmp_path / "run").glob("*/*.parquet"))


def test_data_is_read_as_it_is_worked_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, ahead = [0], list[int]()
    data = written(tmp_path / "many.jsonl", TEXTS * 20)
    take, work = Stream._read, Worker.work

    def counting(self: Stream, *given: Any) -> Any:
        for record in take(self, *given):
            read[0] += 1
            yield record

    def noting(self: Worker, order: Order) -> Any:
        ahead.append(read[0] - order.shard.first)
        return work(self, order)

    monkeypatch.setattr(Stream, "_read", counting)
    monkeypatch.setattr(Worker, "work", noting)
    assert run(data, tmp_path / "run", methods=["random"]).texts == 280
    assert len(ahead) == 70
    assert max(ahead) <= running.HEAD + SHARD
    assert max(ahead[30:]) <= 2 * SHARD + 1  # one shard is read ahead, and a text to know where it ends


def test_success_says_how_many_and_is_gone_while_more_is_done(data: str, tmp_path: Path) -> None:
    run(data, tmp_path)
    said = success.read_success(tmp_path)
    assert said is not None
    assert (said["texts"], said["explanations"], said["commits"], said["failed"]) == (14, 14, 4, 0)
    assert parts.stems_in(tmp_path)
    real = Worker.work

    def refusing(self: Worker, order: Order) -> Any:
        if order.shard.first == 12:
            raise InputError("no more.")
        return real(self, order)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Worker, "work", refusing)
        with pytest.raises(InputError, match="no more"):
            run(written(tmp_path / "more.jsonl", [*TEXTS, "one more"]), tmp_path)
    assert success.read_success(tmp_path) is None
