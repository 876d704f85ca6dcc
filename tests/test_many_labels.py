"""A page of thousands of labels stays a page: the most probable labels, and a sentence about the others."""

import json
from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.report import drawn
from whylight.report.page import page

TEXT = "a gripping and moving film " * 4


def classifier(labels: int) -> Any:
    names = [f"code {number:04}" for number in range(labels)]
    bias = np.random.default_rng(0).normal(size=labels)

    def function(texts: list[str]) -> Floats:
        logits = bias[None] + 0.1 * np.asarray([[len(text)] for text in texts]) * np.sin(np.arange(labels))
        return np.asarray(1 / (1 + np.exp(-logits)))

    return wl.load(function, labels=names, head="sigmoid")


def explained(labels: int, text: str = TEXT, **options: Any) -> Explanation:
    found: Explanation = wl.explain(classifier(labels), text, method="occlusion", target="all", **options)
    return found


def test_a_page_of_five_thousand_labels_is_bounded_and_says_so() -> None:
    explanation = explained(5000)
    html = page([explanation])
    assert len(html) < 5_000_000
    assert "100 of 5,000 labels are drawn, the most probable ones" in html
    assert "--format json" in html
    probabilities = explanation.prediction.probabilities
    likely = sorted(range(5000), key=lambda i: -probabilities[i])
    assert all(f"<bdi>code {i:04}</bdi>" in html for i in likely[:100])
    assert f"code {likely[200]:04}" not in html


def test_json_keeps_all_of_them() -> None:
    lines = explained(500).to_json().split("\n")
    assert [json.loads(line)["target"]["index"] for line in lines] == list(range(500))


@pytest.mark.parametrize("labels", [2, 100])
def test_a_page_of_usual_size_draws_every_label_and_says_nothing(labels: int) -> None:
    explanation = explained(labels)
    assert len(drawn.drawn_targets([explanation])) == labels
    assert "labels are drawn" not in page([explanation])


def test_a_long_text_leaves_room_for_fewer_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = explained(60)
    monkeypatch.setattr(drawn, "PIECES", 30 * len(explanation.spans))
    assert len(drawn.drawn_targets([explanation])) == 30
    monkeypatch.setattr(drawn, "PIECES", 1)
    assert len(drawn.drawn_targets([explanation])) == drawn.FEWEST
