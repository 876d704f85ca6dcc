"""Reports: everything escaped, nothing lost, nothing fetched, and readable without colour."""

import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pages import NASTY, Document, explanation, terminal
from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.text import Span
from whylight.report.page import fragment, page, write_page


@pytest.mark.parametrize("make", [page, fragment])
def test_nothing_that_a_user_wrote_becomes_an_element(make: Any) -> None:
    evil = '<img src=x onerror="alert(1)">\'"><script>2</script>'
    shown = explanation(
        NASTY,
        pair=evil,
        labels=("no", evil),
        method=f"m{evil}",
        model=evil,
        settings={evil: evil},
        unit=evil,
        remover=evil,
        score=evil,
        notes=(evil,),
        completeness_gap=(0.5,),
    )
    document = Document(make([shown, explanation(NASTY, pair=evil, labels=("no", evil), model=evil, method="other")]))
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "img"})
    assert not any(name.startswith("on") or name == "src" for _, own in document.tags for name in own)
    assert document.texts == [NASTY, evil] * 2
    assert document.visible.count(evil) >= 10
    assert "49" not in document.visible


def test_the_title_is_escaped() -> None:
    document = Document(page([explanation()], title="<script>1</script>"))
    assert "script" not in {tag for tag, _ in document.tags}
    assert document.visible.count("<script>1</script>") == 2


def test_the_page_stands_alone() -> None:
    html = page([explanation(), explanation(method="saliency", signed=False)])
    assert not re.search(r"https?://|src=|url\(|@import|<script|<link", html)
    assert html.startswith("<!DOCTYPE html>")
    document = Document(html)
    assert ("html", {"lang": "en"}) in document.tags
    assert ("meta", {"charset": "utf-8"}) in document.tags
    assert any(own.get("name") == "viewport" for tag, own in document.tags if tag == "meta")
    assert "print-color-adjust: exact" in html
    assert "@media print" in html


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=60))
def test_every_text_survives(text: str) -> None:
    one = explanation(text)
    document = Document(page([one]))
    assert document.texts == [text]
    assert [span[2] for span in document.spans[0]] == [one.example.show(span) for span in one.spans]


def test_every_word_carries_its_exact_score_and_its_shade() -> None:
    document = Document(page([explanation("so very good , or not", [0.5, 0.01, 2.0, 0.0, -1.0, -2.0])]))
    assert document.spans[0] == [
        ("+0.5", "f2", "so"),
        ("+0.01", "", "very"),
        ("+2", "f10", "good"),
        ("+0", "", ","),
        ("-1", "a5", "or"),
        ("-2", "a10", "not"),
    ]


def test_the_page_says_the_prediction_and_lists_the_strongest_words_first() -> None:
    one = explanation("a b c d e f g h", [1.0, 3.0, 2.0, -1.0, -4.0, -2.0, 0.5, -3.0])
    visible = " ".join(Document(page([one])).visible.split())
    assert "Prediction positive 66.7%" in visible
    assert "Strongest for b+3.00 c+2.00 a+1.00 g+0.50 Strongest against" in visible
    assert "Strongest against e−4.00 h−3.00 f−2.00 d−1.00 " in visible
    many = " ".join(Document(page([explanation("a b c d e f g", [7, 6, 5, 4, 3, 2, 1])])).visible.split())
    assert "c+5.00 d+4.00 e+3.00 Strongest against none" in many


def test_characters_that_html_forbids_are_replaced_in_the_display() -> None:
    text = "a\x00b \x1b[31mred \ud800 c\ufffe \x85 d\U0001ffff\te"
    html = page([explanation(text, method="m\x00")])
    assert Document(html).texts == ["a\ufffdb \ufffd[31mred \ufffd c\ufffd \ufffd d\ufffd\te"]
    html.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]", html)


def test_direction_is_left_to_the_text() -> None:
    assert all(own["dir"] == "auto" for own in Document(page([explanation("هذا رائع")])).with_class("words"))


def test_methods_without_a_sign_have_one_scale_named_importance() -> None:
    document = Document(page([explanation("good bad", [-2.0, 1.0], signed=False, method="saliency")]))
    assert document.spans[0] == [("-2", "i10", "good"), ("1", "i5", "bad")]
    assert "importance: low" in document.visible
    assert "speaks for" not in document.visible
    signed = Document(page([explanation()])).visible
    assert "speaks for it" in signed
    assert "importance" not in signed


def test_an_all_zero_row_has_no_colour_and_says_so() -> None:
    one = explanation("good bad", [0.0, 0.0])
    document = Document(page([one]))
    assert [shade for _, shade, _ in document.spans[0]] == ["", ""]
    assert "Every score is 0." in document.visible
    assert "every score is 0" in terminal(one)


def test_several_targets_give_one_row_each_and_class_agnostic_methods_one_in_all() -> None:
    rows = [[1.0, -1.0], [-3.0, 3.0]]
    both = explanation("good bad", rows, targets=(0, 1))
    same = explanation("good bad", [0.2, 0.8], targets=(0, 1), method="attention", signed=False, class_specific=False)
    document = Document(page([both, same]))
    assert [[title for title, _, _ in row] for row in document.spans] == [["+1", "-1"], ["-3", "+3"], ["0.2", "0.8"]]
    assert re.search(r"Why\s+negative\?\s+probability 0.33\s", document.visible)
    assert re.search(r"Why\s+positive\?\s+predicted\s+probability 0.67\s", document.visible)
    assert "Same for every label" in document.visible
    assert len(document.with_class("card")) == 1
    printed = terminal(both, same)
    assert [printed.count(one) for one in ("why negative (33.3%)", "why positive (66.7%)", "same for every")] == [1] * 3


def test_a_class_agnostic_method_stands_beside_the_others_of_a_single_target() -> None:
    same = explanation(method="attention", signed=False, class_specific=False)
    document = Document(page([explanation(), same]))
    assert len([1 for tag, _ in document.tags if tag == "section"]) == 1
    assert "same for every label" in document.visible


def test_pairs_are_two_labelled_paragraphs() -> None:
    one = explanation("A man plays.", pair="Nobody\nplays.")
    document = Document(page([one]))
    assert document.texts == ["A man plays.", "Nobody\nplays."]
    assert document.visible.index("First text") < document.visible.index("Second text")
    printed = terminal(one)
    assert printed.index("first text") < printed.index("A man plays.") < printed.index("second text")


def test_methods_of_one_text_share_a_card_and_other_texts_and_models_do_not() -> None:
    mixed = [
        explanation("one", method="a"),
        explanation("two", method="a"),
        explanation("one", method="b"),
        explanation("one", method="a", model="other"),
    ]
    document = Document(page(mixed))
    assert len(document.with_class("card")) == 3
    assert document.texts == ["one", "one", "two", "one"]
    assert "Text 1 of 3" in document.visible


def test_the_same_method_twice_says_what_differs() -> None:
    visible = Document(page([explanation(), explanation(remover="delete", settings={"window": 2})])).visible
    assert "window 1, remover mask" in visible
    assert "window 2, remover delete" in visible


def test_notes_are_visible_and_the_receipt_is_folded() -> None:
    html = page([explanation(notes=("read in 3 overlapping windows",), completeness_gap=(-0.25,), forward_passes=1234)])
    open_part, folded = html.split("<details")
    assert "read in 3 overlapping windows" in open_part
    for fact in ("tiny", "window", "mask", "logit", "1,234", "0.25", "completeness gap", "-2.50e-01", "3 overlapping"):
        assert fact in folded
    assert not folded.startswith(" open")


def test_a_note_of_one_method_names_it() -> None:
    visible = Document(page([explanation(), explanation(method="lime", notes=("odd",))])).visible
    assert "lime: odd" in visible


def test_features_that_share_characters_lose_neither_text_nor_score() -> None:
    one = explanation("😀 ok", [1.0, 2.0])
    shared = Explanation(
        one.example,
        (Span(0, 0, 1), Span(0, 0, 1), Span(0, 2, 4)),
        one.targets,
        np.array([[1.0, -4.0, 2.0]]),
        one.prediction,
        one.provenance,
    )
    document = Document(page([shared]))
    assert document.texts == ["😀 ok"]
    assert document.spans[0] == [("+1, -4", "a10", "😀"), ("+2", "f5", "ok")]


def test_text_outside_every_feature_is_still_printed() -> None:
    one = explanation("read this but not that")
    cut = Explanation(one.example, one.spans[:2], one.targets, one.scores[:, :2], one.prediction, one.provenance)
    assert Document(page([cut])).texts == ["read this but not that"]


def test_a_long_text_stays_light() -> None:
    text = " ".join(["word"] * 3000)
    scores = np.random.default_rng(0).normal(size=3000)
    html = page([explanation(text, scores)])
    assert len(html) < 3000 * 60 + 30_000
    assert Document(html).with_class("tall")


def test_no_explanations_make_a_page_too() -> None:
    assert "nothing to show" in Document(page([])).visible
    assert terminal() == ""


def test_a_notebook_shows_the_fragment() -> None:
    one = explanation()
    assert one._repr_html_() == fragment([one])
    assert "<html" not in fragment([one])
    rules = re.findall(r"^([^\s@}][^{]*)\{", fragment([one]).split("<style>")[1].split("</style>")[0], re.MULTILINE)
    assert len(rules) > 40
    assert all(".whylight" in selector for rule in rules for selector in re.split(r",(?![^(]*\))", rule))


def test_a_written_page_replaces_the_old_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    write_page(target, "old")
    target.chmod(0o640)
    write_page(str(target), "née\n")
    assert target.read_bytes() == "née\n".encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_write_keeps_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    write_page(target, "old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(InputError, match=r"cannot write '.*page.html': No space left on device\.$"):
        write_page(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_where_nothing_can_be_written_one_sentence_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        write_page(tmp_path / "missing" / "page.html", "x")
    with pytest.raises(InputError, match="it is a folder"):
        write_page(tmp_path, "x")

    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, whom no permission stops.
    monkeypatch.setattr("os.open", deny)
    with pytest.raises(InputError, match=r"Permission denied\.$"):
        write_page(tmp_path / "page.html", "x")
