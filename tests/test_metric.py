"""Comprehensiveness on games with known answers, and measuring against a classifier."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import quick
from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.text import Span, Text
from whylight.explaining.evaluate import measure
from whylight.metrics.perturbation import comprehensiveness
from whylight.models.load import load
from whylight.perturb.binding import bound
from whylight.views.game import Game

LONG = " ".join(["the film was never dull but the plot drags"] * 9)


def explanation(scores: Floats, *, class_specific: bool = True, targets: int | None = None) -> Explanation:
    n = scores.shape[1]
    receipt = Provenance("m", "x", {}, "word", None, "logit", True, class_specific, 0, 0, 0.0)  # noqa: FBT003
    return Explanation(
        Text("x " * n),
        tuple(Span(0, 2 * i, 2 * i + 1) for i in range(n)),
        tuple(Target(i, str(i)) for i in range(len(scores) if targets is None else targets)),
        scores,
        Prediction(index=0, label="0", probability=1.0, probabilities=(1.0,), predicted=(0,)),
        receipt,
    )


def additive(worth: Floats) -> Game:
    return Game(lambda keep: keep @ worth.T, n_features=worth.shape[1], n_targets=len(worth))


def test_it_is_the_drop_without_the_top_features_worked_out_by_hand() -> None:
    worth = np.asarray([[5.0, 1.0, -2.0, 4.0, 0.5]])
    ranked = explanation(np.asarray([[0.1, 0.9, 0.8, 0.3, 0.2]]))  # order 1, 2, 3, 4, 0
    for share, expected in [(0.2, 1.0), (0.4, -1.0), (0.6, 3.0), (0.8, 3.5), (1.0, 8.5), (0.01, 1.0)]:
        np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=share), [expected])


def test_floor_can_take_none() -> None:
    ranked = explanation(np.asarray([[3.0, 2.0, 1.0]]))
    worth = np.asarray([[1.0, 10.0, 100.0]])
    np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=0.3, rounding="floor"), [0.0])
    np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=0.3), [1.0])
    np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=0.5), [11.0])
    np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=0.5, rounding="floor"), [1.0])


def test_the_ranking_is_signed_and_ties_are_in_reading_order() -> None:
    worth = np.asarray([[1.0, 10.0, 100.0, 1000.0]])
    np.testing.assert_allclose(
        comprehensiveness(explanation(np.asarray([[-9.0, 0.5, 0.5, 0.1]])), additive(worth), share=0.25), [10.0]
    )


def test_each_target_is_measured_by_its_own_ranking() -> None:
    worth = np.asarray([[1.0, 2.0], [30.0, 40.0]])
    ranked = explanation(np.asarray([[9.0, 1.0], [1.0, 9.0]]))
    np.testing.assert_allclose(comprehensiveness(ranked, additive(worth), share=0.5), [1.0, 40.0])
    shared = explanation(np.asarray([[9.0, 1.0]]), class_specific=False, targets=2)
    np.testing.assert_allclose(comprehensiveness(shared, additive(worth), share=0.5), [1.0, 30.0])


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12, unique=True), st.floats(0.05, 1.0), st.integers(0, 9))
def test_no_ranking_of_an_additive_game_beats_the_true_one(worth: list[float], share: float, seed: int) -> None:
    truth = np.asarray([worth])
    other = np.random.default_rng(seed).standard_normal(truth.shape)
    best = comprehensiveness(explanation(truth), additive(truth), share=share)
    assert best >= comprehensiveness(explanation(other), additive(truth), share=share) - 1e-9


def test_on_average_the_truth_beats_random_clearly() -> None:
    generator = np.random.default_rng(0)
    gains = []
    for _ in range(50):
        worth = generator.standard_normal((1, 10))
        game = additive(worth)
        random = explanation(generator.standard_normal((1, 10)))
        gains.append(comprehensiveness(explanation(worth), game)[0] - comprehensiveness(random, game)[0])
    assert np.mean(gains) > 1


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_share_that_means_nothing_is_refused(share: float) -> None:
    with pytest.raises(SettingError, match="share"):
        comprehensiveness(explanation(np.ones((1, 3))), additive(np.ones((1, 3))), share=share)


@pytest.mark.parametrize("remover", ["mask", "delete"])
@pytest.mark.parametrize("score", ["probability", "logit"])
def test_measuring_a_model_is_the_drop_found_by_hand(remover: str, score: Any) -> None:
    clf = quick.classifier("bert")
    found = quick.run(clf, quick.TEXT, "occlusion", target="all")
    values = measure(clf, found, share=0.2, remover=remover, score=score)
    encoded = quick.encode(clf, quick.TEXT)
    for number, target in enumerate(found.targets):
        keep = np.ones((2, 10), dtype=bool)
        keep[1, np.argsort(-found.row(target), kind="stable")[:2]] = False
        logits = clf.outcomes(encoded, removal=bound(remover), cache={}, meter=quick.request(clf).meter)(keep)
        scores = clf.labels.scores(logits, score)[:, target.index]
        np.testing.assert_allclose(values[number], scores[0] - scores[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
def test_every_explanation_can_be_measured(method: str, unit: str) -> None:
    clf = quick.classifier("bert")
    text = "Gripping films! The plot drags though."
    values = measure(clf, quick.run(clf, text, method, target="all", unit=unit))
    assert values.shape == (2,)
    assert np.isfinite(values).all()


def test_what_cannot_be_measured_is_refused() -> None:
    clf = quick.classifier("bert")
    found = quick.run(clf, quick.TEXT, "occlusion")
    with pytest.raises(SettingError, match="comprehensiveness"):
        measure(clf, found, metric="comprehensivness")
    with pytest.raises(SettingError, match="share"):
        measure(clf, found, shares=0.5)
    with pytest.raises(SettingError, match="truncated"):
        measure(clf, quick.run(clf, LONG, "occlusion", long="truncate"))
    with pytest.raises(SettingError, match="mask"):
        measure(clf, found, remover="nope")
    with pytest.raises(SettingError, match="log_odds"):
        measure(clf, found, score="nope")


def test_an_explanation_of_other_labels_is_refused() -> None:
    """The classifier at hand has fewer labels than the one that was explained."""
    found = quick.run(quick.classifier("bert", num_labels=3), quick.TEXT, "occlusion", target=2)
    with pytest.raises(SettingError):
        measure(quick.classifier("bert"), found)


def test_a_long_explanation_is_measured_on_the_whole_document() -> None:
    clf = quick.classifier("bert")
    assert np.isfinite(measure(clf, quick.run(clf, LONG, "occlusion"))).all()


def test_a_callable_is_measured_too() -> None:
    clf = load(lambda texts: [[0.9, 0.1] if "good" in t else [0.2, 0.8] for t in texts], labels=["yes", "no"])
    found = quick.run(clf, "a good film", "occlusion")
    np.testing.assert_allclose(measure(clf, found), [0.7], atol=1e-9)
