"""Heads that are not a softmax over an encoder: values, one logit for a pair, and sequence to sequence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartForSequenceClassification
from typer.testing import CliRunner

import quick
import tiny
import whylight as wl
from whylight.cli.main import app
from whylight.core.errors import IncompatibleError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import SCORE_SPACES, Labels
from whylight.report.page import page as page_of
from whylight.testing import check_classifier
from whylight.testing.tiny import enlarge

PAIR = ("what is a good film", "the plot was very bad")
SEVERAL = {0: "grammar", 1: "style", 2: "length"}


def valued(num_labels: int = 1) -> Any:
    names = {number: SEVERAL[number] for number in range(num_labels)}
    own = {"id2label": names, "label2id": {name: number for number, name in names.items()}, "num_labels": num_labels}
    return wl.load(tiny.model("bert", problem_type="regression", **own), tiny.tokenizer())


def plain_values(clf: Any, text: str) -> Any:
    with torch.no_grad():
        return clf.model(**clf.tokenizer(text, return_tensors="pt")).logits[0].double().numpy()


def test_a_regression_gives_its_value_and_no_probability() -> None:
    clf = valued()
    found = quick.run(clf, quick.TEXT, "occlusion")
    assert found.prediction.values == pytest.approx(plain_values(clf, quick.TEXT), rel=1e-5)
    assert found.prediction.probability is None
    assert found.prediction.probabilities == ()
    assert found.provenance.score == "logit"
    assert clf.score_spaces == ("logit",)


def test_occlusion_is_the_change_of_the_value() -> None:
    clf = valued()
    words = ["the", "film", "was", "good"]
    mask = clf.tokenizer.mask_token
    whole = plain_values(clf, " ".join(words))[0]
    parts = [plain_values(clf, " ".join([*words[:i], mask, *words[i + 1 :]]))[0] for i in range(len(words))]
    found = quick.run(clf, " ".join(words), "occlusion", remover="mask")
    np.testing.assert_allclose(found.scores[0], whole - np.asarray(parts), atol=1e-5)


@pytest.mark.parametrize("method", ["integrated_gradients", "kernel_shap"])
def test_scores_sum_to_the_change_of_the_value(method: str) -> None:
    clf = valued()
    (gap,) = wl.explain(clf, quick.TEXT, method=method).provenance.completeness_gap or (np.nan,)
    assert abs(gap) < 0.01


@pytest.mark.slow
def test_a_regression_keeps_every_promise_of_a_classifier() -> None:
    check_classifier(valued())


def test_every_column_of_a_regression_is_a_value_and_is_explained() -> None:
    clf = valued(3)
    found = quick.run(clf, quick.TEXT, "occlusion")
    assert [target.label for target in found.targets] == list(SEVERAL.values())
    assert found.prediction.values == pytest.approx(plain_values(clf, quick.TEXT), rel=1e-5)


def test_nothing_that_is_shown_or_stored_speaks_of_a_probability(tmp_path: Path) -> None:
    found = quick.run(valued(), quick.TEXT, "occlusion")
    value = found.prediction.values[0]
    (row,) = found.to_dicts()
    assert row["prediction"] == {"index": 0, "label": "grammar", "probability": None, "value": value}
    assert (row["target"]["probability"], row["target"]["value"]) == (None, value)
    assert json.loads(found.to_json())["target"]["value"] == value
    again = Explanation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.prediction == found.prediction
    page = page_of([found])
    for shown in (page, repr(found)):
        assert f"{value:.4g}" in shown
        assert "%</span>" not in shown
    assert 'class="meter"' not in page
    assert "probability" not in repr(found)
    found.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size


@pytest.mark.parametrize("space", [one for one in SCORE_SPACES if one != "logit"])
def test_other_scores_are_refused(space: str) -> None:
    with pytest.raises(SettingError, match=f"has no score '{space}'; use logit"):
        quick.run(valued(), quick.TEXT, "occlusion", score=space)
    with pytest.raises(IncompatibleError, match="gives a value, and no probability"):
        Labels(("value",), "regression").scores(np.zeros((1, 1)), space)  # type: ignore[arg-type]


def test_what_needs_probabilities_is_refused_in_one_sentence(tmp_path: Path) -> None:
    clf = valued()
    found = quick.run(clf, quick.TEXT, "occlusion")
    assert "log_probability" in str(wl.compatible(clf)["marc"])
    assert "probability" in str(wl.compatible(clf)["aml"])
    with pytest.raises(SettingError, match="has no score 'probability'; use logit"):
        wl.measure(clf, found)
    assert np.isfinite(wl.measure(clf, found, score="logit")).all()
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": quick.TEXT}), encoding="utf-8")
    data = wl.dataset(tmp_path / "texts.jsonl", unlabelled=True)
    with pytest.raises(IncompatibleError, match=r"measures in the score 'probability'.*wl\.measure"):
        wl.evaluate(clf, data, methods=["occlusion"], progress=False)


def test_a_callable_gives_probabilities() -> None:
    with pytest.raises(SettingError, match="one column per label"):
        wl.load(lambda texts: [[1.0]] * len(texts), labels=["a"], head="regression")


def test_the_command_line_takes_the_head(tmp_path: Path) -> None:
    tiny.model("bert", num_labels=1).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    asked = ["explain", quick.TEXT, "--model", str(tmp_path), "--head", "regression", "--method", "occlusion"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    value = plain_values(wl.load(tmp_path, head="regression"), quick.TEXT)[0]
    assert f"{value:.4g}" in done.output
    assert "%" not in done.output


def test_a_cross_encoder_is_one_logit_of_a_pair() -> None:
    clf: Any = wl.load(
        tiny.model("bert", num_labels=1), tiny.tokenizer(), head="binary", labels=["irrelevant", "relevant"]
    )
    found = quick.run(clf, PAIR, "occlusion", target="relevant")
    with torch.no_grad():
        logit = float(clf.model(**clf.tokenizer(*PAIR, return_tensors="pt")).logits[0, 0])
    assert found.prediction.probabilities[1] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)
    assert {span.part for span in found.spans} == {0, 1}


def test_a_sequence_to_sequence_classifier_is_one_like_others() -> None:
    tokenizer = tiny.tokenizer("roberta")
    ids = tokenizer("a")["input_ids"]
    torch.manual_seed(0)
    sizes = {"d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": tiny.LIMIT}
    parts = {f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    ends = {"bos_token_id": ids[0], "eos_token_id": ids[-1], "decoder_start_token_id": ids[-1]}
    config = BartConfig(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, num_labels=2, **sizes, **parts, **ends
    )
    clf: Any = wl.load(enlarge(BartForSequenceClassification(config)).eval(), tokenizer)
    for method in ("occlusion", "saliency", "integrated_gradients"):
        assert wl.compatible(clf)[method] is None
        assert np.abs(quick.run(clf, quick.TEXT, method).scores).max() > 0
    with torch.no_grad():
        expected = clf.model(**tokenizer(quick.TEXT, return_tensors="pt")).logits.softmax(-1)[0].numpy()
    assert quick.run(clf, quick.TEXT, "occlusion").prediction.probabilities == pytest.approx(expected, abs=1e-5)
