"""What a training starts from and says about it, and what it writes down of its labels."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_train import planted, recipe
from transformers import AutoModelForSequenceClassification

import tiny
import whylight as wl
from whylight.cli.evaluate import _warn_of_texts
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.data.dataset import Dataset
from whylight.data.descriptions import check_descriptions
from whylight.models import prepare as module
from whylight.models.bundled_start import ENCODER, ENCODER_NAME, SEEN, start_notes
from whylight.models.contents import model_contents
from whylight.models.prepare import describe_labels, prepare
from whylight.training.train import train

LABELS = ("negative", "positive")
DESCRIBED = {"negative": "the writer <b>did not</b> like it", "positive": "the writer liked it"}


def opened(model: str | None, **options: Any) -> Any:
    return prepare(model, labels=LABELS, multi_label=False, **options)


def test_the_bundled_encoder_starts_without_the_head_of_the_bundled_model() -> None:
    kept, new, other = opened(None), opened(ENCODER), opened(ENCODER_NAME, seed=1)
    assert not kept.fresh
    assert new.fresh
    assert other.fresh
    heads = [one.model.classifier.weight for one in (kept, new, other)]
    assert not any(torch.equal(a, b) for a, b in zip(heads, heads[1:] + heads[:1], strict=True))
    encoders = [one.model.bert.state_dict() for one in (kept, new)]
    assert all(torch.equal(encoders[0][name], encoders[1][name]) for name in encoders[0])


def test_a_folder_called_encoder_is_not_taken_for_the_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.model("bert").save_pretrained("encoder")
    tiny.tokenizer("bert").save_pretrained("encoder")
    with pytest.raises(SettingError, match=r"write './encoder' for the folder, or 'whylight/encoder'"):
        opened(ENCODER)
    own = opened("./encoder").model.config.hidden_size
    assert own != opened(ENCODER_NAME).model.config.hidden_size


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (("sst", "train"), ["the bundled model was trained on 'sst' (train)"]),
        (("stanfordnlp/SST2", "dev"), ["the epoch of the bundled model was chosen on 'stanfordnlp/SST2' (dev)"]),
        (("sst", "test"), []),
        (("rt_polarity", "test"), ["'rt_polarity' (test) holds sentences that the bundled model was trained on"]),
        (("imdb", "train"), []),
    ],
)
def test_data_that_the_bundled_model_has_seen_are_named(data: tuple[str, str], said: list[str]) -> None:
    first, *others = start_notes(ENCODER, fresh=True, data=(data, data))
    assert SEEN in first
    assert others == said
    assert start_notes("my/own-model", fresh=True, data=(data,)) == []
    assert "--model encoder" in start_notes(None, fresh=False, data=())[0]


def test_a_folder_says_what_its_start_has_seen_and_what_labels_stand_for(
    tmp_path: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLED", start)  # a tiny one in place of the bundled model
    data, dev = (replace(planted(split, size=8), name="sst") for split in ("train", "dev"))

    def trained(described: dict[str, str]) -> Any:
        return train(ENCODER, data, dev, recipe(epochs=1), out=tmp_path, label_descriptions=described, progress=False)

    found = trained(DESCRIBED)
    notes = json.loads((tmp_path / "training.json").read_text())["notes"]
    assert notes == found.receipt["notes"]
    assert len(notes) == 3
    assert "with a new head" in notes[0]
    assert "was trained on 'sst' (train)" in notes[1]
    assert json.loads((tmp_path / "config.json").read_text())["label_descriptions"] == DESCRIBED
    assert wl.load(tmp_path).labels.descriptions == tuple(DESCRIBED.values())
    with pytest.raises(InputError, match="label_descriptions"):
        trained({"positive": "good"})


def test_a_corpus_hands_its_descriptions_over_and_others_do_not_stay() -> None:
    data = wl.dataset("discharge:", split="dev", size=1)
    assert set(data.label_descriptions) == set(data.label_names)
    assert data.label_descriptions["I10"] == "Essential (primary) hypertension"
    config = tiny.config("bert")
    describe_labels(config, data.label_names, data.label_descriptions)
    assert config.label_descriptions == data.label_descriptions
    describe_labels(config, ("I10", "new"), {"new": "something else"})
    assert config.label_descriptions == {"I10": data.label_descriptions["I10"], "new": "something else"}
    renamed = data.relabelled({name: "heart" if name.startswith("I2") else name for name in data.label_names})
    assert "heart" not in renamed.label_descriptions
    assert renamed.label_descriptions["I10"] == data.label_descriptions["I10"]


def test_descriptions_change_neither_answers_nor_whose_results_a_folder_holds() -> None:
    model, tokenizer = tiny.model("bert"), tiny.tokenizer("bert")
    before = model_contents(model, tokenizer)
    model.config.label_descriptions = {"LABEL_0": "first", "strange": "no label of this model"}
    assert model_contents(model, tokenizer) == before
    clf = wl.load(model, tokenizer)
    assert clf.labels.descriptions == ("first", None)
    assert wl.load(model, tokenizer, labels=["a", "b"]).labels.target(0).description == "first"
    assert wl.explain(clf, "good", method="random", target=0).to_dicts()[0]["target"]["description"] == "first"


@pytest.mark.parametrize("wrong", [["first"], {"LABEL_0": 3}])
def test_a_model_with_descriptions_that_are_none_is_refused(tmp_path: Path, wrong: Any) -> None:
    model, tokenizer = tiny.model("bert"), tiny.tokenizer("bert")
    model.config.label_descriptions = wrong
    with pytest.raises(ModelError, match="label_descriptions of the model must give texts to labels, and"):
        wl.load(model, tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"label_descriptions in config\.json must give texts to labels, and"):
        wl.load(tmp_path)


FILES = {
    "a.json": '{"negative": "bad", "positive": " good "}',
    "a.csv": 'label,description\nnegative,bad\n"positive",good\n',
    "a.tsv": "negative\tbad\npositive\tgood\n",
}


@pytest.mark.parametrize("name", FILES)
def test_descriptions_are_read_from_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    assert check_descriptions(str(tmp_path / name), LABELS) == {"negative": "bad", "positive": "good"}
    assert check_descriptions({"positive": " "}, LABELS) == {}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"neutral": "so so"}', "the label 'neutral' is described, and the data have no such label."),
        ("a.json", '{"positive": 3}', "the description of the label 'positive' is not a text, but 3."),
        ("a.json", '["positive"]', "is not a JSON object that gives each label a text."),
        ("a.json", '{"positive": "a", "positive": "b"}', "has the key 'positive' twice."),
        ("a.csv", "positive,good,very\n", "line 1 of '.*' has 3 columns, and not two"),
        ("a.tsv", "positive\tgood\npositive\tbad\n", "line 2 of '.*' describes the label 'positive' once more."),
        ("a.txt", "positive", "descriptions are in .json, .csv or .tsv."),
        ("b.json", None, "is not a file."),
    ],
)
def test_what_describes_no_label_is_refused_in_one_sentence(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said) as refused:
        check_descriptions(tmp_path / name, LABELS)
    assert "\n" not in str(refused.value)


def test_a_mapping_is_asked_for() -> None:
    with pytest.raises(SettingError, match="a mapping from labels to texts, or a file, not list"):
        check_descriptions(["positive"], LABELS)
    assert Dataset("a", "train", LABELS, ()).label_descriptions == {}


@pytest.mark.parametrize(("models", "warned"), [([None], True), (["whylight/sentiment", "x"], True), (["x"], False)])
def test_an_evaluation_of_the_bundled_model_on_its_own_texts_says_so(
    *, models: list[str | None], warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    _warn_of_texts(replace(planted("train", size=8), name="sst"), models)
    said = capsys.readouterr().err
    assert ("was trained on 'sst' (train)" in " ".join(said.split())) is warned


def test_data_with_some_labels_of_the_start_train_the_head_that_is_there(tmp_path: Path, start: Path) -> None:
    names = ["positive", "other", "negative"]  # another order than the data's, and one that they do not have
    old = AutoModelForSequenceClassification.from_pretrained(start, num_labels=3, ignore_mismatched_sizes=True)
    old.config.id2label, old.config.label2id = dict(enumerate(names)), {name: i for i, name in enumerate(names)}
    old.save_pretrained(tmp_path / "start")
    tiny.tokenizer("bert").save_pretrained(tmp_path / "start")
    data, dev = (planted(split, size=8) for split in ("train", "dev"))
    found = train(tmp_path / "start", data, dev, recipe(epochs=1, learning_rate=1e-9), out=tmp_path / "out")
    assert found.receipt["fresh_head"] is False
    kept = wl.load(found.folder)
    assert list(kept.labels.names) == names
    assert torch.allclose(kept.model.classifier.weight, old.classifier.weight, atol=1e-6)
    strange = data.relabelled({"positive": "good", "negative": "bad"})
    other = train(tmp_path / "start", strange, strange, recipe(epochs=1), out=tmp_path / "new", disjoint=False)
    assert other.receipt["fresh_head"] is True
    assert wl.load(other.folder).labels.names == ("bad", "good")
