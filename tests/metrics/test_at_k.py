"""Precision, recall and F1 at k words: by hand, and by picking words one by one."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_builders import Documents, documents, explanation, made, pair, rationale
from sklearn import metrics as reference

from whylight.core.errors import SettingError
from whylight.core.marked import marked_corpus
from whylight.core.registry import METRICS
from whylight.metrics.corpus import micro_f1_at_k
from whylight.metrics.ranking import f1_at_k, mass_in_rationale, pointing_game, precision_at_k, recall_at_k

# the second word speaks against the label; gold are 0, 1, 3, 6
MADE = explanation([8.0, -1.0, 4.0, 4.0, 0.0, 2.0, 2.0, 0.0])
GOLD = rationale(MADE, [0, 1, 3, 6])
CORPUS = [pair([0.5, 0.3, 0.2, 0.0], [0, 2]), pair([0.25, 0.25, 0.25, 0.25], [1]), pair([1.0], [0])]
words = st.lists(st.tuples(st.integers(-4, 6), st.booleans()), min_size=1, max_size=14)


def test_values_at_k_by_hand() -> None:
    # ranked 0, 2, 3, 5, 6, then the ties at 0 in reading order; gold 0, 1, 3, 6
    np.testing.assert_allclose(precision_at_k(MADE, GOLD), [3 / 5])
    np.testing.assert_allclose(recall_at_k(MADE, GOLD), [3 / 4])
    np.testing.assert_allclose(precision_at_k(MADE, GOLD, k=2), [1 / 2])
    np.testing.assert_allclose(recall_at_k(MADE, GOLD, k=2), [1 / 4])
    np.testing.assert_allclose(precision_at_k(MADE, GOLD, k="rationale"), [2 / 4])
    np.testing.assert_allclose(recall_at_k(MADE, GOLD, k="rationale"), [2 / 4])
    np.testing.assert_allclose(recall_at_k(MADE, GOLD, k=6), [4 / 4])  # 1 is the first of the ties at 0
    np.testing.assert_allclose(precision_at_k(MADE, GOLD, k=10), [4 / 10])  # eight words only


def test_values_at_k_of_absolute_scores_by_hand() -> None:
    # |-1| ranks after the 2s: 0, 2, 3, 5, 6, 1
    np.testing.assert_allclose(precision_at_k(MADE, GOLD, k=6, sign="absolute"), [4 / 6])
    made = explanation([1.0, -5.0, 3.0])
    np.testing.assert_allclose(precision_at_k(made, rationale(made, [1]), k=1, sign="absolute"), [1.0])
    np.testing.assert_allclose(precision_at_k(made, rationale(made, [1]), k=1), [0.0])


def test_f1_at_k_by_hand() -> None:
    # ranked 0, 2, 3, 5, 6; the others are 0 or below, and never chosen; gold 0, 1, 3, 6
    np.testing.assert_allclose(f1_at_k(MADE, GOLD, k=2), [2 * 1 / (2 + 4)])
    np.testing.assert_allclose(f1_at_k(MADE, GOLD, k=5), [2 * 3 / (5 + 4)])
    np.testing.assert_allclose(f1_at_k(MADE, GOLD, k=6), [2 * 3 / (5 + 4)])  # recall_at_k takes the gold 1 here
    np.testing.assert_allclose(f1_at_k(MADE, GOLD), [2 * 3 / (5 + 4)])  # 25 is more than there are
    np.testing.assert_allclose(f1_at_k(MADE, GOLD, k=6, sign="absolute"), [2 * 4 / (6 + 4)])
    np.testing.assert_allclose(f1_at_k(MADE, GOLD, k="rationale"), [2 / 4])
    against = explanation([-1.0, 0.0, -3.0])
    np.testing.assert_allclose(f1_at_k(against, rationale(against, [0, 1]), k=2), [0.0])


@given(words, st.integers(1, 6), st.sampled_from(["positive", "absolute"]))
def test_f1_at_k_is_what_picking_one_by_one_finds(drawn: list[tuple[int, bool]], k: int, sign: str) -> None:
    left = {place: abs(score) if sign == "absolute" else score for place, (score, _) in enumerate(drawn)}
    chosen: list[int] = []
    while len(chosen) < k and left and max(left.values()) > 0:
        first = next(place for place, score in left.items() if score == max(left.values()))
        chosen.append(first)
        del left[first]
    gold = [place for place, (_, own) in enumerate(drawn) if own]
    hits = len(set(chosen) & set(gold))
    shown = explanation([score for score, _ in drawn])
    (found,) = METRICS["f1_at_k"].function(shown, rationale(shown, gold), k=k, sign=sign)
    if not gold:
        assert np.isnan(found)
    elif not hits:
        assert found == 0
    else:
        p, r = hits / len(chosen), hits / len(gold)
        assert found == pytest.approx(2 * p * r / (p + r))


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "f1_at_k"])
def test_no_features_at_all_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="k"):
        METRICS[name].function(MADE, GOLD, k=0)


def test_micro_f1_at_k_by_hand() -> None:
    # the first: 0 and 1, one gold; the second: 0 and 1 of four ties, one gold; the third has one word: 3 hits, 5 chosen
    corpus = marked_corpus(CORPUS)
    assert micro_f1_at_k(corpus, k=2)[0] == pytest.approx(2 * 3 / (5 + 4))
    # 25 are more than there are: all but the last of the first, whose score is 0
    assert micro_f1_at_k(corpus)[0] == pytest.approx(2 * 4 / (8 + 4))
    assert micro_f1_at_k(corpus, k="rationale")[0] == pytest.approx(2 * 2 / (4 + 4))
    assert micro_f1_at_k(marked_corpus([pair([-1.0, 0.0], [0])])) == [0.0]
    assert micro_f1_at_k(marked_corpus([pair([-1.0, 0.0], [0])]), sign="absolute") == [1.0]
    with pytest.raises(SettingError, match="'k' must be at least 1"):
        micro_f1_at_k(corpus, k=0)


@given(documents, st.integers(1, 6))
def test_micro_f1_at_k_is_that_of_scikit_learn_over_all_words(drawn: Documents, k: int) -> None:
    gold, chosen = [], []
    for one in drawn:
        if any(own for _, own in one):  # the others have no rationale
            ranked = sorted(range(len(one)), key=lambda place, one=one: (-one[place][0], place))[:k]
            gold += [own for _, own in one]
            chosen += [place in ranked and score > 0 for place, (score, _) in enumerate(one)]
    found = micro_f1_at_k(marked_corpus(made(drawn)), k=k)
    assert found[0] == pytest.approx(reference.f1_score(gold, chosen, zero_division=0))


def test_the_highest_feature_points_at_a_gold_one_and_ties_count_in_parts() -> None:
    np.testing.assert_allclose(pointing_game(MADE, GOLD), [1.0])
    np.testing.assert_allclose(pointing_game(MADE, rationale(MADE, [2, 3])), [0.0])
    made = explanation([1.0, 3.0, -5.0, 3.0, 3.0])
    np.testing.assert_allclose(pointing_game(made, rationale(made, [1, 2])), [1 / 3])
    np.testing.assert_allclose(pointing_game(made, rationale(made, [1, 2]), sign="absolute"), [1.0])
    flat = explanation([0.0, -1.0])
    np.testing.assert_allclose(pointing_game(flat, rationale(flat, [0])), [0.0])
    assert np.isnan(pointing_game(MADE, rationale(MADE, []))).all()


def test_the_mass_of_scores_on_gold_features() -> None:
    made = explanation([1.0, 3.0, -5.0, 4.0])
    np.testing.assert_allclose(mass_in_rationale(made, rationale(made, [1, 2])), [3 / 8])
    np.testing.assert_allclose(mass_in_rationale(made, rationale(made, [1, 2]), sign="absolute"), [8 / 13])
    flat = explanation([0.0, -1.0])
    np.testing.assert_allclose(mass_in_rationale(flat, rationale(flat, [0])), [0.0])
    assert np.isnan(mass_in_rationale(made, rationale(made, []))).all()
