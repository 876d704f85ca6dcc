"""Fitting attribution networks from end to end: what is learnt, resumption, interruption, searches and refusals."""

import json
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertModel

import planted_model
import tiny
import whylight as wl
from whylight.core.errors import IncompatibleError, InputError, ModelError, SettingError
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.models.contents import model_contents
from whylight.models.quiet import quiet
from whylight.training import fit_search
from whylight.training.fitting import AttributionTrainer, FitTexts, fit_recipe
from whylight.training.trials import NAME

QUICK: dict[str, Any] = {"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, "trials": 0, "progress": False}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder with fresh weights: what stands for a pretrained one."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    with quiet():
        BertModel(tiny.config("bert")).save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def clf() -> Any:
    return planted_model.classifier()


@pytest.fixture(scope="module")
def whole(clf: Any, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit that nothing interrupts."""
    folder = tmp_path_factory.mktemp("fit") / "whole"
    run(clf, encoder, folder)
    return folder


def run(clf: Any, encoder: Path | None, out: Path, **options: Any) -> Any:
    data = (planted_model.texts("train", 24), planted_model.texts("dev", 8))
    return wl.fit("aml", clf, *data, out=out, encoder=encoder, **{**QUICK, **options})


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(first: Path, second: Path) -> bool:
    ours, theirs = weights(first), weights(second)
    return ours.keys() == theirs.keys() and all(torch.equal(value, theirs[name]) for name, value in ours.items())


def found_words(clf: Any, folder: Path, **options: Any) -> list[str]:
    texts = [record.example.text for record in planted_model.texts("test", 20)]
    explained = wl.explain(clf, texts, method="aml", folder=str(folder), **options)
    return [max(one.as_list(), key=lambda pair: pair[1])[0] for one in explained]


@pytest.mark.usefixtures("drawn")
def test_a_fitted_network_finds_the_planted_word_in_texts_that_it_has_not_seen(
    clf: Any, encoder: Path, tmp_path: Path
) -> None:
    before = model_contents(clf.model, clf.tokenizer)
    data = (planted_model.texts("train", 64), planted_model.texts("dev", 8))
    found = wl.fit("aml", clf, *data, out=tmp_path, encoder=encoder, **{**QUICK, "epochs": 6, "learning_rate": 1e-2})
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json",
                     "curves.svg"}  # fmt: skip
    assert model_contents(clf.model, clf.tokenizer) == before
    receipt = json.loads((tmp_path / "training.json").read_text())
    assert receipt == found["comprehensiveness"].receipt
    assert receipt["explains"] == json.loads((tmp_path / "config.json").read_text())["explains"] == clf.contents()
    assert receipt["notes"] == []
    assert "comprehensiveness" in (tmp_path / "curves.svg").read_text()
    assert {"prediction", "inverse", "sparsity"} <= receipt["history"][0].keys()
    assert set(found_words(clf, tmp_path)) == set(planted_model.DECISIVE)


def test_a_killed_fit_goes_on_and_ends_where_an_uninterrupted_one_does(
    clf: Any, encoder: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part"
    real, steps = AttributionTrainer.compute_loss, []

    def failing(self: Any, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 5:  # in the second epoch of three steps each
            raise MemoryError  # which nothing here is ready for, as for a kill
        return real(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(AttributionTrainer, "compute_loss", failing)
        with pytest.raises(MemoryError):
            run(clf, encoder, part)
    assert {path.name for path in part.iterdir()} == {"checkpoints"}
    with pytest.raises(SettingError, match="was stopped before it was done; the same call resumes there"):
        found_words(clf, part)
    run(clf, encoder, part)
    assert same(whole, part)
    assert run(clf, encoder, part)["comprehensiveness"].receipt["validation"]  # is not done again
    with pytest.raises(InputError, match=r"holds another training, differing in settings \(learning_rate\)"):
        run(clf, encoder, part, learning_rate=1e-3)
    with pytest.raises(InputError, match="holds a model already"):
        run(clf, encoder, encoder)


def test_an_interrupt_leaves_the_best_so_far_marked_and_the_same_call_goes_on(
    clf: Any, encoder: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part"
    real, steps = AttributionTrainer.compute_loss, []

    def stopping(self: Any, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 5:
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(AttributionTrainer, "compute_loss", stopping)
        with pytest.raises(KeyboardInterrupt, match="the same call resumes from there"):
            run(clf, encoder, part)
    receipt = json.loads((part / "training.json").read_text())
    assert receipt["interrupted"].startswith("interrupted after 1 of 2 epochs")
    texts = [planted_model.texts("test", 2)[0].example.text]
    (explained,) = wl.explain(clf, texts, method="aml", folder=str(part))
    assert any("the network's fit was interrupted after 1 of 2 epochs" in note for note in explained.provenance.notes)
    found = run(clf, encoder, part)["comprehensiveness"]
    assert not found.receipt["interrupted"]
    assert not (part / "checkpoints").exists()
    assert same(whole, part)
    assert not wl.explain(clf, texts, method="aml", folder=str(part))[0].provenance.notes


def test_a_search_has_one_best_for_each_metric_and_goes_on(
    clf: Any, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = ["comprehensiveness", "sufficiency"]
    asked: dict[str, Any] = {"metrics": metrics, "trials": 2, "search_epochs": 1, "search_texts": 8, "epochs": 1}
    real, tried = fit_search._tried, []

    def counted(*arguments: Any) -> Any:
        tried.append(1)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(fit_search, "_tried", counted)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(KeyboardInterrupt, match="the same call resumes"):
        run(clf, encoder, tmp_path, **asked)
    ask, sizes = FitTexts.items, list[int]()
    monkeypatch.setattr(
        FitTexts, "items", lambda self, data, network: sizes.append(len(data)) or ask(self, data, network)
    )
    found = run(clf, encoder, tmp_path, **asked)
    assert sizes == [8, 8, 24]  # texts of the search, validation texts, all texts: the model is asked once
    assert len(tried) == 2 + 1  # the first trial was not done again
    trials = optuna.load_study(study_name=NAME, storage=f"sqlite:///{tmp_path / 'study.db'}").trials
    complete = [one for one in trials if one.values]
    assert len(complete) == 2
    assert all(0 <= value <= 1 for one in complete for value in one.params.values())
    for number, name in enumerate(metrics):
        best = min(complete, key=lambda one: one.values[number])
        receipt = found[name].receipt
        assert {key: receipt["asked"]["mask"][key] for key in best.params} == best.params
        assert found[name].folder == tmp_path / name
        assert receipt["asked"]["metric"] == name
        assert json.loads((tmp_path / name / "config.json").read_text())["metric"] == name
    # comprehensiveness is maximised and sufficiency minimised
    assert (
        found["comprehensiveness"].receipt["validation"]["selection"]
        == -found["comprehensiveness"].receipt["validation"]["comprehensiveness"]
    )
    assert found["sufficiency"].receipt["validation"]["selection"] == pytest.approx(
        found["sufficiency"].receipt["validation"]["sufficiency"]
    )
    assert not list(Path.cwd().iterdir())  # the trials keep nothing where they are called from


@pytest.mark.parametrize(
    "settings",
    [
        {"published": True, "inverse_form": "entropy", "sparsity_form": "l1"},
        {"background": "learned", "inverse_form": "probability", "merge": "mean"},
    ],
)
def test_alternatives_are_fitted_and_kept_in_the_folder(settings: dict[str, Any], clf: Any, tmp_path: Path) -> None:
    found = run(clf, None, tmp_path, epochs=1, **settings)["comprehensiveness"]
    assert "starts from the model's own encoder" in found.receipt["notes"][0]
    kept = json.loads((tmp_path / "config.json").read_text())["mask"]
    assert {name: kept[name] for name in settings} == settings
    own = clf.model.bert.embeddings.word_embeddings.weight
    table = weights(tmp_path)["encoder.embeddings.word_embeddings.weight"]
    assert torch.equal(own, table) == bool(settings.get("published"))
    mask = weights(tmp_path).get("mask")
    assert (mask is None) == (settings.get("background") != "learned")
    assert mask is None or not torch.equal(mask, own[clf.tokenizer.mask_token_id])
    assert len(found_words(clf, tmp_path, steps=1)) == 20


def test_a_text_of_one_word_and_a_model_of_several_labels_are_fitted(tmp_path: Path) -> None:
    several = tiny.classifier("bert", num_labels=3, head="sigmoid")
    words = [Record(f"{i}", Text(word), (), {}) for i, word in enumerate(("good", "dull", "a good film", "awful"))]
    data, dev = (Dataset("own", split, (), tuple(some)) for split, some in (("train", words[:2]), ("dev", words[2:])))
    wl.fit("aml", several, data, dev, out=tmp_path, **{**QUICK, "epochs": 1})
    found = wl.explain(several, ["good", "a dull plot"], method="aml", folder=str(tmp_path), target="all", steps=2)
    assert [one.scores.shape for one in found] == [(3, 1), (3, 3)]


def refused(says: str, kind: Any, call: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_what_makes_no_fit_is_refused_and_writes_nothing(clf: Any, encoder: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "out", planted_model.texts("train", 24)
    refused("Did you mean 'sufficiency'", SettingError, lambda: run(clf, encoder, out, metrics=["suficiency"]))
    refused(
        "'token_f1' is not measured on the model", SettingError, lambda: run(clf, encoder, out, metrics=["token_f1"])
    )
    refused("at least one metric", SettingError, lambda: run(clf, encoder, out, metrics=[]))
    refused("'lime' is not fitted to a model", SettingError, lambda: wl.fit("lime", clf, data, data, out=out))
    refused("texts are in the validation data too", InputError, lambda: wl.fit("aml", clf, data, data, out=out))
    refused("what wl.dataset returns", InputError, lambda: wl.fit("aml", clf, "planted:", data, out=out))  # type: ignore[arg-type]
    rule = wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    refused("a callable does not have", IncompatibleError, lambda: run(rule, encoder, out))
    refused("there is no folder", ModelError, lambda: run(clf, tmp_path / "none", out))
    refused("0 trials or more", SettingError, lambda: run(clf, encoder, out, trials=-1))
    refused("unknown setting of a fit 'epoch'", SettingError, lambda: fit_recipe({"epoch": 3}))
    refused("'epochs' must be above 0", SettingError, lambda: fit_recipe({"epochs": 0}))
    refused("'inverse' must be 0 or more", SettingError, lambda: fit_recipe({"inverse": -1}))
    refused("max, mean", SettingError, lambda: fit_recipe({"merge": "median"}))
    decoder = tiny.classifier("llama")
    refused("do not see what stands behind them", ModelError, lambda: run(decoder, None, out))
    assert not out.exists()


def test_a_tokenizer_that_gives_no_offsets_is_refused(
    clf: Any, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(clf.tokenizer), "is_fast", False)
    refused("cannot be aligned with the model's", ModelError, lambda: run(clf, encoder, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
