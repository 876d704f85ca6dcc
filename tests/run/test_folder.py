"""The folder of a run: what is done is known from one place, one process writes, and damage is said in one sentence."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_identity import RECORD, corpus, flipped
from typer.testing import CliRunner

import whylight as wl
from whylight.cli.main import app
from whylight.core.errors import InputError
from whylight.data.dataset import Dataset
from whylight.report.run_page import run_page
from whylight.run import growing
from whylight.store import files, parts, runs, tables
from whylight.store.success import SUCCESS

TABLES = {**parts.SCHEMAS, parts.COMMITS: tables.TEXTS}
MEASURED = ("seconds", "peak_megabytes")
FOLDERS = {"explanations", "scores", "curves", "texts", "timings"}


def data() -> Dataset:
    return wl.dataset("planted:", split="test", size=6, length=8)


def evaluate(out: Path, **options: Any) -> Any:
    clf = wl.load(flipped, labels=["negative", "positive"], identity="rule")
    return wl.evaluate(clf, data(), methods=["occlusion"], out=out, progress=False, **options)


def rows(folder: Path) -> dict[str, list[Any]]:
    """All rows of a run, but for what depends on the clock, and what the folder says of itself."""
    stored = runs.read(folder)
    assert stored.commits is not None
    found = {name: list(parts.stored_rows(folder, stored.commits, name)) for name in TABLES}
    plain = {
        name: [{key: value for key, value in row.items() if key not in MEASURED} for row in own]
        for name, own in found.items()
    }
    return plain | {"about": [stored.about and (stored.about.run, stored.about.asked, stored.about.rows_run)]}


def only_part(folder: Path, name: str) -> Path:
    (path,) = (folder / name).iterdir()
    return path


def lose(folder: Path, name: str) -> None:
    (folder / runs.MANIFEST if name == "manifest" else only_part(folder, name)).unlink()


LOST = (
    "manifest",
    "explanations",
    "scores",
    "curves",
    "texts",
    "explanations scores",
    "manifest texts",
    "texts curves",
)


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_file_is_made_again_and_no_row_is_doubled(lost: str, tmp_path: Path) -> None:
    evaluate(tmp_path)
    before = rows(tmp_path)
    for name in lost.split():
        lose(tmp_path, name)
    evaluate(tmp_path)
    assert rows(tmp_path) == before
    for name in ("explanations", "scores", "curves", "texts"):
        only_part(tmp_path, name)


@pytest.mark.parametrize("name", ["explanations", "scores", "curves"])
def test_texts_that_lack_rows_in_one_table_are_done_again_in_all(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "MOST_TEXTS", 1)
    whole = evaluate(tmp_path)
    before, cells = rows(tmp_path), [line.cells for line in whole.summary.lines]
    path = sorted((tmp_path / name).iterdir())[1]
    tables.write(path, tables.read(path, TABLES[name])[1:], TABLES[name])
    assert {row["example_id"] for row in runs.read(tmp_path).scores} == {f"test-{i}" for i in (0, 2, 3, 4, 5)}
    again = evaluate(tmp_path)
    assert rows(tmp_path) == before
    assert [line.cells for line in again.summary.lines] == cells


def test_two_processes_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with files.claimed(tmp_path / "run"), pytest.raises(InputError, match="another process is at work in"):
        evaluate(tmp_path / "run")
    evaluate(tmp_path / "run")
    assert not list((tmp_path / "run").glob(".*"))


def test_what_a_kill_left_half_written_is_removed(tmp_path: Path) -> None:
    evaluate(tmp_path)
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    assert {path.parts[0] for path in before} == {runs.MANIFEST, SUCCESS, *FOLDERS}
    for place in (tmp_path, tmp_path / "scores", tmp_path / "texts"):
        (place / f".00000000-0123456789ab.parquet-77{files.PART}").write_bytes(b"half")
    evaluate(tmp_path)
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*")} == before


def damaged(name: str, content: bytes) -> bytes:
    """Damage the bytes of a table."""
    table = pq.read_table(pa.BufferReader(content))
    changed = {
        "lacks a column": lambda: table.drop_columns([table.column_names[2]]),
        "wrong type": lambda: table.set_column(1, table.column_names[1], pa.array([1.5] * len(table))),
        "lacks a value": lambda: table.set_column(0, "run", pa.array([None] * len(table), pa.string())),
    }
    if name in changed:
        out = pa.BufferOutputStream()
        pq.write_table(changed[name](), out)
        return bytes(out.getvalue().to_pybytes())
    half = len(content) // 2
    return {
        "truncated": content[:half],
        "empty": b"",
        "no table": b"not a table",
        "flipped": content[:40] + bytes([content[40] ^ 8]) + content[41:],
    }[name]


DAMAGES = ("truncated", "empty", "no table", "flipped", "lacks a column", "wrong type", "lacks a value")


def everything(folder: Path) -> None:
    stored = runs.read(folder)
    for table in (stored.explanations, stored.scores, stored.curves, stored.tuning):
        list(table)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_said_in_one_sentence(damage: str, tmp_path: Path) -> None:
    evaluate(tmp_path)
    for name in ("texts", "explanations", "scores", "curves"):
        path = only_part(tmp_path, name)
        sound = path.read_bytes()
        path.write_bytes(damaged(damage, sound))
        for ask in (evaluate, run_page, everything):
            with pytest.raises(InputError, match=r"parquet' is damaged or not a table of a run \(.*\); remove it"):
                ask(tmp_path)
        if name != "curves":  # which nothing is compared by
            done = CliRunner().invoke(app, ["compare", str(tmp_path), "--method", "occlusion"])
            assert isinstance(done.exception, InputError)
        path.write_bytes(sound)
    evaluate(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run": "r"}', '{"form": 2}', "[" * 100_000])
def test_a_damaged_manifest_is_said_in_one_sentence(content: str, tmp_path: Path) -> None:
    evaluate(tmp_path)
    (tmp_path / runs.MANIFEST).write_text(content, encoding="utf-8")
    for ask in (evaluate, run_page, everything):
        with pytest.raises(
            InputError, match=r"manifest\.json' is damaged or not of a run; remove it, and run the same command again"
        ):
            ask(tmp_path)


def test_a_run_of_a_later_version_is_refused(tmp_path: Path) -> None:
    evaluate(tmp_path)
    manifest = json.loads((tmp_path / runs.MANIFEST).read_text(encoding="utf-8"))
    (tmp_path / runs.MANIFEST).write_text(json.dumps(manifest | {"form": runs.FORM + 1}), encoding="utf-8")
    for ask in (evaluate, run_page):
        with pytest.raises(InputError, match=r"of a later version of whylight \(form 5\); update whylight\.$"):
            ask(tmp_path)


def test_no_flipped_byte_changes_a_value_silently(tmp_path: Path) -> None:
    evaluate(tmp_path)
    path = only_part(tmp_path, "scores")
    sound, own = path.read_bytes(), rows(tmp_path)["scores"]
    noticed = 0
    for place in range(0, len(sound), 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1 << place % 8]) + sound[place + 1 :])
        try:
            assert tables.read_table(path, tables.SCORES).to_pylist() == own
        except InputError:
            noticed += 1
    assert noticed > len(sound) / 7 / 3


LONG = "x" * 300


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("file", "File exists"),
        ("file/below", "Not a directory"),
        (LONG, "File name too long"),
        ("a\0b", "NUL"),
        ("/proc/whylight", "No such file"),
    ],
)
def test_a_folder_that_cannot_be_is_said_in_one_sentence(place: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    clf = wl.load(flipped, labels=["negative", "positive"], identity="rule")
    with pytest.raises(InputError, match=rf"^cannot write .*{says}.*\.$"):
        wl.evaluate(clf, corpus(RECORD), methods=["occlusion"], out=tmp_path / place, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_said_before_the_work_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(InputError, match=r"cannot write '.*manifest\.json': No space left on device\.$"):
        evaluate(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device"):
        files.write(link, b"content")
    assert link.is_symlink()
    target = tmp_path / "target"
    link.unlink()
    link.symlink_to(target)
    files.write(link, b"content")
    assert target.read_bytes() == b"content"
    assert link.is_symlink()


def test_interrupted_by_hand_it_writes_what_was_done_and_says_so(cli: Any, tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / runs.MANIFEST).exists():
            if over.wait(0.02):
                return
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    over = Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background may ignore it
    hand = Thread(target=interrupt)
    hand.start()
    try:
        asked = ("--data", "planted:", "--data-set", "size=2000", "--method", "lime", "--set", "samples=400")
        code, out, err = cli("evaluate", *asked, "--out", str(tmp_path))
    finally:
        over.set()
        hand.join()
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert out == ""
    said = err.splitlines()[-1]  # the time that it would have taken may have been said before
    command = shlex.join(["whylight", "evaluate", *asked, "--out", str(tmp_path)])
    assert said == f"whylight: stopped; what was done is in '{tmp_path}', and this resumes from there: {command}."
    assert runs.read(tmp_path).about is not None
    assert not list(tmp_path.glob(".*"))


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "whylight", "methods"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "whylight: cannot write the output: No space left on device.\n"


def test_a_limit_on_the_size_of_files_is_one_sentence(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6 * 1024, hard))
    try:
        with pytest.raises(InputError, match=r"^cannot write '.*/run/\w+/[\w-]+\.parquet': File too large\.$"):
            evaluate(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.glob("run/.*"))
