"""A training that is killed without warning, from the command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import tiny

ASKED = ["--data", "planted:", "--data-set", "size=64", "--objective", "rationale_attention", "--epochs", "8",
         "--patience", "8", "--batch-size", "8", "--learning-rate", "1e-3"]  # fmt: skip


def command(start: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "whylight", "train", "--model", str(start), *ASKED, "--out", str(out)]


@pytest.mark.slow
def test_the_same_command_goes_on_after_a_kill_and_ends_at_the_same_weights(tmp_path: Path) -> None:
    start = tmp_path / "start"
    tiny.model("bert").save_pretrained(start)
    tiny.tokenizer("bert").save_pretrained(start)
    subprocess.run(command(start, tmp_path / "whole"), check=True)  # noqa: S603  our own command
    killed = tmp_path / "killed"
    process = subprocess.Popen(command(start, killed))  # noqa: S603  our own command
    while len(list(killed.glob("checkpoints/checkpoint-*/trainer_state.json"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "config.json").exists()
    subprocess.run(command(start, killed), check=True)  # noqa: S603  our own command
    receipts = [json.loads((folder / "training.json").read_text()) for folder in (tmp_path / "whole", killed)]
    assert receipts[0]["validation"]["selection"] == receipts[1]["validation"]["selection"]
    whole, again = (load_file(folder / "model.safetensors") for folder in (tmp_path / "whole", killed))
    assert all(torch.equal(value, again[name]) for name, value in whole.items())
