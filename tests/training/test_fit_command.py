"""Fitting a network from the command line, and going on after a kill."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import planted_model
from whylight.cli.main import run as command_line
from whylight.models.quiet import quiet


@pytest.fixture(scope="module")
def clf() -> Any:
    return planted_model.classifier()


def command(clf: Any, tmp_path: Path, *arguments: str) -> list[str]:
    model = tmp_path / "model"
    if not model.exists():
        with quiet():
            clf.model.save_pretrained(model)
            clf.tokenizer.save_pretrained(model)
    texts = []
    for split, size in (("train", 16), ("dev", 4)):
        file = tmp_path / f"{split}.jsonl"
        own = planted_model.texts(split, size)
        records = [{"text": record.example.text, "label": record.labels[0]} for record in own]
        file.write_text("".join(json.dumps(one) + "\n" for one in records))
        texts.append(str(file))
    return ["fit", "aml", "--model", str(model), "--data", texts[0], "--dev", texts[1], "--trials", "0",
            "--batch-size", "8", "--out", str(tmp_path / "out"), *arguments]  # fmt: skip


def spoken(arguments: list[str], monkeypatch: Any, capsys: Any) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    said = capsys.readouterr()
    return int(stopped.value.code or 0), said.out + said.err


def test_the_command_line_fits_and_explains(clf: Any, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    code, said = spoken(command(clf, tmp_path, "--epochs", "1", "--metric", "sufficiency"), monkeypatch, capsys)
    assert code == 0
    assert "sufficiency" in said
    assert "starts from the model's own encoder" in " ".join(said.split())
    explain = ["explain", "a great film", "--model", str(tmp_path / "model"), "--method", "aml", "--format", "json"]
    code, said = spoken([*explain, "--set", f"folder={tmp_path / 'out'}"], monkeypatch, capsys)
    assert code == 0
    assert json.loads(said)["settings"]["metric"] == "sufficiency"
    for wrong in (explain, [*explain, "--set", f"folder={tmp_path}"]):
        code, said = spoken(wrong, monkeypatch, capsys)
        assert code == 2
        assert "whylight fit aml" in " ".join(said.split())
    for wrong in (["--metric", "comprehensivness"], ["--set", "marge=mean"], ["--set", "epochs=3"]):
        code, said = spoken(command(clf, tmp_path, *wrong), monkeypatch, capsys)
        assert code == 2


@pytest.mark.slow
def test_the_same_command_goes_on_after_a_kill_and_ends_at_the_same_weights(clf: Any, tmp_path: Path) -> None:
    whole = [sys.executable, "-m", "whylight", *command(clf, tmp_path, "--epochs", "6")]
    subprocess.run(whole, check=True)  # noqa: S603  our own command
    (tmp_path / "out").rename(tmp_path / "whole")
    process, killed = subprocess.Popen(whole), tmp_path / "out"  # noqa: S603  our own command
    while len(list(killed.glob("checkpoints/checkpoint-*/trainer_state.json"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run(whole, check=True)  # noqa: S603  our own command
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (tmp_path / "whole", killed))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
