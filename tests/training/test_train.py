"""Training from end to end on tiny models: folders, resumption, bounds and refusals."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification

import tiny
import whylight as wl
from whylight.cli.main import run as command_line
from whylight.core.errors import InputError, ModelError, SettingError, UnmetError
from whylight.data.dataset import Dataset
from whylight.training.figures import BY_DOCUMENT, BY_LABEL
from whylight.training.folder import claimed_by_one
from whylight.training.masking import BETAS
from whylight.training.recipe import Recipe, make_terms
from whylight.training.train import train
from whylight.training.trainer import ReasonTrainer


def planted(split: str, size: int = 24, **settings: Any) -> Dataset:
    return wl.dataset("planted:", split=split, size=size, **{"length": 9, **settings})


def recipe(*objectives: str, combine: Any = "joint", **numbers: Any) -> Recipe:
    numbers = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3, **numbers}
    return Recipe(terms=make_terms(objectives, {}, combine=combine), combine=combine, **numbers)


def run(start: Path, out: Path, asked: Recipe, **options: Any) -> Any:
    return train(start, planted("train"), planted("dev"), asked, out=out, progress=False, **options)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(AutoModelForSequenceClassification.from_pretrained(folder).state_dict())


@pytest.mark.usefixtures("drawn")
def test_the_result_is_an_ordinary_folder_with_a_receipt(start: Path, tmp_path: Path) -> None:
    found = run(start, tmp_path / "out", recipe("rationale_attention"))
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json",
                     "curves.svg"}  # fmt: skip
    receipt = json.loads((tmp_path / "out" / "training.json").read_text())
    assert receipt == found.receipt
    assert receipt["asked"]["terms"][1]["name"] == "rationale_attention"
    assert {"accuracy", "term_rationale_attention", "labels"} <= receipt["validation"].keys()
    clf = wl.load(tmp_path / "out")
    assert clf.labels.names == ("negative", "positive")
    wl.explain(clf, "a good film", method="attention")
    assert "rationale attention" in (tmp_path / "out" / "curves.svg").read_text()


def test_training_learns_what_it_is_asked(start: Path, tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"epochs": 14, "patience": 14, "learning_rate": 3e-3}
    last = {}
    for weight in ("100", "1e-9"):
        found = run(start, tmp_path / weight, recipe(f"rationale_attention={weight}", **numbers)).receipt
        last[weight] = [one["rationale_attention"] for one in found["history"] if "rationale_attention" in one][-1]
    assert last["100"] < 0.9 * last["1e-9"]


def test_a_killed_training_goes_on_and_ends_where_an_uninterrupted_one_does(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recipe("rationale_attention", combine="constrained", bound_train=0.05, bound_validation=10.0, epochs=3)
    whole = run(start, tmp_path / "whole", asked)
    real, steps = ReasonTrainer.compute_loss, []

    def failing(self: Any, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 5:  # in the middle of the second epoch of three steps each
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    monkeypatch.setattr(ReasonTrainer, "compute_loss", failing)
    with pytest.raises(KeyboardInterrupt):
        run(start, tmp_path / "part", asked)
    assert not (tmp_path / "part" / "config.json").exists()
    (tmp_path / "part" / "checkpoints" / "checkpoint-99").mkdir()  # a kill while a checkpoint was written
    again = run(start, tmp_path / "part", asked)
    assert len(steps) == 5 + 6
    ends = [one.receipt["history"][-1].get("train_loss") for one in (whole, again)]
    assert again.receipt["validation"]["labels"] == whole.receipt["validation"]["labels"], ends
    for name, value in weights(tmp_path / "whole").items():
        assert torch.equal(value, weights(tmp_path / "part")[name]), name


def test_a_finished_training_is_not_done_again_and_a_folder_holds_one(start: Path, tmp_path: Path) -> None:
    first = run(start, tmp_path, recipe())
    before = (tmp_path / "model.safetensors").stat().st_mtime_ns
    assert run(start, tmp_path, recipe()).receipt == first.receipt
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="another training"):
        run(start, tmp_path, recipe(seed=1))
    with pytest.raises(InputError, match="holds a model already"):
        run(start, start, recipe())


def test_a_training_bound_that_asks_for_nothing_is_named(start: Path, tmp_path: Path) -> None:
    asked = recipe("rationale_attention", combine="constrained", bound_train=1e9, bound_validation=1e-9)
    with pytest.raises(UnmetError, match=r"Training texts kept theirs \(1e\+09\).* lower it"):
        run(start, tmp_path, asked)


def test_a_folder_in_which_another_process_is_at_work_is_left_alone(start: Path, tmp_path: Path) -> None:
    half = tmp_path / "checkpoints" / "checkpoint-1"
    half.mkdir(parents=True)
    (half / "model.safetensors").write_bytes(b"being written")
    with claimed_by_one(tmp_path / "checkpoints"), pytest.raises(InputError, match="another process is at work"):
        run(start, tmp_path, recipe())
    assert (half / "model.safetensors").read_bytes() == b"being written"
    run(start, tmp_path, recipe())
    assert (tmp_path / "model.safetensors").is_file()
    assert not list(tmp_path.glob(".*"))


def test_a_bound_that_is_not_met_says_so_and_keeps_the_closest(start: Path, tmp_path: Path) -> None:
    asked = recipe("rationale_attention", combine="constrained", bound_train=1e-9, bound_validation=1e-9)
    for _ in range(2):  # asked again, the answer is the same
        with pytest.raises(UnmetError, match="no epoch kept the bound") as raised:
            run(start, tmp_path, asked)
        assert raised.value.exit_code == 3
    assert "lower it" not in str(raised.value)
    assert not (tmp_path / "config.json").exists()
    wl.load(tmp_path / "unmet")
    assert json.loads((tmp_path / "training.json").read_text())["unmet"] is True


def test_bounds_are_proposed_from_the_lowest_losses(start: Path, tmp_path: Path) -> None:
    found = run(start, tmp_path, recipe("rationale_attention", combine="alone", epochs=12)).receipt
    lowest = min(one["rationale_attention"] for one in found["history"] if "rationale_attention" in one)
    assert found["bounds"]["train"] == pytest.approx(1.5 * lowest)
    assert found["bounds"]["validation"] == min(one["eval_rest"] for one in found["history"] if "eval_rest" in one)


def test_accumulated_parts_train_as_the_whole_batch_does(tmp_path: Path) -> None:
    folder = tmp_path / "calm"
    tiny.model("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).save_pretrained(folder)
    tiny.tokenizer("bert").save_pretrained(folder)
    run(folder, tmp_path / "whole", recipe(epochs=1))
    run(folder, tmp_path / "parts", recipe(epochs=1, micro_batch=4))
    before, whole, parts = weights(folder), weights(tmp_path / "whole"), weights(tmp_path / "parts")
    for name, value in whole.items():
        assert torch.allclose(value, parts[name], atol=2e-4), name
    assert any(float((value - before[name]).abs().max()) > 1e-3 for name, value in whole.items() if name in before)


def test_several_labels_with_label_attention(start: Path, tmp_path: Path) -> None:
    data, dev = (planted(split, multi_label=True, size=32, length=14) for split in ("train", "dev"))
    bare = tuple(replace(record, labels=(), rationales={}) for record in dev)
    with pytest.raises(InputError, match="no validation text has a label"):
        train(start, data, replace(dev, records=bare), recipe(), out=tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()
    dev = replace(dev, records=(*bare[:2], *dev.records[2:]))
    asked = recipe("attention_supervision", epochs=3)
    found = train(start, data, dev, asked, out=tmp_path / "out", architecture="plm_ca", progress=False)
    figures = found.receipt["validation"]
    assert {"micro_f1", "macro_f1", BY_DOCUMENT, BY_LABEL} <= figures.keys()
    assert found.receipt["asked"]["checkpoint_chosen_by"] == BY_DOCUMENT
    assert figures["selection"] == -figures[BY_DOCUMENT]
    assert figures["documents_without_labels"] == sum(not record.labels for record in dev) > 1
    again = train(start, data, dev, asked, out=tmp_path / "out", architecture="plm_ca", progress=False)
    for one in (found, again):
        with pytest.raises(SettingError, match=rf"{BY_DOCUMENT}.*{BY_LABEL}"):
            one.receipt["validation"]["mean_average_precision"]
    clf = wl.load(tmp_path / "out")
    assert clf.labels.names == data.label_names
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["decision_threshold"] == found.receipt["threshold"]


def test_masking_needs_a_teacher_and_gets_one(start: Path, tmp_path: Path) -> None:
    data, dev = planted("train", size=8), planted("dev", size=8)
    found = train(start, data, dev, recipe("token_masking", epochs=1), out=tmp_path, progress=False)
    tried = found.receipt["betas_tried"]
    assert [one["beta"] for one in tried] == list(BETAS[: len(tried)])
    assert [one["harmless"] for one in tried] == [False] * (len(tried) - 1) + [True]
    assert found.receipt["beta"] == tried[-1]["beta"]
    assert found.receipt["notes"] == []
    shares = [one["masked_share"] for one in found.receipt["history"] if "masked_share" in one]
    assert shares
    assert all(0 <= share <= 1 for share in shares)


def without_rationales(data: Dataset) -> Dataset:
    return replace(data, records=tuple(replace(record, rationales={}) for record in data))


def test_bad_data_is_refused_in_one_sentence(start: Path, tmp_path: Path) -> None:
    data, dev = planted("train"), planted("dev")
    strange = replace(dev, label_names=("negative", "neutral", "positive"))
    strange = replace(strange, records=(replace(dev[0], labels=("neutral",)), *dev.records[1:]))
    one = replace(data, records=tuple(record for record in data if record.labels == ("positive",)))
    for sentence, asked, both in (
        ("'rationale_attention' needs rationales", recipe("rationale_attention"), (without_rationales(data), dev)),
        ("'rationale_attention' needs rationales", recipe("rationale_attention"), (data, without_rationales(dev))),
        ("label 'neutral', which no training text has", recipe(), (data, strange)),
        ("nothing to tell apart", recipe(), (one, one)),
        ("training texts are in the validation data", recipe(), (data, data)),
    ):
        with pytest.raises(InputError, match=sentence):
            train(start, *both, asked, out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_the_public_call_is_the_recipe_written_out(start: Path, tmp_path: Path) -> None:
    data, dev = planted("train"), planted("dev")
    numbers: dict[str, Any] = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}
    called = wl.train(
        str(start), data, dev, objectives=["rationale_attention=2"], out=tmp_path / "a", progress=False,
        criterion="kl", **numbers
    )  # fmt: skip
    terms = make_terms(["rationale_attention=2"], {"criterion": "kl"}, combine="joint")
    built = train(start, data, dev, Recipe(terms=terms, **numbers), out=tmp_path / "b", progress=False)
    assert called.receipt["asked"] == built.receipt["asked"]
    assert called.receipt["training"] == built.receipt["training"]
    assert called.receipt["asked"]["terms"][1]["settings"]["criterion"] == "kl"
    assert wl.load(called.folder).labels.names == data.label_names
    again = wl.recipe(objectives=["rationale_attention=2"], criterion="kl", **numbers)
    assert wl.train(start, data, dev, again, out=tmp_path / "a", progress=False).receipt == called.receipt


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epoch": 3}, "unknown setting of a training 'epoch'. Did you mean 'epochs'?"),
        ({"epochs": "three"}, "the setting 'epochs' takes a whole number, not 'three'."),
        ({"epochs": 0}, "the setting 'epochs' must be above 0, not 0."),
        ({"precision": "float16"}, "unknown value for 'precision' 'float16'."),
        ({"combine": "both"}, "unknown value for 'combine' 'both'."),
        ({"combine": "constrained", "objectives": ["rationale_attention"]}, "(bound_train and bound_validation"),
        ({"objectives": "rationale_atention"}, "Did you mean 'rationale_attention'?"),
        ({"objectives": ["rationale_atention"]}, "Did you mean 'rationale_attention'?"),
        ({"epsilon": 1}, "unknown setting of 'classification' 'epsilon'."),
        ({"architecture": "plmca"}, "unknown value for 'architecture' 'plmca'. Did you mean 'plm_ca'?"),
        ({"recipe": recipe(), "epochs": 3}, "a recipe says all; 'epochs' belongs into it."),
    ],
)
def test_the_public_call_checks_what_the_command_line_does(
    tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(sentence)):
        wl.train(None, planted("train"), planted("dev"), out=tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def test_without_accelerate_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(SettingError, match=r"needs accelerate, .* install whylight\[train\]\."):
        wl.train(None, planted("train"), planted("dev"), out=tmp_path / "out")


def test_data_are_data_sets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"what wl\.dataset returns, not str"):
        wl.train(None, "sst:trees", planted("dev"), out=tmp_path / "out")  # type: ignore[arg-type]


def test_a_loss_that_is_no_number_stops_the_training(start: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a finite number at step"):
        run(start, tmp_path / "out", recipe("input_gradient_penalty=1e39"))
    assert not (tmp_path / "out" / "config.json").exists()


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--objective", "rationale_atention"], 2)])
def test_the_command_line_trains(
    arguments: list[str], code: int, start: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    asked = ["train", "--model", str(start), "--data", "planted:", "--data-set", "size=16", "--epochs", "1",
             "--out", str(tmp_path / "out"), "--seeds", "2", *arguments]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["whylight", *asked])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    assert (stopped.value.code or 0) == code
    if not code:
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"seed-0", "seed-1"}
        assert "accuracy" in capsys.readouterr().out
    else:
        assert "Did you mean 'rationale_attention'" in capsys.readouterr().err
