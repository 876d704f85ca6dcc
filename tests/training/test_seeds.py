"""Trainings of several seeds: the same for one worker or many, whoever dies, and none is made twice."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import virtual
import whylight as wl
from whylight.core.errors import InputError, ModelError, SettingError, UnmetError
from whylight.data.dataset import Dataset
from whylight.training import seeds as module
from whylight.training.recipe import Recipe, make_terms
from whylight.training.result import Trained

MEASURED = ("seconds", "runtime", "per_second")
SEEDS = (0, 1, 2)


def planted(split: str) -> Dataset:
    return wl.dataset("planted:", split=split, size=16, length=9)


def recipe(*objectives: str, **numbers: Any) -> Recipe:
    combine = numbers.get("combine", "joint")
    asked = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, **numbers}
    return Recipe(terms=make_terms(objectives, {}, combine=combine), **asked)


def run(start: Path, out: Path, asked: Recipe | None = None, **given: Any) -> list[Trained]:
    both = planted("train"), planted("dev")
    return wl.train_seeds(start, *both, asked or recipe(), seeds=SEEDS, out=out, progress=False, **given)


def unmeasured(value: Any) -> Any:
    """What a receipt says, times aside."""
    if isinstance(value, dict):
        return {key: unmeasured(own) for key, own in value.items() if not any(one in key for one in MEASURED)}
    return [unmeasured(one) for one in value] if isinstance(value, list) else value


def receipts(folder: Path) -> dict[str, Any]:
    return {path.parent.name: unmeasured(json.loads(path.read_text())) for path in folder.glob("*/training.json")}


def weights(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob("*/model.safetensors")}


@pytest.fixture(autouse=True)
def _threads() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_one_worker_or_two_of_whom_two_die_give_the_same_models(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    virtual.use(monkeypatch)
    told: list[Trained] = []
    found = run(start, tmp_path / "one", workers=1, told=told.append)
    assert [one.folder.name for one in found] == [one.folder.name for one in told] == ["seed-0", "seed-1", "seed-2"]
    made = virtual.use(monkeypatch, deaths=2)
    run(start, tmp_path / "two", workers=2)
    assert len(made[0].done) == 5
    assert receipts(tmp_path / "one") == receipts(tmp_path / "two")
    assert weights(tmp_path / "one") == weights(tmp_path / "two")
    assert len(set(weights(tmp_path / "one").values())) == 3


def test_what_is_there_is_not_trained_again_here_or_by_workers(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.train

    def stopping(model: Any, data: Any, dev: Any, recipe: Recipe, **given: Any) -> Any:
        if recipe.seed == 2:
            raise KeyboardInterrupt
        return real(model, data, dev, recipe, **given)

    with monkeypatch.context() as patched:
        patched.setattr(module, "train", stopping)
        with pytest.raises(KeyboardInterrupt, match=r"what was done is in '.*out', and the same call resumes"):
            run(start, tmp_path / "out")
    before = weights(tmp_path / "out")
    assert set(before) == {"seed-0", "seed-1"}
    virtual.use(monkeypatch)
    assert [one.receipt["asked"]["seed"] for one in run(start, tmp_path / "out", workers=2)] == list(SEEDS)
    after = weights(tmp_path / "out")
    assert {name: after[name] for name in before} == before
    assert set(after) == {"seed-0", "seed-1", "seed-2"}


def test_a_training_without_a_model_does_not_stop_the_others(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    virtual.use(monkeypatch)
    bounds: dict[str, Any] = {"bound_train": 1e-9, "bound_validation": 1e-9}
    asked = recipe("rationale_attention", combine="constrained", **bounds)
    for name, given in (("here", {}), ("workers", {"workers": 2})):
        with pytest.raises(UnmetError, match=r"no epoch kept the bound.*seed-0/unmet"):
            run(start, tmp_path / name, asked, **given)
        assert {path.name for path in (tmp_path / name).iterdir()} == {"seed-0", "seed-1", "seed-2"}


def test_who_kills_three_processes_is_given_up(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = virtual.use(monkeypatch, deaths=3)
    with pytest.raises(ModelError, match="3 processes died while they worked on the training of seed 0"):
        run(start, tmp_path, workers=1)
    assert made[0].stopped


def test_refusals_come_before_the_work(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="engine 'spark'"):
        run(start, tmp_path, engine="spark")
    with pytest.raises(InputError, match="in the validation data too"):
        wl.train_seeds(start, planted("dev"), planted("dev"), recipe(), seeds=[0], out=tmp_path, workers=2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingError, match="leave out --workers"):
        run(start, tmp_path, workers=2)
