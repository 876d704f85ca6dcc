"""Plausibility metrics: scikit-learn as the reference where it has them, hand-worked examples where it has not."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_builders import BOUNDARY, explanation, rationale
from sklearn import metrics as reference

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS
from whylight.metrics._plausibility import marked_runs, same_spans
from whylight.metrics.boundary import empty_rate, iou, precision, recall, token_f1
from whylight.metrics.ranking import average_precision, recall_at_k, roc_auc
from whylight.metrics.spans import iou_f1, span_cover, span_recall

PLAUSIBILITY = [name for name in METRICS.names() if Rationale in METRICS[name].consumes]
# scores divided by their sum 20: .4 .05 .2 .2 0 .1 .05 0; the second word speaks against; gold are 0, 1, 3, 6
SCORES = [8.0, -1.0, 4.0, 4.0, 0.0, 2.0, 2.0, 0.0]
MADE = explanation(SCORES)
GOLD = rationale(MADE, [0, 1, 3, 6])
pairs = st.lists(st.tuples(st.integers(-4, 6), st.booleans()), min_size=1, max_size=14)


def settings_of(name: str) -> dict[str, Any]:
    return {
        **({"boundary": BOUNDARY} if "boundary" in METRICS[name].settings else {}),
        **({"k": 2} if "k" in METRICS[name].settings else {}),
    }


def arrays(drawn: list[tuple[int, bool]]) -> tuple[Floats, Bools]:
    return np.asarray([s for s, _ in drawn], dtype=np.float64), np.asarray([g for _, g in drawn])


def value(name: str, scores: Any, gold: Bools, **settings: Any) -> float:
    made = explanation(scores)
    found = METRICS[name].function(made, rationale(made, np.flatnonzero(gold).tolist()), **settings)
    assert found.shape == (1,)
    return float(found[0])


@pytest.mark.parametrize("sign", ["positive", "absolute"])
@given(pairs)
def test_areas_under_curves_are_those_of_scikit_learn(sign: str, drawn: list[tuple[int, bool]]) -> None:
    scores, gold = arrays(drawn)
    shown = np.abs(scores) if sign == "absolute" else np.maximum(scores, 0)
    if gold.any():
        expected = reference.average_precision_score(gold, shown)
        assert value("average_precision", scores, gold, sign=sign) == pytest.approx(expected, abs=1e-12)
        precision, recall, _ = reference.precision_recall_curve(gold, shown)
        assert value("auprc", scores, gold, sign=sign) == pytest.approx(reference.auc(recall, precision), abs=1e-12)
    else:
        assert np.isnan(value("average_precision", scores, gold, sign=sign))
        assert np.isnan(value("auprc", scores, gold, sign=sign))
    if gold.any() and not gold.all():
        expected = reference.roc_auc_score(gold, shown)
        assert value("roc_auc", scores, gold, sign=sign) == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan(value("roc_auc", scores, gold, sign=sign))


@given(pairs, st.sampled_from([0.05, 0.1, 0.25, 0.5]), st.sampled_from(["sum", "max"]))
def test_precision_recall_and_f1_are_those_of_scikit_learn(
    drawn: list[tuple[int, bool]], boundary: float, scale: str
) -> None:
    scores, gold = arrays(drawn)
    positive = np.maximum(scores, 0)
    total = positive.sum() if scale == "sum" else positive.max()
    chosen = (positive / (total or 1) >= boundary) & (positive > 0)
    expected = reference.precision_recall_fscore_support(gold, chosen, average="binary", zero_division=0)
    for name, right in zip(("precision", "recall", "token_f1"), expected, strict=False):
        found = value(name, scores, gold, boundary=boundary, scale=scale)
        assert found == pytest.approx(right) if gold.any() else np.isnan(found)
    if gold.any():
        overlap = reference.jaccard_score(gold, chosen)
        found = value("iou", scores, gold, at="threshold", boundary=boundary, scale=scale)
        assert found == pytest.approx(overlap)


def test_iou_by_hand() -> None:
    # the top four are 0, 2, 3, 5: two in common, six in all
    np.testing.assert_allclose(iou(MADE, GOLD), [2 / 6])
    # from 0.15 on: 0, 2, 3 against 0, 1, 3, 6
    np.testing.assert_allclose(iou(MADE, GOLD, at="threshold", boundary=0.15), [2 / 5])
    # divided by the maximum 8: 1, 0, .5, .5, 0, .25, .25, 0
    np.testing.assert_allclose(iou(MADE, GOLD, at="threshold", boundary=0.25, scale="max"), [3 / 6])


def test_the_decision_at_a_boundary_by_hand() -> None:
    # from 0.2 on, which 4 / 20 reaches: 0, 2, 3
    np.testing.assert_allclose(precision(MADE, GOLD, boundary=0.2), [2 / 3])
    np.testing.assert_allclose(recall(MADE, GOLD, boundary=0.2), [2 / 4])
    np.testing.assert_allclose(token_f1(MADE, GOLD, boundary=0.2), [2 * 2 / (3 + 4)])
    # a boundary of 0 takes all that speaks for the label: 0, 2, 3, 5, 6, and never a score of 0
    np.testing.assert_allclose(recall(MADE, GOLD, boundary=0.0), [3 / 4])
    np.testing.assert_allclose(precision(MADE, GOLD, boundary=0.0), [3 / 5])
    # the sum of absolute scores is 21
    np.testing.assert_allclose(recall(MADE, GOLD, boundary=1 / 21, sign="absolute"), [4 / 4])
    for name in ("precision", "recall", "token_f1", "iou_f1", "span_recall"):
        np.testing.assert_allclose(METRICS[name].function(MADE, GOLD, boundary=0.9), [0.0])


def test_empty_rate_by_hand() -> None:
    np.testing.assert_allclose(empty_rate(MADE, GOLD, boundary=0.41), [1.0])
    np.testing.assert_allclose(empty_rate(MADE, GOLD, boundary=0.4), [0.0])
    nothing = explanation([-1.0, 0.0])
    np.testing.assert_allclose(empty_rate(nothing, rationale(nothing, [0]), boundary=0.0), [1.0])
    assert np.isnan(empty_rate(nothing, rationale(nothing, []), boundary=0.0)).all()


def test_runs_are_maximal_and_do_not_cross_from_text_to_text() -> None:
    marks = np.asarray([True, True, False, True, True, True])
    assert marked_runs(marks) == [(0, 2), (3, 6)]
    assert marked_runs(marks, np.asarray([0, 0, 0, 0, 1, 1])) == [(0, 2), (3, 4), (4, 6)]
    assert marked_runs(np.zeros(3, dtype=bool)) == []
    assert marked_runs(np.ones(1, dtype=bool)) == [(0, 1)]


def test_spans_by_hand() -> None:
    # gold spans 0-1, 3, 6. From 0.15 on 0, 2, 3 are chosen: 0-1 and 3 are hit, two of their three words
    np.testing.assert_allclose(span_recall(MADE, GOLD, boundary=0.15), [2 / 3])
    np.testing.assert_allclose(span_cover(MADE, GOLD, boundary=0.15), [2 / 3])
    # from 0.3 on only 0: one span hit, one of its two words
    np.testing.assert_allclose(span_recall(MADE, GOLD, boundary=0.3), [1 / 3])
    np.testing.assert_allclose(span_cover(MADE, GOLD, boundary=0.3), [1 / 2])
    # predicted 0 and 2-3: IoU of 0 with 0-1 is 1/2, of 2-3 with 3 is 1/2: both right; 6 is not found
    np.testing.assert_allclose(iou_f1(MADE, GOLD, boundary=0.15), [2 * 1 * (2 / 3) / (1 + 2 / 3)])
    # without the boundary: predicted 0, 2-3, 5-6; all three right
    np.testing.assert_allclose(iou_f1(MADE, GOLD, boundary=0.0), [1.0])


def test_a_span_that_shares_less_than_half_is_not_right() -> None:
    # predicted 0-4 against gold 0-1 (2/5) and gold 6 (not met): neither right; against gold 2-4 (3/5): right
    made = explanation([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(iou_f1(made, rationale(made, [0, 1, 6]), boundary=0.1), [0.0])
    np.testing.assert_allclose(iou_f1(made, rationale(made, [2, 3, 4, 6]), boundary=0.1), [2 * 1 * 0.5 / 1.5])


def test_cover_without_a_hit_is_undefined_or_zero_as_published() -> None:
    assert np.isnan(span_cover(MADE, GOLD, boundary=0.9)).all()
    np.testing.assert_allclose(span_cover(MADE, GOLD, boundary=0.9, published=True), [0.0])
    assert np.isnan(span_cover(MADE, rationale(MADE, []), boundary=0.1, published=True)).all()


def test_spans_of_a_pair_stay_in_their_text() -> None:
    # gold are the last word of the first text and the first of the second: two spans, one of them hit
    made = explanation([0.0, 1.0, 0.0, 0.0], pair_from=2)
    gold = rationale(made, [1, 2])
    np.testing.assert_allclose(span_recall(made, gold, boundary=0.5), [1 / 2])
    np.testing.assert_allclose(span_cover(made, gold, boundary=0.5), [1.0])
    np.testing.assert_allclose(iou_f1(made, gold, boundary=0.5), [2 * 1 * 0.5 / 1.5])


@given(pairs, st.sampled_from([0.0, 0.1, 0.2]))
def test_right_spans_are_as_many_from_either_side(drawn: list[tuple[int, bool]], boundary: float) -> None:
    scores, gold = arrays(drawn)
    found = value("iou_f1", scores, gold, boundary=boundary)
    published = value("iou_f1", scores, gold, boundary=boundary, published=True)
    assert found == published or not gold.any()


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), max_size=24))
def test_spans_are_the_same_if_they_share_half_whichever_way_it_is_counted(drawn: list[tuple[bool, bool, int]]) -> None:
    """Runs and their overlaps as sets of places, of texts that begin wherever a 0 is drawn."""
    part = np.cumsum([begins == 0 for _, _, begins in drawn])
    found: list[list[tuple[int, int]]] = []
    sets: list[list[set[int]]] = []
    for marks in ([one for one, _, _ in drawn], [other for _, other, _ in drawn]):
        own: list[set[int]] = []
        for place in (i for i, mark in enumerate(marks) if mark):
            if own and place - 1 in own[-1] and part[place - 1] == part[place]:
                own[-1].add(place)
            else:
                own.append({place})
        sets.append(own)
        found.append(marked_runs(np.asarray(marks, dtype=bool), part))
        assert found[-1] == [(min(run), max(run) + 1) for run in own]
    one, other = sets
    assert same_spans(*found) == sum(any(len(a & b) * 2 >= len(a | b) for b in other) for a in one)


def test_touching_spans_are_where_the_two_sides_would_differ() -> None:
    assert same_spans([(0, 4)], [(0, 2), (2, 4)]) == 1
    assert same_spans([(0, 2), (2, 4)], [(0, 4)]) == 2


@pytest.mark.parametrize("name", PLAUSIBILITY)
@given(drawn=pairs)
def test_values_lie_between_zero_and_one_and_do_not_depend_on_scaling(name: str, drawn: list[tuple[int, bool]]) -> None:
    scores, gold = arrays(drawn)
    found = value(name, scores, gold, **settings_of(name))
    assert np.isnan(found) or 0 <= found <= 1
    if not gold.any():
        assert np.isnan(found)
    np.testing.assert_equal(value(name, scores * 2**-20, gold, **settings_of(name)), found)


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "precision_at_k", "recall_at_k", "f1_at_k", "iou"])
@given(drawn=pairs)
def test_metrics_of_the_ranking_keep_under_monotone_transforms(name: str, drawn: list[tuple[int, bool]]) -> None:
    scores, gold = arrays(drawn)
    for transformed in (np.maximum(scores, 0) ** 2, np.where(scores > 0, np.sqrt(np.abs(scores)), -3.0)):
        np.testing.assert_equal(value(name, transformed, gold), value(name, scores, gold))


@pytest.mark.parametrize(
    "name", ["auprc", "average_precision", "empty_rate", "precision", "recall", "roc_auc", "token_f1"]
)
@given(drawn=pairs, seed=st.integers(0, 99))
def test_where_features_stand_does_not_matter_without_spans_or_a_cut(
    name: str, drawn: list[tuple[int, bool]], seed: int
) -> None:
    """Ties included: a permutation moves gold features among tied ones."""
    scores, gold = arrays(drawn)
    order = np.random.default_rng(seed).permutation(len(scores))
    np.testing.assert_allclose(
        value(name, scores[order], gold[order], **settings_of(name)), value(name, scores, gold, **settings_of(name))
    )


def test_a_perfect_explanation_has_perfect_values() -> None:
    made = explanation([1.0, 1.0, 0.0, 1.0, 0.0, -1.0])
    gold = rationale(made, [0, 1, 3])
    for name in PLAUSIBILITY:
        settings = {**settings_of(name), **({"k": 3} if "k" in METRICS[name].settings else {})}
        expected = 1.0 if METRICS[name].facts["higher_is_better"] else 0.0
        np.testing.assert_allclose(METRICS[name].function(made, gold, **settings), [expected])


def test_a_feature_is_gold_if_half_its_characters_are() -> None:
    made = explanation([3.0, 2.0, 1.0], words=["abcd", "efgh", "i"])
    half = Rationale(
        (type(made.spans[0])(0, 2, 6),)
    )  # "cd", a blank and "e": half of the first word, a quarter of the next
    np.testing.assert_allclose(average_precision(made, half), [1.0])
    np.testing.assert_allclose(roc_auc(made, half), [1.0])
    np.testing.assert_allclose(recall_at_k(made, half, k=1), [1.0])


@pytest.mark.parametrize("name", PLAUSIBILITY)
def test_a_rationale_is_of_one_label(name: str) -> None:
    two = explanation([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    with pytest.raises(SettingError, match="one target"):
        METRICS[name].function(two, rationale(two, [0]), **settings_of(name))
    shared = explanation([[1.0, 2.0, 3.0]], targets=2)
    alone = explanation([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        METRICS[name].function(shared, rationale(shared, [2]), **settings_of(name)),
        METRICS[name].function(alone, rationale(alone, [2]), **settings_of(name)),
    )


OF_ONE = [name for name in METRICS.names() if METRICS[name].consumes[0] is Explanation]


@pytest.mark.parametrize("name", [n for n in OF_ONE if "boundary" in METRICS[n].settings])
def test_a_boundary_is_never_made_up(name: str) -> None:
    evidence = [GOLD] if Rationale in METRICS[name].consumes else []
    with pytest.raises(SettingError, match="boundary"):
        METRICS[name].function(MADE, *evidence, **({"at": "threshold"} if name == "iou" else {}))
