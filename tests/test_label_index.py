"""A note with very many labels: an index, one copy of the note, and links between both; what labels stand for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pages import Document, explanation, terminal
from shown import EVIL
from test_evidence import with_threshold
from whylight.core.explanation import Explanation
from whylight.core.labels import Labels, Target
from whylight.core.text import Text
from whylight.report.citations import Citation, cited_pieces
from whylight.report.page import fragment, page
from whylight.report.renderers import with_evidence

LABELS, WORDS = 46, 1500
NOTE = " ".join(f"word{i}" for i in range(WORDS))


def coded(labels: int = LABELS, text: str = NOTE, described: str | None = None, **receipt: Any) -> Explanation:
    """A note in which each label has two words of its own, and shares one with the next label."""
    words = len(text.split())
    scores = np.zeros((labels, words))
    for label in range(labels):
        scores[label, [3 * label, 3 * label + 3, words - 1 - label]] = 1.0
    names = tuple(f"code {i}" for i in range(labels))
    one = with_threshold(explanation(text, scores, labels=names, targets=tuple(range(labels)), **receipt), 0.41)
    targets = tuple(Target(i, name, f"{described} {i}" if described else None) for i, name in enumerate(names))
    return replace(one, targets=targets)


@pytest.mark.parametrize("make", [page, fragment])
def test_a_page_of_46_labels_has_one_copy_of_the_note_and_links_that_lead_somewhere(make: Any) -> None:
    html = make([coded(described="Disease")])
    document = Document(html)
    assert document.texts == [NOTE]
    assert len(document.with_class("evidence")) == LABELS
    assert "labels are drawn" not in document.visible
    assert len(html) < 3 * len(NOTE) + 150_000
    names = [own["id"] for _, own in document.tags if own.get("id")]
    assert len(names) == len(set(names))
    links = [str(own["href"]) for tag, own in document.tags if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(names)
    assert all(link.startswith("#") for link in links)


def test_the_index_says_probability_threshold_and_spans_of_every_label() -> None:
    document = Document(page([coded(described="Disease")], evidence=1))
    said = " ".join(document.visible.split())
    assert "#46 labelsprobabilitythresholdspans" in said
    assert "1code 0 Disease 0 not predicted0.0010.4102" in said  # of two spans, though one is listed
    assert "46code 45 Disease 450.040.412" in said
    assert said.count("1 weaker span is not listed") == LABELS


def test_every_span_is_followed_by_the_numbers_of_the_labels_that_it_is_for() -> None:
    text = "one two three four five"
    cited = [Citation(0, 0, 7, 1), Citation(0, 4, 13, 2), Citation(0, 4, 7, 3), Citation(0, 19, 23, 2)]
    (pieces,) = cited_pieces(Text(text), cited)
    assert "".join(piece.text for piece in pieces) == text
    assert [(piece.text, piece.start, piece.marked, piece.numbers) for piece in pieces] == [
        ("one ", 0, True, ()),
        ("two", 4, True, (1, 3)),
        (" three", None, True, (2,)),
        (" four ", None, False, ()),
        ("five", 19, True, (2,)),
    ]
    assert [len(part) for part in cited_pieces(Text("a", "b"), [Citation(1, 0, 1, 1)])] == [1, 1]


def test_labels_share_what_they_both_rest_on() -> None:
    html = page([coded(labels=5, text=" ".join(f"w{i}" for i in range(200)))])
    cites = [own["data-number"] for own in Document(html).with_class("cite")]
    assert cites[:3] == ["1", "1", "2"]  # w0; w3, which the first two labels share
    assert html.count('aria-label="label 2"') == 2


@pytest.mark.parametrize(
    ("labels", "text", "options"),
    [(4, NOTE, {}), (46, " ".join(f"w{i}" for i in range(99)), {}), (46, NOTE, {"evidence": 0})],
    ids=["few labels", "a short text", "no evidence"],
)
def test_other_pages_colour_the_text_of_each_label(labels: int, text: str, options: dict[str, int]) -> None:
    if options:
        text = " ".join(text.split()[:150])
    document = Document(page([coded(labels=min(labels, 30), text=text)], **options))
    assert len(document.texts) == min(labels, 30)
    assert document.with_class("labels") == []


@pytest.mark.parametrize("make", [page, fragment])
@pytest.mark.parametrize("labels", [2, 6])
def test_a_hostile_description_stays_text(make: Any, labels: int) -> None:
    html = make([coded(labels=labels, described=EVIL)])
    document = Document(html)
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "img"})
    assert not any(name.startswith("on") for _, own in document.tags for name in own)
    assert "<script" not in html
    assert "\x1b" not in html
    assert 'alert("x")' in document.visible


def test_terminal_and_json_say_what_a_label_stands_for() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    one = coded(labels=2, text=text, described="Heart\nfailure\x1b[2J")
    printed = terminal(one, width=200)
    assert "occlusion: why code 0 - Heart failure" in printed
    assert "\x1b" not in printed
    assert with_evidence(one)[1]["target"]["description"] == "Heart\nfailure\x1b[2J 1"
    assert " - " not in terminal(coded(labels=2, text=text)).split("evidence")[0]
    again = Explanation.from_dict(one.to_dict())
    assert [target.description for target in again.targets] == [target.description for target in one.targets]


def test_a_description_is_no_part_of_which_target_it_is() -> None:
    assert Target(0, "a", "first") == Target(0, "a")
    labels = Labels(("a", "b"), descriptions=("first", None))
    targets, _ = labels.resolve("all", np.array([0.5, 0.5]))
    assert [target.description for target in targets] == ["first", None]
    assert Labels(("a", "b")).target(1).description is None
