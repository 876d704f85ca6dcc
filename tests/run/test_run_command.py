"""`whylight run` from the command line: what goes wrong is one sentence with exit code 2, and nothing is lost."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from test_driving import written
from test_parts import sums

import tiny
import virtual
from whylight.cli.main import run as command_line
from whylight.engines import where as engines
from whylight.run.worker import Worker
from whylight.store import files, success

TEXTS = [f"a {'good' if number % 3 else 'bad'} film, and {number} others" for number in range(12)]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"), seed=0)


def saved(folder: Path, *, seed: int) -> Path:
    tiny.model("bert", seed=seed).save_pretrained(folder)
    tiny.tokenizer("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def call(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Iterator[Call]:
    """Run the command, with workers of this process."""
    virtual.use(monkeypatch)
    threads, data = torch.get_num_threads(), written(tmp_path / "texts.jsonl", TEXTS)
    usual = {"--model": str(model), "--data": data, "--method": "occlusion", "--out": str(tmp_path / "run"),
             "--shard": "4"}  # fmt: skip

    def run(**given: str) -> tuple[int, str, str]:
        asked = {**usual, **{f"--{name}": value for name, value in given.items()}}
        monkeypatch.setattr(sys, "argv", ["whylight", "run", *(part for pair in asked.items() for part in pair)])
        with pytest.raises(SystemExit) as stopped:
            command_line()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    yield run
    torch.set_num_threads(threads)


def refused(found: tuple[int, str, str]) -> str:
    """The one sentence of a command that was refused."""
    code, out, err = found
    assert (code, out) == (2, "")
    assert err.startswith("whylight: ")
    assert err.count("\n") == 1
    assert err.endswith(".\n")
    return err


def test_a_part_that_is_damaged_is_named_and_made_anew_once_it_is_gone(call: Call, tmp_path: Path) -> None:
    assert call(workers="2")[0] == 0
    right = sums(tmp_path / "run")
    for table in ("explanations", "texts"):
        path = sorted((tmp_path / "run" / table).iterdir())[1]
        content = path.read_bytes()
        for damage in (content[: len(content) // 2], b"", content[:99] + b"?" + content[100:]):
            path.write_bytes(damage)
            assert f"'{path}' is damaged" in refused(call(workers="2"))
        path.unlink()
        assert call(workers="2")[0] == 0
        assert sums(tmp_path / "run") == right


def test_another_model_or_setting_in_a_folder_that_is_half_done_is_refused(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    real, done, other = Worker.work, list[int](), str(saved(tmp_path / "other", seed=5))

    def stopping(self: Worker, order: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(order.shard.first)
        return real(self, order)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "work", stopping)
        capsys.readouterr()
        code, _, err = call()
    assert code == 130
    assert "and this resumes from there: whylight run --model" in err
    before = sums(tmp_path / "run")
    assert sum(name.startswith("texts") for name in before) == 1
    assert "holds another run, differing in weights; name another folder" in refused(call(model=other))
    assert "differing in settings (occlusion.window)" in refused(call(set="occlusion.window=2"))
    assert "the shards of" in refused(call(shard="5"))
    assert sums(tmp_path / "run") == before
    assert "12 texts; 8 of them now" in call()[1]


def test_a_second_command_on_a_folder_is_refused(call: Call, tmp_path: Path) -> None:
    with files.claimed(tmp_path / "run"):
        assert "another process is at work in" in refused(call())
    assert call()[0] == 0


def test_what_stops_a_run_before_its_first_text_leaves_no_folder(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(call(workers="0"))
    refused(call(engine="spark"))
    refused(call(address="auto"))
    refused(call(data=str(tmp_path / "none.jsonl")))
    refused(call(method="occlusio"))

    def no_workers(*_: Any) -> Any:
        raise engines.SettingError("there are none.")

    monkeypatch.setattr(engines.Where, "workers_of", no_workers)
    refused(call())
    assert not (tmp_path / "run").exists()


def test_without_ray_one_sentence_says_what_to_install(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = refused(call(engine="ray"))
    assert "pip install 'whylight[ray]', or leave out --engine" in said
    assert not (tmp_path / "run").exists()


def test_records_that_are_left_out_are_told(call: Call, tmp_path: Path) -> None:
    rows = [{"id": str(number % 10), "text": text} for number, text in enumerate(TEXTS)]
    data = tmp_path / "twice.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "line 11 of" in refused(call(data=str(data)))
    command = {"data": str(data), "drop-broken": "--retry-failed"}  # two flags without a value
    code, out, err = call(**command)
    assert (code, "10 texts; 10 of them now" in out) == (0, True)
    assert "not in the records: 2 that cannot be read (line 11 of" in err
    ended = success.read_success(tmp_path / "run")
    assert ended is not None
    assert ended["texts"] == 10
