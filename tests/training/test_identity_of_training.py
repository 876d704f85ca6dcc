"""The folder of a training or a search knows its data, its first weights and its settings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from transformers import AutoModelForSequenceClassification

import tiny
import whylight as wl
from whylight.core.errors import InputError, ModelError
from whylight.core.identity import Identity
from whylight.data.dataset import Dataset
from whylight.training.folder import claimed_by_one, last_checkpoint, mark_started
from whylight.training.recipe import recipe
from whylight.training.trainer import ReasonTrainer
from whylight.training.trials import NAME
from whylight.training.tune import tune

NUMBERS: dict[str, Any] = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}
FLIPPED = {"negative": "positive", "positive": "negative"}


def planted(split: str) -> Dataset:
    return wl.dataset("planted:", split=split, size=8, length=9)


def mirrored(data: Dataset) -> Dataset:
    """Give every text the other label, under the same name."""
    records = [replace(one, labels=(FLIPPED[one.labels[0]],), rationales={}) for one in data]
    return replace(data, records=tuple(records))


def fit(start: Path | None, out: Path, data: Dataset | None = None) -> Any:
    return wl.train(start, data or planted("train"), planted("dev"), out=out, progress=False, **NUMBERS)


def search(start: Path, out: Path, data: Dataset | None = None) -> Any:
    both = data or planted("train"), planted("dev")
    asked = recipe(**NUMBERS)
    return tune(start, *both, asked, out=out, search=["learning_rate=1e-3,1e-4"], trials=1, progress=False)


@pytest.fixture
def own_start(tmp_path: Path) -> Path:
    """A model of this test's own, which it may train on."""
    folder = tmp_path / "start"
    tiny.model("bert").save_pretrained(folder)
    tiny.tokenizer("bert").save_pretrained(folder)
    return folder


def retrain(folder: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.base_model.embeddings.word_embeddings.weight += 0.01
    model.save_pretrained(folder)


@pytest.mark.parametrize("work", [fit, search])
def test_a_finished_folder_does_not_answer_for_other_labels_or_other_first_weights(
    work: Any, own_start: Path, tmp_path: Path
) -> None:
    work(own_start, tmp_path / "out")
    with pytest.raises(InputError, match=r"holds another \w+, differing in training data; name another folder"):
        work(own_start, tmp_path / "out", mirrored(planted("train")))
    retrain(own_start)
    with pytest.raises(InputError, match=r"holds another \w+, differing in weights; name another folder"):
        work(own_start, tmp_path / "out")


def test_a_training_that_was_stopped_does_not_go_on_with_other_weights(
    own_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ReasonTrainer, "compute_loss", stopping)
        with pytest.raises(KeyboardInterrupt, match="the same call resumes from there"):
            fit(own_start, tmp_path / "out")
    retrain(own_start)
    with pytest.raises(InputError, match="another training that was not finished, differing in weights"):
        fit(own_start, tmp_path / "out")


def test_folders_of_version_0_1_are_named_and_not_taken(own_start: Path, tmp_path: Path) -> None:
    says = r"made by whylight 0\.1, which did not note"
    for name in ("half", "whole", "search"):
        (tmp_path / name / "checkpoints").mkdir(parents=True)
    (tmp_path / "half" / "checkpoints" / "training").write_text("0123456789ab")
    (tmp_path / "whole" / "training.json").write_text(json.dumps({"training": "0123456789ab", "asked": {"seed": 0}}))
    for name in ("half", "whole"):
        with pytest.raises(InputError, match=says):
            fit(own_start, tmp_path / name)
    storage = f"sqlite:///{tmp_path / 'search' / 'study.db'}"
    study = optuna.create_study(study_name=NAME, storage=storage)
    study.set_user_attr("question", "0123456789ab")
    study.tell(study.ask(), 1.0)
    with pytest.raises(InputError, match=says):
        search(own_start, tmp_path / "search")


def test_a_kill_between_the_model_and_its_receipt_is_made_good(own_start: Path, tmp_path: Path) -> None:
    whole = fit(own_start, tmp_path / "whole")
    identity = Identity(contents=whole.receipt["asked"]["contents"], settings={}, names={})
    asked = {**whole.receipt["asked"]}
    part = tmp_path / "part"
    (part / "checkpoints").mkdir(parents=True)
    mark = {"training": whole.receipt["training"], "asked": asked}
    (part / "checkpoints" / "training").write_text(json.dumps(mark))
    (part / "config.json").write_text("{}")
    (part / "model.safetensors").write_bytes(b"of before the kill")
    fit(own_start, part)
    assert (part / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert {path.name for path in part.iterdir()} == {path.name for path in (tmp_path / "whole").iterdir()}
    assert identity.name != whole.receipt["training"]


def test_a_checkpoint_whose_state_is_cut_off_does_not_count(tmp_path: Path) -> None:
    for number, content in ((1, "{}"), (2, '{"epoch": 1'), (3, "")):
        (tmp_path / f"checkpoint-{number}").mkdir()
        (tmp_path / f"checkpoint-{number}" / "trainer_state.json").write_text(content)
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-1")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-1"]


def test_a_folder_that_cannot_be_is_said_in_one_sentence(own_start: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for work in (fit, search):
        for place in ("file", "file/below", "x" * 300, "a\0b", "/proc/whylight"):
            with pytest.raises(InputError, match=r"^cannot write .*\.$"):
                work(own_start, tmp_path / place)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "training.json").write_text("{")
    with pytest.raises(InputError, match=r"training\.json' is damaged"):
        fit(own_start, tmp_path / "damaged")
    (tmp_path / "damaged" / "training.json").unlink()
    (tmp_path / "damaged" / "study.db").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match=r"cannot use '.*study\.db', which keeps the trials"):
        search(own_start, tmp_path / "damaged")


def test_a_folder_whose_name_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InputError, match="its name is not UTF-8"), claimed_by_one(Path("caf\udce9")):
        pass


def test_a_checkpoint_that_cannot_be_written_is_one_sentence(
    own_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (OSError(28, "No space left on device"), RuntimeError("PytorchStreamWriter failed writing file")):

        def full(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(ReasonTrainer, "_save_optimizer_and_scheduler", full)
            with pytest.raises(InputError, match=r"cannot write .*(No space left|failed writing)"):
                fit(own_start, tmp_path / "out")
    fit(own_start, tmp_path / "out")
    assert (tmp_path / "out" / "config.json").is_file()


def test_a_model_in_memory_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not from a BertForSequenceClassification: save it first"):
        fit(tiny.model("bert"), tmp_path / "out")


def test_the_mark_of_a_training_is_written_once(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    one = Identity(contents={"weights": "1"}, settings={"seed": 0}, names={"model": "a"})
    mark_started(tmp_path, one)
    before = (tmp_path / "checkpoints" / "training").read_text()
    mark_started(tmp_path, replace(one, names={"model": "b"}))
    assert (tmp_path / "checkpoints" / "training").read_text() == before
    with pytest.raises(InputError, match=r"differing in settings \(seed\)"):
        mark_started(tmp_path, replace(one, settings={"seed": 1}))
