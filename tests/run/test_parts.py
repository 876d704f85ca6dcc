"""Parts of a run: nothing is rewritten, a kill at any moment loses and doubles nothing, and everyone can read them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest
from test_evaluate import decide
from test_folder import TABLES, data, evaluate, rows
from test_identity import flipped

import whylight as wl
from whylight.core.errors import InputError
from whylight.run import book, growing, shards as module
from whylight.store import files, parts, runs, tables
from whylight.store.success import SUCCESS

STAMP = "00000000-0123456789ab"


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


def tuned(out: Path | None, *, size: int = 6) -> Any:
    clf = wl.load(decide, labels=["negative", "positive"], identity="decide")
    own, tune = (wl.dataset("planted:", split=split, size=size, length=8) for split in ("test", "dev"))
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness", "token_f1"]}
    return wl.evaluate(clf, own, tune=tune.sample(size // 3, seed=0), out=out, progress=False, **asked)


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write each text by itself, and work on none twice: what is tried is the writing."""
    real, known = module.work_together, {}

    def work(classifier: Any, tasks: Any, plan: Any, *, run: str) -> Any:
        (task,) = tasks
        key = task.record.id, task.lacking, run
        if key not in known:
            known[key] = list(real(classifier, tasks, plan, run=run))
        return known[key]

    monkeypatch.setattr(module, "work_together", work)
    monkeypatch.setattr(book, "WRITE_EVERY", -1.0)


def killing(place: int | None, seen: list[str]) -> Iterator[Any]:
    """Let the process die before its n-th change of a file, whichever call makes it."""

    def dying(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if seen and seen[-1] == "dead":
                raise Killed
            seen.append(name)
            if len(seen) == place:
                seen.append("dead")
                raise Killed
            return real(*arguments, **options)

        return call

    for name in ("write", "fsync", "replace", "mkdir", "unlink"):
        yield patch.object(os, name, dying(name, getattr(os, name)))


def test_what_stands_for_other_files_is_on_the_disk_before_they_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may lose a rename that no fsync of its folder has followed, and keep a removal that came later."""
    unsettled, removed, of = set[str](), list[str](), dict[int, str]()
    opened, fsync, replaced, unlink = os.open, os.fsync, os.replace, os.unlink

    def opening(path: Any, *given: Any, **more: Any) -> int:
        handle = opened(path, *given, **more)
        of[handle] = str(path)
        return handle

    def syncing(handle: int) -> None:
        unsettled.discard(of[handle])
        fsync(handle)

    def replacing(source: Any, target: Any) -> None:
        unsettled.add(str(Path(target).parent))
        replaced(source, target)

    def removing(path: Any, **given: Any) -> None:
        if str(path).endswith(".parquet"):
            assert not unsettled
            removed.append(str(path))
        unlink(path, **given)

    monkeypatch.setattr(book, "WRITE_EVERY", -1.0)
    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    monkeypatch.setattr(os, "unlink", removing)
    tuned(tmp_path / "run", size=4)
    assert removed
    assert not unsettled


def run_until_killed(out: Path, place: int | None) -> int:
    """Evaluate, and die at a place; return how many changes there were."""
    seen: list[str] = []
    patches = list(killing(place, seen))
    for one in patches:
        one.start()
    try:
        tuned(out, size=4)
    except Killed:
        pass
    finally:
        for one in patches:
            one.stop()
    return len(seen)


@pytest.mark.usefixtures("remembering")
def test_a_kill_between_any_two_changes_of_files_loses_and_doubles_nothing(tmp_path: Path) -> None:
    total = run_until_killed(tmp_path / "whole", None)
    right = rows(tmp_path / "whole")
    assert total > 50
    finished = set()
    for place in (*range(1, total, 4), total):
        out = tmp_path / str(place)
        run_until_killed(out, place)
        left = [row["example_id"] for row in runs.read(out).scores]
        assert left == [row["example_id"] for row in right["scores"]][: len(left)]
        finished.add(len(left))
        tuned(out, size=4)
        assert rows(out) == right, place
        known = {
            part.path for name in TABLES for part in parts.stored_rows(out, runs.read(out).commits or (), name).parts
        }
        known |= {out / parts.TIMINGS / path.name for path in known} | {out / runs.MANIFEST, out / SUCCESS}
        assert {path for path in out.rglob("*") if path.is_file()} == known, place
        assert sums(out) == sums(tmp_path / "whole")
    assert len(finished) == 5  # kills came at every stage


def sums(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a run but those of times."""
    own = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != parts.TIMINGS)
    return {str(path.relative_to(folder)): path.read_bytes() for path in own}


def test_parts_have_the_same_bytes_however_often_something_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, seconds in enumerate((20.0, -1.0)):
        monkeypatch.setattr(book, "WRITE_EVERY", seconds)
        tuned(tmp_path / str(number))
    assert sums(tmp_path / "0") == sums(tmp_path / "1")
    assert len(list((tmp_path / "1" / "scores").iterdir())) == 1


@pytest.mark.usefixtures("remembering")
def test_a_kill_while_the_folder_is_tidied_up_harms_nothing(tmp_path: Path) -> None:
    total = run_until_killed(tmp_path / "whole", None)
    right = rows(tmp_path / "whole")
    run_until_killed(tmp_path / "run", total - 5)
    min((tmp_path / "run" / "scores").iterdir()).unlink()  # so that its commit goes, and what else belongs to it
    for place in (1, 2, 3, 4, 5):
        run_until_killed(tmp_path / "run", place)
    tuned(tmp_path / "run", size=4)
    assert rows(tmp_path / "run") == right


def test_parts_without_a_commit_are_left_out_and_removed(tmp_path: Path) -> None:
    evaluate(tmp_path)
    before = rows(tmp_path)
    orphan = tmp_path / "scores" / f"{STAMP}.parquet"
    tables.write(orphan, tables.read(next((tmp_path / "scores").iterdir()), tables.SCORES), tables.SCORES)
    mine = tmp_path / "scores" / "notes.parquet"
    mine.write_bytes(b"what a user put there")
    assert rows(tmp_path) == before
    evaluate(tmp_path)
    assert not orphan.exists()
    assert mine.exists()
    assert rows(tmp_path) == before


@pytest.mark.usefixtures("remembering")
def test_a_commit_that_lists_a_text_once_more_does_not_count(tmp_path: Path) -> None:
    evaluate(tmp_path)
    before = rows(tmp_path)
    for name in ("explanations", "scores", "curves", "texts"):
        first = min((tmp_path / name).iterdir())
        (tmp_path / name / "00000000-ffffffffffff.parquet").write_bytes(first.read_bytes())
    assert rows(tmp_path) == before
    evaluate(tmp_path)
    assert rows(tmp_path) == before
    assert not list(tmp_path.rglob("*ffffffffffff*"))


def test_without_a_manifest_parts_say_whose_they_are(tmp_path: Path) -> None:
    evaluate(tmp_path)
    (tmp_path / runs.MANIFEST).unlink()
    next((tmp_path / "texts").iterdir()).unlink()
    with pytest.raises(InputError, match="holds another run"):
        evaluate(tmp_path, metrics=["entropy"])
    evaluate(tmp_path)


def test_rows_stand_in_the_order_of_the_data_wherever_a_gap_was_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [record.id for record in data()]
    monkeypatch.setattr(growing, "MOST_TEXTS", 2)
    evaluate(tmp_path)
    stems = [path.stem for path in sorted((tmp_path / "texts").iterdir())]
    assert [int(stem[:8]) for stem in stems] == [0, 2, 4]
    for stem in stems[:2]:
        (tmp_path / "curves" / f"{stem}.parquet").unlink()
    (tmp_path / "texts" / f"{stems[2]}.parquet").unlink()
    monkeypatch.setattr(growing, "MOST_TEXTS", 1000)
    evaluate(tmp_path)
    for name in ("explanations", "scores", "texts"):
        assert list(dict.fromkeys(row["example_id"] for row in rows(tmp_path)[name])) == order
        assert list(dict.fromkeys(pd.read_parquet(tmp_path / name)["example_id"])) == order


def test_a_gap_is_not_filled_by_a_part_that_reaches_over_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "MOST_TEXTS", 2)
    evaluate(tmp_path)
    stems = [path.stem for path in sorted((tmp_path / "texts").iterdir())]
    for stem in (stems[0], stems[2]):
        (tmp_path / "texts" / f"{stem}.parquet").unlink()
    monkeypatch.setattr(growing, "MOST_TEXTS", 1000)
    evaluate(tmp_path)  # texts 0, 1, 4 and 5 are missing
    assert [path.stem for path in sorted((tmp_path / "texts").iterdir())] == stems  # the same content, the same names


def test_names_do_not_depend_on_the_clock(tmp_path: Path) -> None:
    for name in ("one", "two"):
        evaluate(tmp_path / name)
    one, two = ({str(path.relative_to(tmp_path / n)) for path in (tmp_path / n).rglob("*")} for n in ("one", "two"))
    assert one == two


@pytest.mark.usefixtures("remembering")
def test_what_is_written_is_written_once_more_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int]] = []
    real = files.write

    def noting(path: Path, content: bytes) -> None:
        written.append((str(path.relative_to(tmp_path)), len(content)))
        real(path, content)

    monkeypatch.setattr(files, "write", noting)
    evaluate(tmp_path)
    names = [name for name, _ in written]
    assert len(names) == len(set(names)) == 2 + 5 * len(data()) + 5  # manifest and end, each text, the shard
    sizes = [size for name, size in written if name.startswith("explanations")]
    assert max(sizes[:-1]) < 1.5 * min(sizes)  # the last flush is no larger than the first


def test_a_book_with_a_folder_keeps_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, real = [], book.Book.add

    def noting(self: book.Book, *arguments: Any, **options: Any) -> None:
        real(self, *arguments, **options)
        waiting.append(len(self.waiting))
        assert not any(self.rows.values())
        assert (self.bytes_waiting > 0) == bool(self.waiting)

    monkeypatch.setattr(book.Book, "add", noting)
    monkeypatch.setattr(growing, "MOST_TEXTS", 4)
    evaluate(tmp_path / "texts")
    assert waiting == [1, 2, 3, 4, 1, 2]  # until its shard is complete
    waiting.clear()
    monkeypatch.setattr(book, "MOST_BYTES", 1)
    evaluate(tmp_path / "bytes")
    assert waiting == [0] * 6


def test_a_table_without_rows_has_no_part_and_full_parts_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = wl.load(flipped, labels=["negative", "positive"], identity="rule")
    many = wl.dataset("planted:", split="test", size=60, length=8)
    monkeypatch.setattr(growing, "MOST_TEXTS", 10)
    calls: list[str] = []
    real = files.write
    monkeypatch.setattr(files, "write", lambda path, content: calls.append(path.parent.name) or real(path, content))
    wl.evaluate(clf, many, methods=["random"], metrics=["entropy"], out=tmp_path, progress=False)
    assert sorted(set(calls) - {tmp_path.name}) == ["explanations", "scores", "texts", "timings"]
    assert len(calls) == 2 + 4 * 6
    assert [len(pd.read_parquet(path)) for path in sorted((tmp_path / "texts").iterdir())] == [10] * 6


def test_a_stopped_run_is_done_from_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = module.work_together

    def noting(classifier: Any, tasks: Any, *rest: Any, **options: Any) -> Any:
        asked.extend(task.record.id for task in tasks)
        if len(asked) == 4:
            raise RuntimeError("no more")
        return real(classifier, tasks, *rest, **options)

    monkeypatch.setattr(module, "work_together", noting)
    with pytest.raises(RuntimeError):
        evaluate(tmp_path)
    assert len(runs.read(tmp_path).commits or ()) == 1
    evaluate(tmp_path)
    assert asked == [record.id for record in list(data())[:4]] + [record.id for record in list(data())[3:]]
