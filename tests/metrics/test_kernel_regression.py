"""Kernel regression as Brinner and Zarriess 2023 evaluate, once more in plain loops: another way to the same number."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whylight.core.marked import MarkedPair, marked_corpus
from whylight.metrics._plausibility import span_agreement
from whylight.metrics.kernel_regression import TRIED_SHARES, kernel_regression_f1, kernel_regression_iou_f1

Document = tuple[list[float], list[bool]]
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
