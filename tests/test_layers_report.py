"""Layers in reports: a picture with a row per layer, everything escaped, and the same in words."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from balanced import parsed
from run_rows import explanation_row, score_row, write
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.segment import words
from whylight.core.text import Span, Text
from whylight.report import run_page
from whylight.report.layers import WIDTH, Picture, picture as picture_of
from whylight.report.page import page
from whylight.report.run_layers import layers_of
from whylight.report.run_rows import read_run
from whylight.report.stacks import stacks

NASTY = '<script>alert(1)</script> & "quoted" </td></style> \x01 {{ 7*7 }}'


def at_layers(scores: list[list[float]], text: str, *, signed: bool = True) -> list[Explanation]:
    """Explanations of a text, one per layer, with given scores, over and over."""
    spans = tuple(Span(0, start, end) for start, end in words(text))
    prediction = Prediction(1, "<b>good</b>", 0.9, (0.1, 0.9), (1,))
    made = []
    for layer, row in enumerate(scores, start=1):
        receipt = Provenance(
            model="m", method="decompx", settings={"layer": layer}, unit="word", remover=None, score="logit",
            signed=signed, class_specific=True, forward_passes=1, backward_passes=0, seconds=0.1,
        )  # fmt: skip
        own = np.resize(np.asarray(row), (1, len(spans)))
        made.append(Explanation(Text(text), spans, (Target(1, "<b>good</b>"),), own, prediction, receipt))
    return made


def pictures(explanations: list[Explanation], target: Target) -> tuple[Picture, ...]:
    return tuple(picture_of(stack, target) for stack in stacks(explanations))


def test_the_picture_has_a_row_a_layer_the_last_on_top_and_the_words_below() -> None:
    (picture,) = pictures(at_layers([[0.1, -0.2, 0.0], [0.5, 0.25, -1.0]], "a good film"), Target(1, "<b>good</b>"))
    (block,) = picture.blocks
    assert block.words == ("a", "good", "film")
    assert [band.layer for band in block.bands] == [2, 1]
    assert [[cell.step for cell in band.cells] for band in block.bands] == [[5, 2, -10], [1, -2, 0]]  # one scale
    assert [[cell.own for cell in band.cells] for band in block.bands] == [[5, 2, -10], [5, -10, 0]]
    assert block.bands[0].cells[2].tip == "film · layer 2 · -1"
    assert [band.peak for band in block.bands] == ["-1.00", "-0.200"]
    assert picture.strongest[1] == (1, (("good", "-0.200"), ("a", "+0.100")))


@pytest.mark.parametrize("count", [1, 10, 60, 400])
def test_every_word_stands_in_one_block_until_a_text_is_too_long(count: int) -> None:
    text = " ".join(f"{'long' * (n % 5)}w{n}" for n in range(count))
    (picture,) = pictures(at_layers([[0.1, 0.2], [0.3, 0.1]], text), Target(1, "<b>good</b>"))
    shown = [word for block in picture.blocks for word in block.words]
    assert len(shown) + picture.hidden == count
    assert (picture.hidden == 0) == (count <= 60)
    numbers = [int(word.rsplit("w", 1)[1]) for word in shown if not word.endswith("\u2026")]
    assert numbers == sorted(numbers)
    for block in picture.blocks:
        assert sum(max(2, len(word)) + 2 for word in block.words) <= WIDTH + 20
        assert all(len(band.cells) == len(block.words) for band in block.bands)


def test_of_a_long_text_the_strongest_words_are_shown() -> None:
    text = " ".join(f"w{n}" for n in range(900))
    stack = at_layers([[0.01], [0.02]], text)
    strong = stack[1].scores.copy()
    strong[0, 777] = 5.0
    (picture,) = pictures([stack[0], replace(stack[1], scores=strong)], stack[0].targets[0])
    assert "w777" in {word for block in picture.blocks for word in block.words}


def test_one_layer_alone_is_no_picture_and_others_keep_their_rows() -> None:
    stack = at_layers([[0.1, 0.2], [0.2, 0.1]], "good film")
    assert pictures(stack[:1], stack[0].targets[0]) == ()
    assert 'class="layers' not in page(stack[:1])
    other = replace(stack[0], provenance=replace(stack[0].provenance, method="lime", settings={}))
    html = page([*stack, other])
    assert html.count('class="layers') == 1
    assert html.count("Strongest for") == 1  # the row of lime; layers are in the picture


def test_the_page_escapes_what_the_user_wrote_and_says_it_in_words_too() -> None:
    text = f"A film {NASTY}"
    html = page(at_layers([[0.5, -0.4], [0.1, 0.3]], text))
    tags = parsed(html).seen
    assert "script" not in {tag for tag, _ in tags}
    assert "&lt;b&gt;good&lt;/b&gt;" in html
    assert "\x01" not in html
    assert "49" not in re.sub(r"<style>.*</style>", "", html, flags=re.DOTALL)
    said = [str(attrs["aria-label"]) for _, attrs in tags if attrs.get("role") == "img"]
    assert said == [
        f"Scores of decompx by layer and word{scaled}, part {number} of 2, layer 2 on top. "
        "The strongest words of each layer are listed below."
        for scaled in ("", ", each layer on its own scale")
        for number in (1, 2)
    ]
    assert "film · layer 2 · +0.3" in {attrs.get("title") for _, attrs in tags}
    assert re.search(r"layer 2</dt><dd><bdi lang=\"\">film</bdi>", html)
    assert not re.search(r"https?:|url\(|@import", html)


def test_signed_layers_have_two_colours_and_others_one() -> None:
    for signed, letters in ((True, {"f", "a"}), (False, {"i"})):
        rows = [[0.5, -0.4], [0.1, -0.3]] if signed else [[0.5, 0.4], [0.1, 0.3]]
        cells = [attrs["class"] for tag, attrs in parsed(page(at_layers(rows, "good film", signed=signed))).seen
                 if tag == "td" and attrs.get("title") and attrs.get("class") != "peak"]  # fmt: skip
        assert {str(one)[0] for one in cells} == letters


def test_a_right_to_left_text_is_drawn_from_the_right() -> None:
    (picture,) = pictures(at_layers([[0.1, 0.2], [0.3, 0.1]], "סרט נפלא good"), Target(1, "<b>good</b>"))
    assert [block.direction for block in picture.blocks] == ["rtl"]


def test_the_page_of_a_run_draws_layers(tmp_path: Path) -> None:
    explanations, scores = [], []
    for key in ("t0", "t1"):
        for layer, value in ((1, 0.25), (2, 0.75)):
            own = {"settings": json.dumps({"layer": layer}), "text": f"film {NASTY}"}
            explanations.append(explanation_row(key, f"attention@{layer}", [0.1 * layer, 0.3], **own))
            scores.append(score_row(key, f"attention@{layer}", value))
        explanations.append(explanation_row(key, "random", [0.5, 0.1], text=f"film {NASTY}"))
        scores.append(score_row(key, "random", 0.125))
    folder = write(tmp_path / "run", explanations, scores)
    run = read_run(folder)
    assert layers_of(run.explanations) == {"attention": {1: "attention@1", 2: "attention@2"}}
    html = run_page.run_page(folder)
    tags = parsed(html).seen
    assert "script" not in {tag for tag, _ in tags}
    assert html.count('class="layers"') == 2  # one per text
    assert "attention (layers 1 to 2)" in html
    assert "attention@1</b> is the method at layer 1" in html
    assert "layer 1: 0.250 [0.250, 0.250], layer 2: 0.750 [0.750, 0.750]" in html
    assert ">attention@2</text>" in html
    assert ">attention@1</text>" not in html  # of cost and quality, the last layer is shown
