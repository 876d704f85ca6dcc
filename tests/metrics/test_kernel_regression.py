"""Kernel regression: its parts by hand, and all of it in plain loops, as Brinner and Zarriess 2023 evaluate."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_builders import Documents, documents, made, pair

from whylight.core.arrays import Bools
from whylight.core.errors import SettingError
from whylight.core.marked import MarkedPair, TuningNeededError, marked_corpus
from whylight.metrics._plausibility import span_agreement
from whylight.metrics.kernel_regression import (
    TRIED_SHARES,
    confident_share,
    kernel_regression_f1,
    kernel_regression_iou_f1,
    kernel_regression_share,
    oracle_share,
    select_share,
    token_f1_of,
)

Document = tuple[list[float], list[bool]]
NO_RATIONALE = pair([0.9, 0.1], [])
METRICS = {"token": kernel_regression_f1, "iou": kernel_regression_iou_f1}


def document(seed: int, size: int) -> Document:
    """Two runs of gold words among others, and scores that know a little of them; some are negative, some tie."""
    generator = np.random.default_rng(seed)
    gold = [i % 9 in (2, 3, 4, 7) for i in range(size)]
    scores = [round(float(generator.normal(loc=1.0 if own else -0.2)), 1) for own in gold]
    return scores, gold


DOCUMENTS = {f"d{seed}": document(seed, 12 + 3 * seed) for seed in range(5)}
OTHERS = {f"o{seed}": document(10 + seed, 14 + 2 * seed) for seed in range(4)}


def pairs(documents: dict[str, Document]) -> list[MarkedPair]:
    return [
        MarkedPair(name, np.asarray(scores), np.asarray(gold), np.zeros(len(gold), dtype=np.int64))
        for name, (scores, gold) in documents.items()
    ]


def to_unit(scores: list[float], sign: str) -> list[float]:
    """Scores between 0 and 1."""
    low = min(scores)
    positive = [{"shifted": s - low, "absolute": abs(s), "positive": max(s, 0.0)}[sign] for s in scores]
    highest = max(positive)
    return [s / highest for s in positive]


def marked(scores: list[float], share: float, *, strict: bool) -> list[bool]:
    limit = sorted(scores, reverse=True)[min(round(share * len(scores)), len(scores) - 1)]
    return [s > limit if strict else s >= limit for s in scores]


def runs(marks: list[bool]) -> list[set[int]]:
    found: list[set[int]] = []
    for place, own in enumerate(marks):
        if own and place and marks[place - 1]:
            found[-1].add(place)
        elif own:
            found.append({place})
    return found


def f1(chosen: list[bool], gold: list[bool], kind: str) -> float:
    """F1 of words, or of runs of words counted from the predicted side alone, as in the published code."""
    if kind == "token":
        one, other = ({i for i, own in enumerate(marks) if own} for marks in (chosen, gold))
        right, n_chosen, n_gold = len(one & other), len(one), len(other)
    else:
        predicted, wanted = runs(chosen), runs(gold)
        right = sum(any(len(p & w) / len(p | w) >= 0.5 for w in wanted) for p in predicted)
        n_chosen, n_gold = len(predicted), len(wanted)
    if not right:
        return 0.0
    precision, recall = right / n_chosen, right / n_gold
    return 2 * precision * recall / (precision + recall)


def in_loops(kind: str, *, leave_one_out: bool, strict: bool = False, sign: str = "positive") -> float:
    """Of each document the best share; of each evaluated one the kernel's mean of the others' best shares."""
    known = {
        name: (to_unit(scores, sign), gold) for name, (scores, gold) in (DOCUMENTS if leave_one_out else OTHERS).items()
    }
    best = {}
    for name, (scores, gold) in known.items():
        tried = [(f1(marked(scores, share, strict=strict), gold, kind), -share) for share in TRIED_SHARES.tolist()]
        best[name] = -max(tried)[1]  # of the best, the smallest
    values = []
    for name, (raw, gold) in DOCUMENTS.items():
        scores = to_unit(raw, sign)
        x = sum(s > 0.1 for s in scores) / len(scores)
        above = below = 0.0
        for other, (theirs, _) in known.items():
            if other != name:
                weight = math.exp(-((sum(s > 0.1 for s in theirs) / len(theirs) - x) ** 2) / 0.05)
                above, below = above + weight * best[other], below + weight
        values.append(f1(marked(scores, above / below, strict=strict), gold, kind))
    return sum(values) / len(values)


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize(
    "settings",
    [
        {"leave_one_out": False},
        {"leave_one_out": True},
        {"leave_one_out": True, "strict": True},
        {"leave_one_out": True, "strict": True, "sign": "shifted"},
        {"leave_one_out": False, "sign": "shifted"},
        {"leave_one_out": True, "sign": "absolute"},
    ],
)
def test_it_is_what_plain_loops_find(kind: str, settings: dict[str, Any]) -> None:
    found = METRICS[kind](marked_corpus(pairs(DOCUMENTS), pairs(OTHERS)), **settings)
    assert found[0] == pytest.approx(in_loops(kind, **settings))
    assert 0 < found[0] < 1


def test_words_and_spans_differ_and_every_setting_changes_something() -> None:
    corpus = marked_corpus(pairs(DOCUMENTS), pairs(OTHERS))
    settings: list[dict[str, Any]] = [
        {},
        {"leave_one_out": True},
        {"strict": True},
        {"sign": "shifted"},
        {"sign": "absolute"},
    ]
    for measure in METRICS.values():
        values = [float(measure(corpus, **own)[0]) for own in settings]
        assert values[0] not in values[1:]
    assert METRICS["token"](corpus)[0] != METRICS["iou"](corpus)[0]


def test_shifted_scores_do_not_depend_on_where_they_start() -> None:
    """Words that speak against a label stay apart from each other, which the positive part takes for equal."""
    moved = {name: ([s - 7.5 for s in scores], gold) for name, (scores, gold) in DOCUMENTS.items()}
    for measure in METRICS.values():
        here, there = (marked_corpus(pairs(one)) for one in (DOCUMENTS, moved))
        settings = {"leave_one_out": True, "sign": "shifted"}
        assert measure(here, **settings)[0] == pytest.approx(measure(there, **settings)[0])
        assert measure(here, leave_one_out=True)[0] != measure(there, leave_one_out=True)[0]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=16))
def test_right_spans_are_as_many_from_either_side_also_in_pairs_of_texts(drawn: list[tuple[bool, bool, bool]]) -> None:
    """Why there is no setting for the published count."""
    chosen, gold, later = (np.asarray(own) for own in zip(*drawn, strict=True))
    parts = np.sort(later).astype(np.int64)
    assert span_agreement(chosen, gold, parts) == span_agreement(chosen, gold, parts, published=True)


def known() -> list[MarkedPair]:
    """Ten words each; one or six of them are confident, and gold."""
    return [pair([1.0] + [0.0] * 9, [0]), pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5])]


def test_a_share_takes_the_features_that_reach_its_place() -> None:
    scores = np.asarray([0.4, 0.9, 0.1, 0.4, 0.7])
    # places by score: 1, 4, (0, 3), 2. A share of .2 is place 1, of .4 place 2, where two tie
    assert select_share(scores, 0.2).tolist() == [False, True, False, False, True]
    assert select_share(scores, 0.2, strict=True).tolist() == [False, True, False, False, False]
    assert select_share(scores, 0.4).tolist() == [True, True, False, True, True]
    assert select_share(scores, 0.4, strict=True).tolist() == [False, True, False, False, True]
    assert select_share(scores, 0.99).all()
    assert not select_share(np.zeros(3), 0.5, strict=True).any()
    assert select_share(np.zeros(0), 0.5).shape == (0,)


def test_the_oracle_share_is_the_smallest_that_does_best() -> None:
    # gold are the three highest of ten; places 0, 1, 2 take 1, 2, 3 features: place 2 begins where round(10 share) = 2
    document = pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [0, 1, 2])
    found = oracle_share(document)
    assert token_f1_of(select_share(document.scores, found), document) == 1
    assert 0.15 < found < 0.16
    # strictly above, the same three need place 3
    strict = oracle_share(document, strict=True)
    assert token_f1_of(select_share(document.scores, strict, strict=True), document) == 1
    assert 0.25 < strict < 0.26


def test_the_oracle_follows_what_it_is_asked_to_judge() -> None:
    def spans(chosen: Bools, own: MarkedPair) -> float:
        return span_agreement(chosen, own.gold).f1

    # gold are 0-2 and 5; two words between them score higher than 5. Token F1 of the top 2, 3, 6 is 4/6, 6/7, 8/10, but
    # spans are content with two: 0-1 shares 2/3 with 0-2, and nothing finds 5 apart from the words before it
    document = pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 5])
    assert select_share(document.scores, oracle_share(document)).sum() == 3
    assert select_share(document.scores, oracle_share(document, judge=spans)).sum() == 2


def test_the_confident_share_counts_scores_above_a_tenth() -> None:
    assert confident_share(np.asarray([0.1, 0.11, 0.9, 0.0])) == 0.5


def test_kernel_regression_by_hand() -> None:
    few, many = (oracle_share(one) for one in known())
    query = pair([1.0, 1.0, 1.0] + [0.0] * 7, [])  # 3 of 10: .2 and .3 away from 1 and 6 of 10
    near, far = np.exp(-(0.2**2) / 0.05), np.exp(-(0.3**2) / 0.05)
    expected = (near * few + far * many) / (near + far)
    assert few < 0.05
    assert many > 0.4
    np.testing.assert_allclose(kernel_regression_share([*known(), NO_RATIONALE], [query, query]), [expected] * 2)


def test_leaving_one_out_never_looks_at_the_document_itself() -> None:
    few, many = (oracle_share(one) for one in known())
    np.testing.assert_allclose(kernel_regression_share(known(), known(), leave_one_out=True), [many, few])
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share(known()[:1], known()[:1], leave_one_out=True)
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share([NO_RATIONALE], known())
    # another label of the same text is the same document
    twice = [*known(), pair([1.0] + [0.0] * 9, [3], text=known()[0].text)]
    assert kernel_regression_share(twice, twice, leave_one_out=True)[0] == pytest.approx(many)


@given(documents, st.integers(0, 5))
def test_a_guessed_share_lies_among_the_known_ones(drawn: Documents, seed: int) -> None:
    validation = made(drawn)
    best = [oracle_share(one) for one in validation if one.gold.any()]
    found = kernel_regression_share(validation, [pair(np.random.default_rng(seed).random(7), [])])
    assert min(best) - 1e-12 <= found[0] <= max(best) + 1e-12


def test_kernel_regression_f1_by_hand() -> None:
    # learnt from one document, the share is its best one: the first place of ten, whatever the text
    corpus = marked_corpus(known(), [pair([1.0] + [0.0] * 9, [0], text="other")])
    # one of one gold is marked, and one of six: F1 1 and 2/7
    assert kernel_regression_f1(corpus)[0] == pytest.approx((1 + 2 / 7) / 2)
    # left out, each is marked as the other one would be
    shares = kernel_regression_share(known(), known(), leave_one_out=True)
    by_hand = [token_f1_of(select_share(one.scores, own), one) for one, own in zip(known(), shares, strict=True)]
    assert kernel_regression_f1(marked_corpus(known()), leave_one_out=True)[0] == pytest.approx(np.mean(by_hand))
    with pytest.raises(TuningNeededError):
        kernel_regression_f1(marked_corpus(known()))


def test_spans_are_judged_where_spans_are_asked_for() -> None:
    # half of a gold span is found: F1 of features 2/3, of spans 1; and spans of two texts never join
    whole = pair([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1], text="known")
    half = pair([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 3], text="asked")
    corpus = marked_corpus([half], [whole])
    assert kernel_regression_f1(corpus)[0] == pytest.approx(2 / 3)
    assert kernel_regression_iou_f1(corpus)[0] == 1.0
    cut = MarkedPair("asked", half.scores, half.gold, np.asarray([0, 1, 1, 1, 1, 1]))
    assert kernel_regression_iou_f1(marked_corpus([cut], [whole]))[0] == 0.5  # of two spans, one is right


def test_strict_marks_what_lies_above_the_last_place_alone() -> None:
    corpus = marked_corpus(known(), [pair([1.0, 0.5] + [0.0] * 8, [0], text="other")])
    assert kernel_regression_f1(corpus, strict=True)[0] == pytest.approx((1 + 2 / 7) / 2)
