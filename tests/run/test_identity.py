"""A folder of results knows its data, its weights and its settings: anything else in them is refused by name."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import whylight as wl
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Block, Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.models.load import load
from whylight.run import book, shards as module
from whylight.store import runs, tables

WORDS = tuple(Span(0, start, end) for start, end in ((0, 1), (2, 6), (7, 11)))
RECORD = Record("1", Text("a good film", None, WORDS), ("positive",), {"positive": Rationale((WORDS[1],))})
OTHERS: dict[str, Callable[[Record], Record]] = {
    "id": lambda one: dataclasses.replace(one, id="2"),
    "example.text": lambda one: _with(one, text="a dull film"),
    "example.pair": lambda one: _with(one, pair="a film"),
    "example.words": lambda one: _with(one, words=WORDS[:2]),
    "example.blocks": lambda one: _with(one, blocks=(Block("example 1", "a fine film"),)),
    "labels": lambda one: dataclasses.replace(one, labels=("negative",)),
    "rationales": lambda one: dataclasses.replace(one, rationales={"positive": Rationale((WORDS[2],))}),
}


def _with(record: Record, **changes: Any) -> Record:
    return dataclasses.replace(record, example=dataclasses.replace(record.example, **changes))


def corpus(*records: Record, names: tuple[str, ...] = ("negative", "positive")) -> Dataset:
    return Dataset("reviews", "test", names, records)


def flipped(texts: list[str]) -> Any:
    return np.tile([0.3, 0.7], (len(texts), 1))


def evaluate(classifier: Any, data: Dataset, out: Path, **options: Any) -> Any:
    asked = {"methods": ["input_x_gradient"], "metrics": ["aopc_comprehensiveness"], "progress": False, **options}
    return wl.evaluate(classifier, data, out=out, **asked)


@pytest.fixture
def model() -> Any:
    return tiny.model("bert", id2label={0: "negative", 1: "positive"}, label2id={"negative": 0, "positive": 1})


def test_every_field_of_a_record_is_part_of_the_data() -> None:
    fields = {one.name for one in dataclasses.fields(Record)} - {"example"}
    fields |= {f"example.{one.name}" for one in dataclasses.fields(Text)}
    assert fields == OTHERS.keys()  # a new field must be hashed, too
    own = corpus(RECORD).fingerprint()
    assert own == dataclasses.replace(corpus(RECORD), name="other", notes=("a note",)).fingerprint()
    for name, change in OTHERS.items():
        assert corpus(change(RECORD)).fingerprint() != own, name
    assert corpus(RECORD, names=("positive", "negative")).fingerprint() != own
    assert dataclasses.replace(corpus(RECORD), multi_label=True).fingerprint() != own
    two = _with(RECORD, text="b"), _with(RECORD, text="c")
    assert corpus(*two).fingerprint() != corpus(*reversed(two)).fingerprint()


@pytest.mark.parametrize("architecture", ["bert", "roberta", "llama", "plm_ca"])
def test_a_model_is_known_by_weights_configuration_and_tokenizer(architecture: str) -> None:
    one = tiny.classifier(architecture)
    own = one.contents()
    assert own == tiny.classifier(architecture).contents()
    wl.explain(one, "a good film", method="occlusion")
    assert one.contents() == own
    with torch.no_grad():
        last = next(value for value in reversed(list(one.model.parameters())) if value.numel())
        last.view(-1)[-1] += 1e-3
    assert {name for name in own if one.contents()[name] != own[name]} == {"weights"}
    one.model.config.layer_norm_eps = 0.5
    assert {name for name in own if one.contents()[name] != own[name]} == {"weights", "configuration"}


def test_a_run_is_not_answered_from_other_weights(model: Any, tmp_path: Path) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    first = list(evaluate(clf, corpus(RECORD), tmp_path).scores)
    assert evaluate(clf, corpus(RECORD), tmp_path).scores == first
    with torch.no_grad():
        model.classifier.bias += torch.tensor([0.0, 5.0])
    with pytest.raises(InputError, match=r"holds another run, differing in weights; name another folder\.$"):
        evaluate(clf, corpus(RECORD), tmp_path)


def test_a_run_is_not_answered_from_other_data_or_settings(model: Any, tmp_path: Path) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    evaluate(clf, corpus(RECORD), tmp_path)
    for name, change in OTHERS.items():
        with pytest.raises(InputError, match="holds another run, differing in data; name another folder"):
            evaluate(clf, corpus(change(RECORD)), tmp_path)
        assert name
    with pytest.raises(InputError, match=r"differing in settings \(zero_non_alphanumeric\); name another folder\.$"):
        evaluate(clf, corpus(RECORD), tmp_path, zero_non_alphanumeric=True)
    with pytest.raises(InputError, match=r"differing in data and settings \(unit\)"):
        evaluate(clf, corpus(OTHERS["id"](RECORD)), tmp_path, options=wl.Options(unit="token"))


def test_other_tuning_data_make_another_run(model: Any, tmp_path: Path) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    tune = [corpus(dataclasses.replace(_with(RECORD, text=text), id="t")) for text in ("b good film", "c good film")]
    asked = {"metrics": ["token_f1"]}
    evaluate(clf, corpus(RECORD), tmp_path, tune=tune[0], **asked)
    with pytest.raises(InputError, match="differing in tuning data; name"):
        evaluate(clf, corpus(RECORD), tmp_path, tune=tune[1], **asked)


def test_a_run_that_was_stopped_does_not_go_on_with_another_model(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    data = corpus(RECORD, dataclasses.replace(RECORD, id="2"))
    real, seen = module.work_together, []

    def failing(*arguments: Any, **options: Any) -> Any:
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(module, "work_together", failing)
    with pytest.raises(KeyboardInterrupt, match=r"what was done is in .* the same call resumes from there"):
        evaluate(clf, data, tmp_path)
    assert len(runs.read(tmp_path).scores) == 3  # written although no time had passed
    before = model.classifier.bias.detach().clone()
    with torch.no_grad():
        model.classifier.bias += 1.0
    with pytest.raises(InputError, match="differing in weights"):
        evaluate(clf, data, tmp_path)
    with torch.no_grad():
        model.classifier.bias.copy_(before)
    assert len(evaluate(clf, data, tmp_path).scores) == 6
    assert len(seen) == 3


def test_a_model_that_moved_is_the_same_model(model: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        model.save_pretrained(tmp_path / name)
        tiny.tokenizer("bert").save_pretrained(tmp_path / name)
    evaluate(load(tmp_path / "one"), corpus(RECORD), tmp_path / "run")
    evaluate(load(tmp_path / "two"), corpus(RECORD), tmp_path / "run")


def test_a_callable_needs_a_name_of_the_users_to_have_a_folder(tmp_path: Path) -> None:
    asked = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness"]}
    labels = ["negative", "positive"]
    nameless = load(flipped, labels=labels)
    with pytest.raises(ModelError, match=r"identity='my-rule-v1'"):
        evaluate(nameless, corpus(RECORD), tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()
    assert wl.evaluate(nameless, corpus(RECORD), progress=False, **asked).scores
    evaluate(load(flipped, labels=labels, identity="rule-1"), corpus(RECORD), tmp_path / "run", **asked)
    with pytest.raises(InputError, match="differing in callable name; name"):
        evaluate(load(flipped, labels=labels, identity="rule-2"), corpus(RECORD), tmp_path / "run", **asked)
    with pytest.raises(SettingError, match="identity= is the name of a callable"):
        load(identity="sentiment")


def test_a_folder_of_version_0_1_is_named_and_not_taken(model: Any, tmp_path: Path) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    evaluate(clf, corpus(RECORD), tmp_path / "new")
    manifest = json.loads((tmp_path / "new" / runs.MANIFEST).read_text(encoding="utf-8"))
    asked = {name: value for name, value in manifest["asked"].items() if name != "contents"}
    old = tables.RUNS.remove(tables.RUNS.get_field_index("done"))
    about = {"run": "old", "asked": json.dumps(asked), "rows_run": 1, "seconds": 1.0, "peak_megabytes": None}
    tables.write(tmp_path / "runs.parquet", [about], old)
    with pytest.raises(InputError, match=r"made by whylight 0\.1, which did not note"):
        evaluate(clf, corpus(RECORD), tmp_path)


def test_two_records_of_one_id_are_refused(model: Any, tmp_path: Path) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    with pytest.raises(InputError, match="two records of 'reviews' \\(test\\) have the id '1'"):
        evaluate(clf, corpus(RECORD, RECORD), tmp_path)


def test_options_are_honoured_or_refused(model: Any) -> None:
    clf = load(model, tiny.tokenizer("bert"))
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness"], "progress": False}
    found = wl.evaluate(clf, corpus(RECORD), options=wl.Options(remover="delete"), **asked)
    assert {row["remover"] for row in found.scores} == {"delete"}
    assert {row["remover"] for row in found.explanations if row["method"] == "occlusion"} == {"delete"}
    scored = wl.evaluate(clf, corpus(RECORD), options=wl.Options(score="probability", unit="token"), **asked)
    assert {(row["score_space"], row["unit"]) for row in scored.explanations if row["method"] == "occlusion"} == {
        ("probability", "token")
    }
    with pytest.raises(SettingError, match="'mask' by itself and 'delete' in the options"):
        wl.evaluate(clf, corpus(RECORD), remover="mask", options=wl.Options(remover="delete"), **asked)
    with pytest.raises(SettingError, match="leave out the target 'all'"):
        wl.evaluate(clf, corpus(RECORD), options=wl.Options(target="all"), **asked)
    with pytest.raises(SettingError, match="unknown value for 'unit' 'wurd'"):
        wl.Options(unit="wurd")  # type: ignore[arg-type]


def test_results_are_written_only_where_a_folder_is_named(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book.files, "write", lambda *_: pytest.fail("nothing was to be written"))
    clf = load(model, tiny.tokenizer("bert"))
    assert wl.evaluate(clf, corpus(RECORD), methods=["attention"], progress=False).scores
