"""Labels, targets and score spaces; the numpy and the torch side say the same."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

import quick
import tiny
from whylight.core.errors import InputError, SettingError, WhylightError
from whylight.core.labels import CLIP, GENERATED, SCORE_SPACES, Labels, check_score_space, texts_asked
from whylight.models import heads

LOGITS = st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=4)
every_head = pytest.mark.parametrize("head", ["softmax", "sigmoid", "binary"])
every_space = pytest.mark.parametrize("space", SCORE_SPACES)


def make(head: Any, n: int = 3) -> Labels:
    return Labels(tuple("abcdefgh"[:n]), head)


@every_head
@every_space
@given(rows=LOGITS)
def test_numpy_and_torch_agree_on_every_score_space(rows: list[list[float]], head: Any, space: Any) -> None:
    logits = np.asarray(rows)
    found = heads.scores(torch.as_tensor(logits), head, space).numpy()
    np.testing.assert_allclose(found, make(head).scores(logits, space), rtol=1e-9, atol=1e-9)


@every_head
@every_space
@pytest.mark.parametrize("margin", [0.5, 3.0, 8.0, 12.0])
def test_single_precision_is_precise_enough_for_sure_predictions(margin: float, head: Any, space: Any) -> None:
    logits = np.asarray([[margin, -0.25, 0.125], [-margin, 0.5, -0.75]], dtype=np.float32)
    found = heads.scores(torch.as_tensor(logits), head, space).double().numpy()
    np.testing.assert_allclose(found, make(head).scores(logits.astype(np.float64), space), rtol=1e-5, atol=1e-6)


@given(rows=LOGITS)
def test_the_score_spaces_are_functions_of_the_probability(rows: list[list[float]]) -> None:
    logits = np.asarray(rows)
    for head in ("softmax", "sigmoid"):
        labels = make(head)
        p = labels.scores(logits, "probability")
        exponentials = np.exp(logits)
        expected = exponentials / exponentials.sum(1, keepdims=True) if head == "softmax" else 1 / (1 + np.exp(-logits))
        np.testing.assert_allclose(p, expected, rtol=1e-9)
        np.testing.assert_allclose(labels.scores(logits, "log_probability"), np.log(expected), rtol=1e-6, atol=1e-9)
        clipped = np.clip(p, CLIP, 1 - CLIP)
        np.testing.assert_allclose(
            labels.scores(logits, "log_odds"), np.log(clipped / (1 - clipped)), rtol=1e-6, atol=1e-9
        )
        assert labels.scores(logits, "logit") is logits


def test_log_odds_stop_at_the_clip() -> None:
    found = make("sigmoid", 2).scores(np.asarray([[80.0, -80.0]]), "log_odds")
    np.testing.assert_allclose(found, [[np.log((1 - CLIP) / CLIP), np.log(CLIP / (1 - CLIP))]])


def test_a_binary_head_has_the_columns_minus_z_and_z() -> None:
    z = torch.tensor([[1.5], [-2.0]])
    assert heads.columns(z, "binary").tolist() == [[-1.5, 1.5], [2.0, -2.0]]
    assert heads.columns(z, "softmax") is z
    p = make("binary", 2).probabilities(np.asarray([[-1.5, 1.5]]))
    np.testing.assert_allclose(p.sum(1), 1)


def test_a_binary_model_has_two_targets_that_mirror_each_other() -> None:
    clf = tiny.classifier("bert", num_labels=1, head="binary", labels=["no", "yes"])
    assert clf.labels.names == ("no", "yes")
    for method in ("occlusion", "integrated_gradients"):
        scores = quick.run(clf, quick.TEXT, method, target="all").scores
        np.testing.assert_allclose(scores[0], -scores[1], atol=1e-6)
    named = tiny.classifier("bert", num_labels=1, head="binary")
    assert len(named.labels) == 2
    prediction = quick.run(clf, quick.TEXT, "random").prediction
    z = quick.plain_logits(clf, quick.TEXT)[0]
    np.testing.assert_allclose(prediction.probabilities, [1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))], rtol=1e-5)


@pytest.mark.parametrize(
    ("probabilities", "expected"), [([0.2, 0.9, 0.6], [1, 2]), ([0.5, 0.2, 0.5], [0]), ([0.7, 0.8, 0.9], [2, 1, 0])]
)
def test_multi_label_predicts_what_is_above_the_threshold_most_probable_first(
    probabilities: list[float], expected: list[int]
) -> None:
    found, notes = make("sigmoid").predicted(np.asarray(probabilities))
    assert found == expected
    assert bool(notes) == (max(probabilities) <= 0.5)


def test_a_threshold_of_its_own_counts() -> None:
    labels = Labels(("a", "b"), "sigmoid", 0.3)
    assert labels.predicted(np.asarray([0.4, 0.35]))[0] == [0, 1]
    found, notes = labels.predicted(np.asarray([0.1, 0.2]))
    assert found == [1]
    assert "0.3" in notes[0]


def test_multi_label_models_explain_every_predicted_label() -> None:
    model = tiny.model("bert", num_labels=3, problem_type="multi_label_classification")
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([2.0, -2.0, 3.0]))
    clf = tiny.load(model, tiny.tokenizer())
    assert clf.labels.head == "sigmoid"
    assert [t.index for t in quick.run(clf, quick.TEXT, "occlusion").targets] == [2, 0]
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([-1.0, -2.0, -3.0]))
    explanation = quick.run(clf, quick.TEXT, "occlusion")
    assert [t.index for t in explanation.targets] == [0]
    assert any("threshold" in note for note in explanation.provenance.notes)


def test_the_threshold_of_the_configuration_is_used() -> None:
    model = tiny.model("bert", num_labels=3, problem_type="multi_label_classification", decision_threshold=0.25)
    assert tiny.load(model, tiny.tokenizer()).labels.threshold == 0.25


def test_targets_are_found_by_name_index_and_list_without_repetition() -> None:
    labels, p = Labels(("neg", "pos", "1")), np.asarray([0.2, 0.7, 0.1])

    def found(spec: Any) -> list[int]:
        return [target.index for target in labels.resolve(spec, p)[0]]

    assert found("predicted") == [1]
    assert found("all") == [0, 1, 2]
    assert found("pos") == [1]
    assert found(0) == [0]
    assert found("0") == [0]
    assert found("1") == [2]  # a label of that name goes before the index
    assert found(1) == [1]
    assert found(["pos", 1, "neg"]) == [1, 0]
    assert found((2, "neg")) == [2, 0]
    assert found(np.int64(1)) == [1]


@pytest.mark.parametrize("spec", ["nope", "", 3, -1, "7", ["pos", "nope"], None, 1.5, [1.5], [None]])
def test_an_unknown_target_is_refused_with_those_that_exist(spec: Any) -> None:
    with pytest.raises(SettingError, match=r"neg|0 to 1") as caught:
        Labels(("neg", "pos")).resolve(spec, np.asarray([0.2, 0.8]))
    assert "\n" not in str(caught.value)


def test_targets_that_need_labelled_data_or_are_none_are_refused() -> None:
    labels, p = make("softmax"), np.asarray([0.2, 0.7, 0.1])
    for spec in ("gold", "gold+predicted"):
        with pytest.raises(InputError, match="gold"):
            labels.resolve(spec, p)
    with pytest.raises(SettingError, match="at least one"):
        labels.resolve([], p)


def test_an_unknown_score_space_is_refused_with_those_that_exist() -> None:
    with pytest.raises(WhylightError, match="log_odds, log_probability"):
        check_score_space("odds")


@pytest.mark.parametrize("space", ["log_probability", "probability", "log_odds"])
@given(rows=st.lists(st.lists(st.floats(-30, 0), min_size=3, max_size=3), min_size=1, max_size=4))
def test_texts_are_scored_by_their_own_likelihood(rows: list[list[float]], space: Any) -> None:
    logits, labels = np.asarray(rows), make("likelihood")
    found = labels.scores(logits, space)
    np.testing.assert_allclose(heads.scores(torch.as_tensor(logits), "likelihood", space).numpy(), found, atol=1e-9)
    alone = np.concatenate([make("likelihood", 1).scores(logits[:, [i]], space) for i in range(3)], axis=1)
    np.testing.assert_array_equal(found, alone)  # whatever other texts there are
    probabilities = labels.probabilities(logits)
    np.testing.assert_allclose(np.log(probabilities), logits, atol=1e-9)
    np.testing.assert_allclose(labels.logits_of(probabilities), logits, atol=1e-9)


def test_the_answer_among_texts_is_the_first() -> None:
    labels = make("likelihood")
    assert labels.above_threshold(np.asarray([0.1, 0.9, 0.5])) == (0,)
    assert labels.index(GENERATED) == labels.index("predicted") == 0
    assert labels.resolve([GENERATED, "b"], np.asarray([0.1, 0.9, 0.5]))[0] == (labels.target(0), labels.target(1))
    assert Labels(("a", GENERATED)).index(GENERATED) == 1  # a label of that name is a label


def test_texts_that_a_target_names_are_told_from_words_that_stand_for_others() -> None:
    assert [texts_asked(one) for one in ("predicted", "all", GENERATED, "gold", 0)] == [()] * 5
    assert texts_asked("Paris") == ("Paris",)
    assert texts_asked([GENERATED, "Paris", 2, "all", "Paris"]) == ("Paris", "all")
