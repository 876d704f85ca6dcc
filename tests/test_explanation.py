"""The result and its receipt."""

import json
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import quick
from whylight.core.errors import WhylightError
from whylight.core.registry import METHODS
from whylight.explaining.explain import explain
from whylight.methods._masking import TEXT
from whylight.models.load import load
from whylight.perturb.binding import bound
from whylight.views.game import Game

KEYS = """text pair model method settings unit remover score target prediction features completeness_gap seconds
forward_passes backward_passes notes""".split()  # noqa: SIM905  as the design lists them
DISTINCT = "good plot but the ending drags"
AWKWARD = "cafe\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 <b>שלום</b>\x00 good"


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
@pytest.mark.parametrize("given_", [AWKWARD, (AWKWARD, "not bad"), DISTINCT])
def test_json_has_the_promised_keys_and_slices_back(method: str, given_: Any) -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, given_, method, target="all")
    lines = explanation.to_json().split("\n")
    assert len(lines) == 2
    parts = given_ if isinstance(given_, tuple) else (given_, None)
    for number, line in enumerate(lines):
        one = json.loads(line)
        assert set(KEYS) <= set(one)
        assert [key for key in one if key in KEYS] == KEYS
        assert (one["text"], one["pair"]) == parts
        probability = explanation.prediction.probabilities[number]
        assert one["target"] == {
            "index": number, "label": f"LABEL_{number}", "description": None,
            "probability": probability, "threshold": None,
        }  # fmt: skip
        assert set(one["prediction"]) == {"index", "label", "probability"}
        assert len(one["features"]) == len(explanation.spans)
        for feature, score in zip(one["features"], explanation.row(explanation.targets[number]), strict=True):
            assert set(feature) == {"part", "start", "end", "text", "score"}
            assert parts[feature["part"]][feature["start"] : feature["end"]] == feature["text"]
            assert feature["score"] == score
        assert one["method"] == method
        assert one["seconds"] > 0


def test_a_list_gives_words_and_scores_of_one_target() -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, "good plot", "occlusion", target="all")
    assert explanation.as_list("LABEL_1") == explanation.as_list(1)
    assert explanation.as_list(0) == [("good", explanation.scores[0, 0]), ("plot", explanation.scores[0, 1])]
    with pytest.raises(WhylightError, match="LABEL_0, LABEL_1"):
        explanation.as_list()
    with pytest.raises(WhylightError, match="LABEL_0, LABEL_1"):
        explanation.as_list("nope")
    assert len(quick.run(clf, "good plot", "occlusion").as_list()) == 2


def test_a_frame_has_a_row_for_each_target_and_feature() -> None:
    frame = quick.run(quick.classifier("bert"), "good plot", "saliency", target="all").to_frame()
    assert list(frame.columns) == ["method", "target", "part", "start", "end", "text", "score"]
    assert frame["text"].tolist() == ["good", "plot"] * 2
    assert frame["target"].tolist() == ["LABEL_0"] * 2 + ["LABEL_1"] * 2


def test_occlusion_needs_one_pass_a_word_and_one() -> None:
    receipt = quick.run(quick.classifier("bert"), DISTINCT, "occlusion").provenance
    assert receipt.forward_passes == 6 + 1
    assert receipt.backward_passes == 0


@pytest.mark.parametrize("steps", [1, 13, 50])
def test_integrated_gradients_need_a_pass_a_step_and_two(steps: int) -> None:
    receipt = quick.run(
        quick.classifier("bert"), DISTINCT, "integrated_gradients", steps=steps, target="all"
    ).provenance
    assert receipt.forward_passes == steps + 2
    assert receipt.backward_passes == steps * 2


@pytest.mark.parametrize(
    ("method", "settings", "forward", "backward"),
    [
        ("saliency", {}, 1, 2),
        ("input_x_gradient", {}, 1, 2),
        ("attention", {}, 1, 0),
        ("attention_rollout", {}, 1, 0),
        ("attgrad", {}, 1, 2),
        ("attingrad", {}, 2, 2),
        ("deeplift", {}, 4, 4),
        ("gradient_shap", {"samples": 7}, 9, 14),
        ("kernel_shap", {"samples": 500}, 2**6, 0),
        ("kernel_shap", {"samples": 20}, 22, 0),
        ("random", {}, 0, 0),
    ],
)
def test_passes_are_those_of_the_docstring(method: str, settings: dict[str, int], forward: int, backward: int) -> None:
    receipt = quick.run(quick.classifier("bert"), DISTINCT, method, target="all", **settings).provenance
    assert (receipt.forward_passes, receipt.backward_passes) == (forward, backward)


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_completeness_is_in_the_receipt_where_it_is_promised_and_only_there(method: str) -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, DISTINCT, method, target="all")
    gap = explanation.provenance.completeness_gap
    assert (gap is not None) == METHODS[method].facts["complete"]
    assert gap is None or len(gap) == 2


@pytest.mark.parametrize("method", [name for name in quick.METHOD_NAMES if METHODS[name].facts["complete"]])
def test_the_gap_is_what_scores_miss_of_the_difference_or_of_the_logit(method: str) -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, DISTINCT, method, target="all")
    name = explanation.provenance.settings.get("baseline", "mask")
    logits = clf.outcomes(quick.encode(clf, DISTINCT), removal=bound(name), cache={}, meter=quick.request(clf).meter)(
        np.asarray([[True] * 6, [False] * 6])
    )
    split = METHODS[method].facts["scores"] == ("logit",)  # among special tokens and biases too, which leaves no gap
    missed = 0.0 if split else explanation.scores.sum(1) - (logits[0] - logits[1])
    np.testing.assert_allclose(explanation.provenance.completeness_gap, missed, atol=1e-5)


@pytest.mark.parametrize("method", [name for name in quick.METHOD_NAMES if "pooling" in METHODS[name].settings])
def test_norms_promise_no_sum(method: str) -> None:
    found = quick.run(quick.classifier("bert"), DISTINCT, method, pooling="l2")
    assert found.provenance.completeness_gap is None


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_the_receipt_names_what_was_done(method: str) -> None:
    clf = quick.classifier("bert")
    given_to_it = quick.given(method, clf)
    fewer = {"steps": 5} if method == "marc" else {}
    explanation = explain(clf, DISTINCT, method=method, remover="unk", **given_to_it, **fewer)
    receipt = explanation.provenance
    spec = METHODS[method]
    assert set(receipt.settings) == set(spec.settings)
    found = {"metric": "comprehensiveness", "rate": 4e-5} if given_to_it else {}
    # what `auto`, and nothing, stand for here
    preset = {**asdict(TEXT), "preset": "text"} if method == "marc" else {}
    stood_for = {**preset, "baseline": "mask", "background": "pad", **given_to_it, **found, **fewer}
    for name, setting in spec.settings.items():
        assert receipt.settings[name] == stood_for.get(name, setting.default)
    asks = Game in spec.consumes and method != "random"
    assert receipt.remover == ("unk" if asks else None)
    assert receipt.method == method
    assert receipt.score == (spec.facts["scores"] or ("logit",))[0]
    assert receipt.unit == "word"
    assert receipt.signed == spec.facts["signed"]
    assert receipt.class_specific == spec.facts["class_specific"]
    gap = abs((receipt.completeness_gap or (0.0,))[0])
    large = gap > 0.05 * np.abs(explanation.scores).sum()
    unused = [note for note in receipt.notes if note.endswith("it does not use the remover 'unk'")]
    assert bool(unused) == (not spec.consumes[0].removes)
    # a gap is small, or said in words; so is an early end
    assert len(receipt.notes) == int(large) + len(fewer) + len(unused)


def test_log_odds_say_that_they_are_clipped() -> None:
    (note,) = quick.run(quick.classifier("bert"), DISTINCT, "occlusion", score="log_odds").provenance.notes
    assert "1e-07" in note


def test_the_prediction_is_the_models_own() -> None:
    clf = quick.classifier("bert", num_labels=3)
    prediction = quick.run(clf, DISTINCT, "random").prediction
    logits = quick.plain_logits(clf, DISTINCT)
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(prediction.probabilities, expected, rtol=1e-5)
    assert prediction.index == expected.argmax()
    assert prediction.label == f"LABEL_{expected.argmax()}"
    assert prediction.probability == max(prediction.probabilities)


def test_settings_go_to_the_methods_that_know_them() -> None:
    found = explain(quick.classifier("bert"), DISTINCT, method=["lime", "saliency"], samples=11)
    assert found[0].provenance.settings["samples"] == 11
    assert "samples" not in found[1].provenance.settings


def test_a_receipt_counts_seconds_as_if_nothing_had_been_cached() -> None:
    clf = load(lambda texts: time.sleep(0.02 * len(texts)) or [[0.5, 0.5]] * len(texts), labels=["no", "yes"])  # type: ignore[func-returns-value]
    first, second = explain(clf, "a good film", method=["occlusion", "shapley_sampling"])
    assert second.provenance.seconds >= 0.02 * (second.provenance.forward_passes - 1)
    again = explain(clf, "a good film", method=["shapley_sampling", "occlusion"])[1]
    assert again.provenance.seconds >= 0.02 * again.provenance.forward_passes * 0.9
    assert first.provenance.forward_passes == again.provenance.forward_passes
