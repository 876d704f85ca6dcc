"""Remove and retrain: what is trained on what and from where, once each, in a folder that knows whose it is."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

import masked
import planted_model
import quick
import tiny
import virtual
import whylight as wl
from planted_model import LABELS, Rule, ruled, saved
from whylight.core.errors import InputError, ModelError, SettingError, WhylightError
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run import shards
from whylight.study import retraining, roar as module
from whylight.study.removed import removed_count
from whylight.study.retrained import UNTOUCHED, Roar

DATA, DEV = planted_model.texts("train", 8), planted_model.texts("dev", 6)


class Trainings:
    """Stands in for the trainer: a receipt whose accuracy says on how many texts the label can still be read."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Dataset, Dataset, int, Path]] = []
        self.die_at: int | None = None

    def __call__(
        self, start: Any, data: Dataset, dev: Dataset, recipe: Any, *, out: Path, disjoint: bool, **_: Any
    ) -> None:
        assert not disjoint  # texts may become alike
        if len(self.calls) == self.die_at:
            self.die_at = None
            raise KeyboardInterrupt
        self.calls.append((str(start), data, dev, recipe.seed, out))
        readable = [any(word in record.example.key.split() for word in planted_model.DECISIVE) for record in dev]
        out.mkdir(parents=True)
        (out / "checkpoints").mkdir()
        (out / "model.safetensors").write_bytes(b"large")
        history = [{"eval_accuracy": 0.0}, {"eval_accuracy": float(np.mean(readable))}, {"train_loss": 1.0}]
        (out / "training.json").write_text(json.dumps({"history": history}))


OPENED: dict[str, Any] = {}
"""Encoders, each opened once for all tests without a real training."""


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    made, real = Trainings(), module.open_start

    def open_once(start: Any, *asked: Any) -> Any:
        if str(start) not in OPENED:
            OPENED[str(start)] = real(start, *asked)
        return OPENED[str(start)]

    monkeypatch.setattr(retraining, "train", made)
    monkeypatch.setattr(module, "open_start", open_once)
    return made


@pytest.fixture
def run(encoder: Path, tmp_path: Path) -> Callable[..., Roar]:
    def call(classifier: Any = None, data: Dataset = DATA, dev: Dataset = DEV, **asked: Any) -> Roar:
        usual = {"encoder": encoder, "methods": ["occlusion"], "out": tmp_path / "out", "shares": [0.1], "seeds": [0]}
        return wl.roar(classifier or ruled(), data, dev, **{**usual, "progress": False, **asked})

    return call


def test_every_training_has_its_texts_without_the_words_of_its_method(
    run: Callable[..., Roar], trainings: Trainings, encoder: Path
) -> None:
    found = run(shares=[0.1, 0.3], seeds=[0, 1])
    expected = [(UNTOUCHED, 0.0), ("occlusion", 0.1), ("occlusion", 0.3), ("random", 0.1), ("random", 0.3)]
    assert [(row.method, row.share, row.seed) for row in found.rows] == [(*one, s) for one in expected for s in (0, 1)]
    assert {start for start, *_ in trainings.calls} == {str(encoder)}
    for row, (_, data, dev, seed, _) in zip(found.rows, trainings.calls, strict=True):
        assert seed == row.seed
        for before, after in ((DATA, data), (DEV, dev)):
            for one, other in zip(before, after, strict=True):
                old, new = one.example.key.split(), other.example.key.split()
                assert len(old) - len(new) == (removed_count(row.share, len(old)) if row.share else 0)
                assert one.labels == other.labels
                assert row.method != "occlusion" or not set(planted_model.DECISIVE) & set(new)
    accuracy = {(line.method, line.share): line.accuracy.mean for line in found.lines}
    assert accuracy[UNTOUCHED, 0.0] == 1.0
    assert accuracy["occlusion", 0.1] == accuracy["occlusion", 0.3] == 0.0
    assert accuracy["random", 0.1] > 0.5


def test_only_receipts_are_kept_and_a_stopped_study_trains_and_explains_nothing_twice(
    run: Callable[..., Roar], trainings: Trainings, tmp_path: Path
) -> None:
    whole = run(out=tmp_path / "whole")
    count = len(trainings.calls)
    for step in range(count):
        trainings.die_at = count + step
        with pytest.raises(KeyboardInterrupt, match="the same call resumes from there"):
            run()
    places = [place for *_, place in trainings.calls[count:]]
    rule = Rule()
    assert run(ruled(rule)) == whole
    assert rule.asked == 0
    assert len(trainings.calls) == 2 * count
    assert len(set(places)) == len(places) == count - 1  # the last call trained what was left
    kept = {path.name for path in (tmp_path / "out" / "trained").rglob("*") if path.is_file()}
    assert kept == {"training.json"}
    folder = trainings.calls[-1][-1]
    (folder / "model.safetensors").write_bytes(b"a kill came before it was removed")
    assert run() == whole
    assert [path.name for path in folder.iterdir()] == ["training.json"]


def test_one_worker_or_two_of_whom_some_die_give_the_same_table(
    run: Callable[..., Roar], trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, threads = saved(planted_model.model(), tmp_path / "model"), torch.get_num_threads()
    asked: dict[str, Any] = {"classifier": folder, "shares": [0.1, 0.3], "seeds": [0, 1]}
    virtual.use(monkeypatch)
    one = run(**asked, out=tmp_path / "one", workers=1)
    texts = [tuple(record.example.key for record in data) for _, data, *_ in trainings.calls]
    assert len(trainings.calls) == len(one.rows) == 10
    made = virtual.use(monkeypatch, deaths=1)
    assert run(**asked, out=tmp_path / "two", workers=2) == one
    assert [len(engine.done) for engine in made] == [2, 2, 11]  # shards of train and dev, and trainings; one each twice
    again = [tuple(record.example.key for record in data) for _, data, *_ in trainings.calls[10:]]
    assert sorted(again) == sorted(texts)  # what was done, but not said, is not done again
    assert run(**asked, out=tmp_path / "two") == one  # and it is the folder of a study without workers
    assert len(made) == 3
    torch.set_num_threads(threads)


def test_texts_that_workers_cannot_explain_are_said(
    run: Callable[..., Roar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    virtual.use(monkeypatch)
    monkeypatch.setattr(shards, "work_together", Mock(side_effect=ValueError("no answer")))
    folder, threads = saved(planted_model.model(), tmp_path / "model"), torch.get_num_threads()
    with pytest.raises(
        InputError, match=r"8 of 8 texts could not be explained; the column 'reason' of '.*train/texts'"
    ):
        run(classifier=folder, workers=1)
    torch.set_num_threads(threads)


def test_more_methods_shares_and_seeds_go_on_in_the_same_folder_and_explanations_serve_others(
    run: Callable[..., Roar], trainings: Trainings, tmp_path: Path
) -> None:
    first = run()
    more = run(shares=[0.1, 0.2], seeds=[0, 1])
    assert len(trainings.calls) == len(more.rows) == 2 + 4 * 2
    assert set(first.rows) < set(more.rows)
    assert run() == first
    wider = run(methods=["kernel_shap", "occlusion"])
    assert len(trainings.calls) == len(more.rows) + 1
    assert set(first.rows) < set(wider.rows)
    assert run() == first
    shutil.copytree(tmp_path / "out" / "explained", tmp_path / "other" / "explained")
    rule = Rule()
    assert run(ruled(rule), out=tmp_path / "other", epochs=1) == first
    assert rule.asked == 0


def test_the_folder_of_another_study_is_refused_by_what_differs(
    run: Callable[..., Roar], trainings: Trainings, tmp_path: Path
) -> None:
    run()
    other = saved(tiny.model("bert", seed=5).bert, tmp_path / "other")
    fewer = replace(DATA, records=DATA.records[:-2])
    differing: list[tuple[str, dict[str, Any]]] = [
        (r"another study, differing in settings \(epochs, patience\)", {"epochs": 1}),
        (r"another study, differing in weights", {"encoder": other}),
        (r"another study, differing in .*settings \(remover, remover_settings\)", infilled()),
        (r"explained/train' holds another run, differing in settings \(random\.seed\)", {"settings": {"seed": 1}}),
        (r"explained/train' holds another run, differing in data", {"data": fewer}),
        (r"explained/dev' holds another run, differing in data", {"dev": planted_model.texts("dev", 4)}),
        (r"explained/train' holds another run, differing in callable name", {"classifier": ruled(name="rule 2")}),
        (r"differing in settings \(target\)", {"options": Options(target="gold")}),
    ]
    for says, asked in differing:
        with pytest.raises(InputError, match=says):
            run(**asked)
    assert len(trainings.calls) == 3


def infilled() -> dict[str, Any]:
    return {"remover": "infill", "settings": {"infill.model": masked.folder()}}


def test_infill_keeps_the_length_of_texts(run: Callable[..., Roar], trainings: Trainings) -> None:
    run(shares=[0.3], methods=[], **infilled())
    _, data, *_ = trainings.calls[1]
    changed = 0
    for one, other in zip(DATA, data, strict=True):
        old, new = one.example.key.split(), other.example.key.split()
        changed += sum(before != after for before, after in zip(old, new, strict=True))
    assert 0 < changed <= 8 * removed_count(0.3, 10)


def test_the_target_says_whose_words_go(run: Callable[..., Roar], trainings: Trainings, tmp_path: Path) -> None:
    def both(split: str, *words: str) -> Dataset:
        texts = [Text(f"{one} great {one} awful") for one in words]  # the rule cannot tell, and says negative
        return Dataset("both", split, LABELS, tuple(Record(t.key, t, (LABELS[i % 2],)) for i, t in enumerate(texts)))

    texts = {}
    for target in ("predicted", "gold"):
        out = tmp_path / target
        run(data=both("train", "a", "b"), dev=both("dev", "c", "d"), out=out, options=Options(target=target))
        texts[target] = [record.example.key for record in trainings.calls[-2][1]]
    assert texts == {"predicted": ["a great a", "b great b"], "gold": ["a great a", "b b awful"]}


def test_what_a_method_removes_by_and_what_is_removed_are_two_things(
    run: Callable[..., Roar], trainings: Trainings
) -> None:
    run(options=Options(remover="infill"), settings={"infill.model": masked.folder()})
    _, data, *_ = trainings.calls[1]
    assert all(len(record.example.key.split()) == 9 for record in data)  # deleted, by infilled scores


def test_what_cannot_be_done_is_refused_before_the_work(
    run: Callable[..., Roar], trainings: Trainings, tmp_path: Path
) -> None:
    own = planted_model.classifier()
    folder = saved(planted_model.model(), tmp_path / "own")
    renamed = planted_model.model()
    renamed.config.id2label = dict(enumerate(map(str.upper, LABELS)))
    several = quick.classifier("bert", problem_type="multi_label_classification")
    refusals: list[tuple[type[WhylightError], str, dict[str, Any]]] = [
        (ModelError, "is the explained classifier itself; trainings start", {"classifier": own, "encoder": folder}),
        (ModelError, "is a classifier of these labels already", {"encoder": folder}),
        (ModelError, "explained classifier itself", {"classifier": own, "encoder": saved(renamed, tmp_path / "again")}),
        (ModelError, "there is no default", {"encoder": None}),
        (ModelError, "there is no folder", {"encoder": tmp_path / "none"}),
        (ModelError, "may predict several labels", {"classifier": several}),
        (ModelError, "identity='my-rule-v1'", {"classifier": wl.load(Rule(), labels=LABELS)}),
        (InputError, "several labels", {"data": replace(DATA, multi_label=True)}),
        (InputError, "what wl.dataset returns, not str", {"dev": "sst:trees"}),
        (InputError, "are in the validation data too", {"dev": DATA}),
        (SettingError, "'occlusion'", {"methods": ["occlusio"]}),
        (SettingError, "'mask' changes tokens", {"remover": "mask"}),
        (SettingError, "remover .*'dlete'", {"remover": "dlete"}),
        (SettingError, "needs a masked language model", {"remover": "infill", "settings": {"infill.model": ""}}),
        (SettingError, "at most 1, not 10", {"shares": [10]}),
        (SettingError, "above 0", {"shares": [0]}),
        (SettingError, "at least one of each", {"seeds": []}),
        (SettingError, "'seed'", {"seeds": [-1]}),
        (SettingError, "'epochs' must be above 0", {"epochs": 0}),
        (SettingError, "number of a training 'epoch'", {"epoch": 1}),
        (SettingError, "words of the whole text", {"options": Options(unit="token")}),
        (SettingError, "words of the whole text", {"options": Options(long="truncate")}),
        (SettingError, "leave out the target", {"options": Options(target="all")}),
        (SettingError, "for workers, name its folder", {"workers": 2}),
        (SettingError, "leave out --workers", {"workers": 2, "classifier": folder, "budget": 9.0}),
    ]
    for kind, says, asked in refusals:
        with pytest.raises(kind, match=says):
            run(**asked)
    assert trainings.calls == []
    assert not (tmp_path / "out").exists()
    assert run(own).rows  # with an encoder of its own, it is fine


def test_folders_of_methods_with_long_settings_have_short_names(tmp_path: Path) -> None:
    folders = {
        retraining.Cell(f"lime[remover=infill[model={'x' * 300}{end}]]", 0.1, 0).folder(tmp_path) for end in "ab"
    }
    assert len(folders) == 2
    for folder in folders:
        folder.mkdir(parents=True)


def test_a_folder_whose_name_the_system_takes_is_called_by_its_method(tmp_path: Path) -> None:
    """A study from before long names were shortened finds its trainings again."""
    for length in (151, 200, 255):
        name = f"lime[x={'y' * (length - len('lime[x=]-0.1-seed-0'))}]"
        own = retraining.Cell(name, 0.1, 0).folder(tmp_path)
        assert own.name == f"{name}-0.1-seed-0"
        own.mkdir(parents=True)
    assert len(retraining.Cell(f"{name}y", 0.1, 0).folder(tmp_path).name) < 200
