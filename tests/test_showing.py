"""Every result shows itself: a few lines, an escaped card, a data frame, and files that read back."""

import builtins
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tiny
import whylight as wl
from balanced import parsed
from pages import explanation
from shown import EVIL, dataset, evaluation, everything, evil_explanation, layered
from test_printing import steers
from whylight.core import showing
from whylight.core.explanation import Explanation, Explanations
from whylight.core.registry import load_plugins
from whylight.report.sheets import MOST_LINES
from whylight.run.summary import Cell, Line, Summary
from whylight.study.recommend import Recommendation

THINGS = everything()
NAMES = sorted(THINGS)


def visible(html: str) -> str:
    return re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)


def test_one_of_everything_is_tried_here() -> None:
    load_plugins(showing.DISPLAYS)
    assert set(showing._DISPLAYS) == {*THINGS, "TransformerClassifier", "ChunkedClassifier", "OnnxClassifier"}


@pytest.mark.parametrize("name", NAMES)
def test_a_repr_is_a_few_clean_lines(name: str) -> None:
    shown = repr(THINGS[name])
    assert 1 <= len(shown.splitlines()) <= MOST_LINES
    assert steers(shown) == set()
    assert "<script>" in shown  # the name is there, and nothing obeys it
    assert str(THINGS[name]) == shown


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gets_escaped_html_whose_tags_close(name: str) -> None:
    html = THINGS[name]._repr_html_()
    seen = {tag for tag, _ in parsed(html).seen}
    assert "script" not in seen
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html
    assert {"table", "dl", "h3", "article"} & seen


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_and_a_table_hold_the_same(name: str, tmp_path: Path) -> None:
    frame = THINGS[name].to_frame()
    assert len(frame) > 0
    THINGS[name].save(tmp_path / "x.parquet")
    stored = pd.read_parquet(tmp_path / "x.parquet")
    assert len(stored) == len(frame)
    assert list(stored.columns) == list(frame.columns)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_and_json_are_written_whole(name: str, tmp_path: Path) -> None:
    for ending in ("html", "json"):
        THINGS[name].save(str(tmp_path / f"x.{ending}"))
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "script" not in {tag for tag, _ in parsed(page).seen}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.html", "x.json"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("file", ["x.pickle", "x", ".html", "x.pdf"])
def test_an_ending_that_there_is_not_is_refused_with_those_that_there_are(name: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(wl.WhylightError, match=r"saved as \.html, \.json.* is none of these") as refused:
        THINGS[name].save(tmp_path / file)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_pictures_of_what_has_none_are_refused(tmp_path: Path) -> None:
    for name in ("Summary", "Roar", "Dataset", "CallableClassifier"):
        with pytest.raises(wl.WhylightError, match="is none of these"):
            THINGS[name].save(tmp_path / "x.png")


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(wl.WhylightError, match="there is no folder"):
        THINGS["Explanation"].save(tmp_path / "nowhere" / "x.json")


def test_an_explanation_is_read_back_from_json_as_it_was(tmp_path: Path) -> None:
    one = evil_explanation()
    one.save(tmp_path / "x.json")
    same = Explanation.from_dict(json.loads((tmp_path / "x.json").read_text(encoding="utf-8")))
    assert same.to_dict() == one.to_dict()
    several = Explanations([one, explanation()])
    several.save(tmp_path / "y.JSON")
    read = [Explanation.from_dict(own) for own in json.loads((tmp_path / "y.JSON").read_text(encoding="utf-8"))]
    assert [own.to_dict() for own in read] == [own.to_dict() for own in several]


def test_an_explanation_says_label_probability_method_and_words_for_and_against() -> None:
    lines = repr(explanation("good but dull film", [[2.0, 0.0, -1.0, 0.5]])).splitlines()
    assert lines[0].startswith("positive 66.7%")
    assert lines[1].strip() == '"good but dull film"'
    assert lines[2].strip() == "occlusion: why positive (66.7%)?"
    assert lines[3].strip() == "for: good +2.00, film +0.50 | against: dull -1.00"


def test_many_labels_and_long_texts_stay_short() -> None:
    labels = tuple(f"label {n}" for n in range(60))
    many = explanation("word " * 100, labels=labels, targets=tuple(range(60)))
    assert len(repr(many).splitlines()) == MOST_LINES
    assert max(map(len, repr(many).splitlines())) <= 120
    assert ".save" in repr(many).splitlines()[-1]
    several = Explanations([many] * 50)
    assert len(repr(several).splitlines()) == MOST_LINES
    assert len(several._repr_html_()) < 2_000_000
    assert "49 more are not shown here" in several._repr_html_()


def test_long_labels_that_begin_alike_are_told_apart() -> None:
    names = tuple(f"a disease of the {'very ' * 12}long kind, number {n}" for n in range(8))
    assert "film" in repr(explanation(labels=names, targets=(3,)))
    several = explanation("a good film", labels=names, targets=tuple(range(8)))
    for shown in (repr(several), repr(Explanations([several]))):
        assert all(f"long kind, number {n} " in shown for n in range(8))
        assert max(map(len, shown.splitlines())) <= 100
    with pytest.raises(wl.WhylightError, match=r"say which target you mean: .* number 7\.$"):
        several.as_list()
    many = explanation(labels=tuple(f"L{n}" for n in range(60)), targets=tuple(range(60)))
    with pytest.raises(wl.WhylightError, match=r"L9 and 50 more\.$"):
        many.as_list()
    with pytest.raises(
        wl.WhylightError, match=r"unknown target of this explanation 'l45'. Did you mean 'L45'\? .* 50 more"
    ):
        many.as_list("l45")


def test_a_table_of_very_many_methods_is_cut_and_says_so() -> None:
    lines = tuple(Line(f"method {n}", {"iou": Cell(0.5, 0.4, 0.6, 9)}, 0.1, 3, 1) for n in range(100))
    shown = repr(Summary(("iou",), {"iou": True}, lines)).splitlines()
    assert len(shown) == MOST_LINES
    assert re.search(r"\d+ more lines", shown[-1])


def test_a_wide_table_is_cut_into_several_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = tuple(f"metric_number_{n}" for n in range(9))
    cells = {name: Cell(0.125 + n, 0.1, 0.2, 9) for n, name in enumerate(names)}
    shown = repr(Summary(names, dict.fromkeys(names, True), (Line("lime", cells, 0.1, 3, 1),)))
    assert max(map(len, shown.splitlines())) <= 80
    for n in range(9):
        assert f"{0.125 + n:.3f} [0.100, 0.200]" in shown
    assert shown.count("lime") > 2


def test_a_run_of_very_many_rows_is_not_added_up_at_a_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    found = evaluation()
    assert "lime" in repr(found)
    monkeypatch.setattr("whylight.report.run_sheets.MOST_ROWS", 10)
    assert "36 scores: .summary adds them up" in repr(found)


def test_the_same_evaluation_has_the_same_page_with_a_folder_and_without(tmp_path: Path) -> None:
    found = evaluation()
    found.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Which method to believe?" in page
    assert "lime" in visible(page)


def test_several_explanations_are_a_list_that_shows_itself() -> None:
    clf = wl.load(lambda texts: [[0.25, 0.75]] * len(texts), labels=["a", "b"])
    found = wl.explain(clf, ["one film", "two films"], method="occlusion", progress=False)
    assert isinstance(found, list)
    assert isinstance(found, Explanations)
    assert len(found) == 2
    assert [one.example.key for one in found] == ["one film", "two films"]
    assert isinstance(found[0], Explanation)
    assert isinstance(found[:1], Explanations)
    assert found[:1] == [found[0]]
    assert repr(found).startswith("2 explanations of 2 texts by occlusion")
    assert list(found.to_frame()["input"]) == [0, 0, 1, 1]


def test_layers_are_a_list_with_a_column_for_the_layer() -> None:
    found = layered([0.1, 0.2, 0.3], [1.0, 0.0, -1.0])
    assert list(found.to_frame()["layer"]) == [1, 1, 1, 2, 2, 2]
    assert "decompx (layer 2)" in repr(found)


def test_methods_with_the_same_figures_have_the_same_rank_in_a_frame_and_in_json(tmp_path: Path) -> None:
    found = everything()["Recommendation"]
    assert list(found.to_frame()["rank"]) == [1, 1]
    found.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["ranks"] == found.ranks


def test_what_to_do_comes_first_in_a_repr() -> None:
    lines = tuple(Line(f"method {n}", {"iou": Cell(0.5, 0.4, 0.6, 9)}, 0.1, 3, 1) for n in range(50))
    ranks = {"mask": {line.method: place for place, line in enumerate(lines, start=1)}}
    rankings = {remover: list(own) for remover, own in ranks.items()}
    table = Summary(("iou",), {"iou": True}, lines)
    found = Recommendation(12, table, rankings, (), ("one is first.", "use one, because of all that."), ranks)
    shown = repr(found).splitlines()
    assert shown[1:3] == ["- one is first.", "- use one, because of all that."]
    assert re.search(r"\d+ more lines", shown[-1])
    audit = repr(everything()["Audit"])
    assert audit.index("recommendation: cannot tell") < audit.index("agreement (12 texts)")


def test_a_saved_data_set_is_read_back_as_it_was(tmp_path: Path) -> None:
    for several in (False, True):
        data = dataset(several=several)
        for ending in ("jsonl", "parquet"):
            data.save(tmp_path / f"x.{ending}")
            assert wl.dataset(str(tmp_path / f"x.{ending}")).records == data.records


def test_a_model_shows_itself() -> None:
    clf = tiny.classifier("bert")
    assert "architecture   BertForSequenceClassification" in repr(clf)
    assert list(clf.to_frame()["label"]) == list(clf.labels.names)
    with pytest.raises(wl.WhylightError, match="save_pretrained"):
        clf.save("model.bin")


def test_without_pandas_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def no_pandas(name: str, *given: Any, **named: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "pandas":
            raise ImportError(name)
        return usual(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    for name in ("Explanation", "Evaluation", "Dataset"):
        with pytest.raises(wl.WhylightError, match=r"pip install 'whylight\[frame\]'"):
            THINGS[name].to_frame()


def test_a_class_of_ones_own_shows_itself_once_it_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        __repr__ = showing.as_text

    with pytest.raises(wl.WhylightError, match="nobody says how 'Own' is shown"):
        repr(Own())
    monkeypatch.setattr(showing, "_DISPLAYS", dict(showing._DISPLAYS))
    display = showing.Display(
        text=lambda _: "mine", show=lambda _: None, html=lambda _: "", records=lambda _: [], save=lambda *_: None
    )
    showing.register_display("Own", display)
    assert repr(Own()) == "mine"
    with pytest.raises(wl.WhylightError, match="two displays"):
        showing.register_display("Own", showing.display_of(THINGS["Roar"]))


def test_show_prints_all_of_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    lines = tuple(Line(f"method {n}", {"iou": Cell(0.5, 0.4, 0.6, 9)}, 0.1, 3, 1) for n in range(100))
    wl.show(Summary(("iou",), {"iou": True}, lines))
    assert "method 99" in capsys.readouterr().out
    wl.show(evil_explanation())
    out = capsys.readouterr().out
    assert "why" in out
    assert steers(out) == set()


def test_numbers_that_are_none_are_null_in_json(tmp_path: Path) -> None:
    cell = Cell(float("nan"), float("-inf"), 0.5, 1)
    Summary(("iou",), {"iou": True}, (Line(EVIL, {"iou": cell}, 0.1, np.float64(3), 1),)).save(tmp_path / "x.json")
    (record,) = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert (record["mean"], record["low"], record["forward_passes"]) == (None, None, 3.0)
