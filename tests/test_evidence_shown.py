"""Evidence on pages and in the terminal: in its context, escaped, under probability and threshold."""

import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pages import Document, explanation, terminal
from test_evidence import NOTE, scored, with_threshold
from whylight.core.labels import Target
from whylight.core.segment import words
from whylight.core.text import Text
from whylight.explaining.console import Console
from whylight.report.page import fragment, page
from whylight.report.terminal import render

EVIL = '<script>alert(1)</script><img src=x onerror="1">'


def test_the_page_lists_evidence_in_its_context_under_probability_and_threshold() -> None:
    scores = scored(NOTE, heart=2.0, failure=1.0, furosemide=1.5)
    one = with_threshold(explanation(NOTE, scores), 0.41)
    visible = " ".join(Document(page([one])).visible.split())
    assert "Why positive? probability 0.67 · threshold 0.41 occlusion Evidence" in visible
    assert "Evidence Admitted with worsening dyspnoea. # Acute on chronic heart failure: diuresed with" in visible
    more = Document(page([explanation(NOTE, np.tile([1.0, 0.0], 99)[: len(scores)])], evidence=2))
    assert len([1 for tag, _ in more.tags if tag == "mark"]) == 2
    assert re.search(r"\d+ weaker spans are not listed", more.visible)
    assert "mark" not in {tag for tag, _ in Document(page([one], evidence=0)).tags}


@pytest.mark.parametrize("make", [page, fragment])
def test_hostile_text_stays_text_in_evidence_and_context(make: Any) -> None:
    text = f"{'so ' * 45}{EVIL} heart {EVIL} failure {EVIL}"
    offsets = words(text)
    scores = [float(text[a:b] in {"heart", "failure", "img", "onerror", "alert"}) for a, b in offsets]
    html = make([explanation(text, scores, labels=("no", EVIL))])
    document = Document(html)
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "img"})
    assert not any(name.startswith("on") or name == "src" for _, own in document.tags for name in own)
    assert len(document.with_class("context")) == 10
    assert "<script" not in html
    assert f"…{' so' * 3}" in document.visible


def test_characters_that_html_forbids_are_replaced_in_evidence() -> None:
    text = f"{'so ' * 45}\x00 heart\x07 \x1b[31m"
    html = page([explanation(text, scored(text, heart=1.0))])
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]", html)


def test_a_text_at_a_glance_has_spans_without_context() -> None:
    document = Document(page([explanation()]))
    assert len(document.with_class("glance")) == 1
    assert document.with_class("context") == []
    assert "mark" in {tag for tag, _ in document.tags}


def test_a_long_note_for_a_few_labels_is_folded_below_its_evidence_and_light() -> None:
    text = " ".join(f"word{i}" for i in range(1500))
    scores = np.zeros((4, 1500))
    for label in range(4):
        scores[label, 90 * label : 90 * label + 2] = 1.0
    labels = tuple(f"code {i}" for i in range(4))
    many = with_threshold(explanation(text, scores, labels=labels, targets=tuple(range(4))), 0.41)
    html = page([many])
    document = Document(html)
    assert len(document.with_class("whole")) == len(document.with_class("evidence")) == 4
    assert document.texts == [text] * 4
    assert all("open" not in own for tag, own in document.tags if tag == "details")
    assert len(html) < 4 * len(text) + 60_000
    for shown in (page([explanation(text, scores[0])]), page([many], evidence=0)):
        assert Document(shown).with_class("whole") == []


def test_a_method_for_every_label_alike_still_says_their_probabilities() -> None:
    same = explanation("good bad", [0.2, 0.8], targets=(0, 1), signed=False, class_specific=False)
    visible = " ".join(Document(page([with_threshold(same, 0.4)])).visible.split())
    assert "Same for every label negative: probability 0.33 · threshold 0.40 positive: probability 0.67" in visible
    assert "labels: negative (probability 0.33, threshold 0.40), positive (probability" in terminal(
        with_threshold(same, 0.4)
    )


def test_a_page_names_how_many_labels_are_predicted_besides() -> None:
    one = explanation(labels=("a", "b", "c"), targets=(2,))
    several = replace(one, prediction=replace(one.prediction, predicted=(2, 1, 0)))
    assert "50.0% and 2 more labels" in Document(page([several])).visible
    assert terminal(several).startswith("c 50.0% and 2 more labels  tiny")


def test_the_terminal_lists_evidence_on_one_line_each() -> None:
    one = with_threshold(explanation(NOTE, scored(NOTE, heart=2.0, failure=1.0, furosemide=3.5, coli=0.1)), 0.41)
    lines = terminal(one, width=72).splitlines()
    start = lines.index("    evidence:")
    assert "  occlusion: why positive (probability 0.67, threshold 0.41)?" in lines
    assert lines[start + 1] == "    1. +3.50  … diuresed with »furosemide«, eight litres. # Kidney …"
    assert not lines[start + 2].startswith("    2.")
    wide = terminal(one, width=300)
    assert "… dyspnoea. # Acute on chronic heart failure: diuresed with »furosemide«, eight litres. # Kidney" in wide


@pytest.mark.parametrize("width", [30, 48, 80, 200])
def test_no_line_of_evidence_is_wider_than_the_terminal(width: int) -> None:
    text = "日本語の映画 とても良い " * 20 + NOTE
    offsets = words(text)
    scores = np.where(np.arange(len(offsets)) % 7 < 2, 1.0, 0.0)
    printed = terminal(explanation(text, scores), width=width).split("evidence:")[1].split("weaker")[0]
    lines = printed.splitlines()[1:-1]
    assert [line.split(".")[0].strip() for line in lines] == ["1", "2", "3", "4", "5"]
    assert all(Console().measure(line).maximum <= width for line in lines)
    assert all("»" in line for line in lines)


def test_a_short_text_with_one_label_is_printed_as_before() -> None:
    assert "evidence" not in terminal(explanation())
    both = terminal(explanation("good bad", [[1.0, -1.0], [-3.0, 3.0]], targets=(0, 1)))
    assert both.count("evidence:") == 2
    file = io.StringIO()
    render([explanation(NOTE)], console=Console(file=file, width=80), evidence=0)
    assert "evidence" not in file.getvalue()


def test_no_control_character_reaches_the_terminal_through_evidence() -> None:
    text = f"{'so ' * 45}\x1b[2J heart \x9b31m\u202e [red]failure[/red] {'so ' * 9}"
    printed = terminal(explanation(text, scored(text, heart=1.0, failure=2.0)))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed)
    assert "[red]»failure«[/red]" in printed


def test_a_very_long_span_loses_its_middle_on_the_page() -> None:
    text = " ".join(f"w{i}" for i in range(400))
    document = Document(page([explanation(text, [1.0] * 400)]))
    shown = document.visible.split("Evidence")[1].split("+200")[0].strip()
    assert shown.startswith("w0 w1")
    assert len(shown) < 400
    assert " … " in shown


def of_labels(text: str, count: int) -> Any:
    """One explanation of several labels."""
    names = tuple(f"label {number}" for number in range(3))
    one = explanation(text, np.linspace(-1, 1, len(words(text))), labels=names)
    targets = tuple(Target(number, name) for number, name in enumerate(names[:count]))
    return replace(one, targets=targets, scores=np.repeat(one.scores[:1], count, axis=0))


def test_a_long_text_is_printed_once_for_all_its_labels() -> None:
    text = " ".join(f"word{number}" for number in range(60))
    several = " ".join(terminal(of_labels(text, 3)).split())
    assert several.count("word7 word8 word9") == 1
    assert several.index("word7 word8 word9") < several.index("why label 0")
    assert [several.count(f"why label {number}") for number in range(3)] == [1, 1, 1]
    assert several.count("evidence:") == several.count("for: word59") == 3
    assert " ".join(terminal(of_labels(text, 1)).split()).count("word7 word8 word9") == 1
    short = " ".join(terminal(of_labels("a gripping film", 3)).split())
    assert short.count("a gripping film") == 3  # taken in at a glance, and coloured for each label


def test_a_text_of_pages_is_not_printed_where_its_evidence_is() -> None:
    text = " ".join(f"word{number}" for number in range(900))
    printed = " ".join(terminal(of_labels(text, 3)).split())
    assert "900 words; below is what carries each label" in printed
    assert "word100 word101" not in printed
    assert printed.count("evidence:") == 3


def test_both_texts_of_a_long_pair_are_printed_once() -> None:
    one = of_labels(" ".join(f"word{number}" for number in range(60)), 2)
    pair = replace(one, example=Text(one.example.text, "a second text"))
    printed = " ".join(terminal(pair).split())
    assert printed.count("second text a second text") == 1
    assert printed.count("word7 word8 word9") == 1
