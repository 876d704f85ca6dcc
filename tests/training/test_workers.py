"""Trainings in processes of their own: what several workers give is what one gives, also if one is killed."""

import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from test_seeds import receipts, recipe, weights

import planted_model
import tiny
import virtual
import whylight as wl
from planted_model import saved

pytestmark = pytest.mark.ray
NUMBERS: dict[str, Any] = {"epochs": 3, "patience": 3}


def seeds(start: Path, out: Path, **given: Any) -> None:
    both = (wl.dataset("planted:", split=split, size=48, length=9) for split in ("train", "dev"))
    wl.train_seeds(start, *both, recipe(**NUMBERS), seeds=range(3), out=out, progress=False, **given)


@pytest.fixture(scope="module")
def alone(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one worker gave."""
    out = tmp_path_factory.mktemp("seeds") / "alone"
    seeds(start, out, workers=1)
    return out


def workers() -> list[int]:
    """The processes that were spawned by this one."""
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [int(one) for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def test_two_processes_one_of_which_is_killed_give_the_same_models(alone: Path, start: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        while not list(tmp_path.glob("out/*/checkpoints/checkpoint-*/trainer_state.json")):
            time.sleep(0.01)
        killed.append(workers()[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    seeds(start, tmp_path / "out", workers=2)
    thread.join(10)
    assert killed
    assert not workers()
    assert receipts(tmp_path / "out") == receipts(alone)
    assert weights(tmp_path / "out") == weights(alone)


def test_actors_of_a_cluster_give_the_same_models(alone: Path, start: Path, tmp_path: Path) -> None:
    seeds(start, tmp_path / "out", workers=2, engine="ray")
    assert receipts(tmp_path / "out") == receipts(alone)
    assert weights(tmp_path / "out") == weights(alone)


def test_a_search_and_a_study_are_the_same_for_two_processes(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [wl.dataset("planted:", split=split, size=16, length=9) for split in ("train", "dev")]
    encoder, model = (
        saved(tiny.model("bert", seed=4).bert, tmp_path / "e"),
        saved(planted_model.model(), tmp_path / "m"),
    )
    texts = [planted_model.texts(split, 8) for split in ("train", "dev")]
    asked: dict[str, Any] = {"encoder": encoder, "methods": ["occlusion"], "shares": [0.2], "seeds": [0], "epochs": 1}

    def found(name: str, workers: int) -> Any:
        given: dict[str, Any] = {"workers": workers, "progress": False}
        tuned = wl.tune(start, *both, recipe(), out=tmp_path / name / "tune", trials=4, **given)
        rows = wl.roar(model, *texts, **asked, out=tmp_path / name / "roar", **given).rows
        return [(one.number, one.value, one.parameters) for one in tuned.trials], rows

    two = found("two", 2)
    assert len(two[0]) == 4
    assert len(two[1]) == 3
    threads = torch.get_num_threads()
    virtual.use(monkeypatch)
    assert found("one", 1) == two
    torch.set_num_threads(threads)
