"""Training in several processes: the same as in one."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import tiny
from whylight.core.errors import SettingError
from whylight.training.processes import parts_of

ASKED = ["--data", "planted:", "--data-set", "size=64", "--epochs", "2", "--batch-size", "8", "--learning-rate", "1e-3"]


def test_a_batch_is_cut_among_processes_and_then_into_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts_of(32, None) == (32, 1)
    assert parts_of(32, 8) == (8, 4)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert parts_of(32, None) == (8, 1)
    assert parts_of(32, 4) == (4, 2)
    with pytest.raises(SettingError, match="among 4 processes"):
        parts_of(30, None)
    with pytest.raises(SettingError, match="parts of 3 texts"):
        parts_of(32, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "objective",
    [
        ("--objective", "input_gradient_penalty=0.1"),
        ("--objective", "attention_supervision", "--combine", "constrained", "--bound-train", "1", "--bound-val", "9"),
    ],
    ids=["twice differentiated", "constrained"],
)
def test_two_processes_end_where_one_does(tmp_path: Path, objective: tuple[str, ...]) -> None:
    start = tmp_path / "start"
    model = tiny.model("bert")
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.0  # drawn apart in each process
    model.save_pretrained(start)
    tiny.tokenizer("bert").save_pretrained(start)
    asked = ["whylight", "train", "--model", str(start), *ASKED, *objective, "--out"]
    subprocess.run([sys.executable, "-m", *asked, str(tmp_path / "one")], check=True)  # noqa: S603  our own command
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    subprocess.run([*launch, *asked, str(tmp_path / "two")], check=True)  # noqa: S603
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    before = load_file(start / "model.safetensors")
    moved = max(float((value - before[name]).abs().max()) for name, value in one.items())
    apart = max(float((value - two[name]).abs().max()) for name, value in one.items())
    assert moved > 1e-3
    assert apart < 1e-2 * moved
    assert not torch.equal(one["classifier.weight"], before["classifier.weight"])
