"""Remove and retrain with real trainings: from the command line, stopped and killed, and on words that decide."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import planted_model
import whylight as wl
from planted_model import LABELS, ruled, saved
from whylight.cli.main import run as command_line
from whylight.core.errors import InputError
from whylight.core.progress import listening
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.study.retrained import UNTOUCHED
from whylight.training import result
from whylight.training.progress import Steps
from whylight.training.trainer import ReasonTrainer


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves take longer than a tiny training, and are not kept."""
    monkeypatch.setattr(result, "draw_curves", lambda _history: "<svg/>")


def test_texts_that_become_alike_are_trained_on(encoder: Path, tmp_path: Path) -> None:
    def texts(split: str, *words: str) -> Dataset:
        records = [Record(f"{split} {one}", Text(f"the film {one}"), (LABELS[one != "awful"],)) for one in words]
        return Dataset("alike", split, LABELS, tuple(records))

    data, dev = texts("train", "awful", "great"), texts("dev", "great")
    asked: dict[str, Any] = {"encoder": encoder, "methods": [], "progress": False, "epochs": 1}
    with pytest.raises(InputError, match="1 training texts are in the validation data too"):
        wl.roar(ruled(), data, dev, out=tmp_path / "a", **asked)
    wl.train(
        encoder, texts("train", "awful", "good"), texts("dev", "good"), out=tmp_path / "b", disjoint=False, epochs=1
    )


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in this process; returns exit code, standard output and standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
        with pytest.raises(SystemExit) as stopped:
            command_line()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return call


def arguments(folder: Path, encoder: Path, *, texts: int = 6) -> list[str]:
    """The command line of a small study, with its model and data as files."""
    named = {"--model": saved(planted_model.model(), folder / "model"), "--encoder": encoder}
    for option, split in (("--data", "train"), ("--dev", "dev")):
        named[option] = folder / f"{split}.jsonl"
        lines = [{"text": one.example.key, "label": one.labels[0]} for one in planted_model.texts(split, texts)]
        lines += [{"text": split, "label": "positive"}]  # of one word
        named[option].write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    numbers = ("--method", "occlusion", "--share", "0.1", "--seeds", "1", "--batch-size", "4")
    return ["roar", *(str(part) for pair in named.items() for part in pair), *numbers]


def test_a_command_that_was_stopped_goes_on_within_a_training(
    cli: Any, tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [*arguments(tmp_path, encoder), "--epochs", "2", "--learning-rate", "1e-3", "--format", "json"]
    real, steps = ReasonTrainer.compute_loss, []

    def failing(self: Any, *given: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 7:  # the second epoch of the second training, of two steps each
            raise KeyboardInterrupt
        return real(self, *given, **options)

    monkeypatch.setattr(ReasonTrainer, "compute_loss", failing)
    code, out, err = cli(*asked, "--out", str(tmp_path / "part"))
    assert (code, out) == (130, "")
    assert "the same call resumes from there" in err
    code, out, err = cli(*asked, "--out", str(tmp_path / "part"))
    assert code == 0
    assert "1 of train that have one word" in err
    assert len(steps) == 7 + 2 + 4
    records = [json.loads(line) for line in out.splitlines()]
    assert [one["method"] for one in records if one["table"] == "trainings"] == [UNTOUCHED, "occlusion", "random"]
    assert records[-1]["standing"] == "cannot tell"
    assert all(0 <= one["accuracy"] <= 1 for one in records[:3])
    code, out, _ = cli(*asked[:-2], "--out", str(tmp_path / "part"))
    assert code == 0
    for word in ("7 of train and", "1 seed", "untouched", "10%", "against", "cannot tell"):
        assert word in out
    assert len(steps) == 13


def test_every_mistake_gets_one_sentence_and_exit_code_2(cli: Any, tmp_path: Path, encoder: Path) -> None:
    asked = [*arguments(tmp_path, encoder), "--out", str(tmp_path / "out")]
    mistakes = {
        "explained classifier itself": ("--encoder", str(tmp_path / "model")),
        "at most 1": ("--share", "20"),
        "changes tokens": ("--remover", "zero"),
        "'lime'": ("--method", "lim"),
        "target": ("--target", "all"),
        "NAME=VALUE": ("--set", "samples"),
    }
    for expected, given in mistakes.items():
        code, out, err = cli(*asked, *given)
        assert (code, out) == (2, ""), given
        assert expected in err, (given, err)
        assert err.startswith("whylight: "), given
        assert err.count("\n") == 1, (given, err)
    assert not (tmp_path / "out").exists()
    assert "Examples" in cli("roar", "--help")[1]


def test_a_training_says_how_far_it_is_and_opening_is_told_before_steps_are_expected() -> None:
    heard: list[tuple[str, int]] = []

    class Listener:
        def expect(self, steps: int) -> None:
            heard.append(("expect", steps))

        def advance(self, steps: int) -> None:
            heard.append(("advance", steps))

    state = SimpleNamespace(max_steps=10, global_step=8)  # taken up again
    with listening(Listener()):
        Steps().on_train_begin(None, state, None)
        Steps().on_step_end(None, state, None)
    assert heard == [("advance", 1), ("expect", 3), ("advance", 1)]


@pytest.mark.slow
def test_the_right_words_cost_the_accuracy_of_a_retrained_model_and_random_ones_do_not(
    encoder: Path, tmp_path: Path
) -> None:
    data, dev = planted_model.texts("train", 64), planted_model.texts("dev", 40)
    numbers: dict[str, Any] = {"epochs": 10, "learning_rate": 3e-3, "batch_size": 8}
    found = wl.roar(
        ruled(),
        data,
        dev,
        encoder=encoder,
        methods=["occlusion"],
        out=tmp_path,
        shares=[0.1],
        seeds=range(3),
        **numbers,
    )
    accuracy = {line.method: line.accuracy.mean for line in found.lines}
    assert accuracy[UNTOUCHED] > 0.95
    assert accuracy["random"] > 0.8  # the word is gone from a tenth of the texts
    assert abs(accuracy["occlusion"] - 0.5) < 0.15
    (one,) = found.comparisons
    assert (one.first, one.second, one.standing) == ("occlusion", "random", "better")


@pytest.mark.slow
def test_a_study_that_is_killed_again_and_again_ends_at_the_same_table(encoder: Path, tmp_path: Path) -> None:
    asked = [*arguments(tmp_path, encoder, texts=32), "--epochs", "4", "--learning-rate", "1e-3", "--format", "json"]
    command = [sys.executable, "-m", "whylight", *asked, "--out"]
    whole = subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)  # noqa: S603
    killed = tmp_path / "killed"
    moments = [
        "explained/train/manifest.json",
        "explained/dev/texts",
        "roar.json",
        "trained/*/checkpoints/checkpoint-8",
        "trained/occlusion*/training.json",
        "trained/random*/checkpoints",
        "trained/*/model.safetensors",
    ]
    for moment in moments:
        process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL)  # noqa: S603
        while not list(killed.glob(moment)) and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = subprocess.run([*command, str(killed)], check=True, capture_output=True)  # noqa: S603
    assert again.stdout == whole.stdout
