"""Each analysis of an audit against a count by hand, or a masked language model that says what it is told."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from audited import additive, labelled, subject

import masked
import quick
import tiny
import whylight as wl
from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.core.registry import METHODS
from whylight.data.dataset import Dataset
from whylight.explaining import removing
from whylight.explaining.options import Options
from whylight.models.randomise import randomise
from whylight.report.displays.studies import audit_call
from whylight.study.attribution_size import COVERAGE, PEOPLE, RAW, SIZE, attribution_size
from whylight.study.figures import FigureTable
from whylight.study.head_randomised import PUBLISHED, head_randomised
from whylight.study.infill_returns import ALL, LIKELIHOOD, MARKED, RETURNED, WEIGHT, infill_returns
from whylight.study.marginal_words import BOTH, EVERY, FEW, marginal_words
from whylight.study.removal_damage import HALF, ONE, UNTOUCHED, removal_damage
from whylight.study.removal_ranking import PASSES, removal_ranking
from whylight.study.remover_agreement import FIRST, ORDER, remover_agreement
from whylight.study.sanity import sanity_check

TEXT = "the film was good but the ending drags"
WORDS = TEXT.split()
WORTH = {"a": 2.0, "b": 1.25, "c": -1.0, "d": 0.0}


def mean(figures: FigureTable, row: str, column: str) -> float:
    cell = figures.cell(row, column)
    assert cell is not None
    return cell.mean


def infilling(
    monkeypatch: pytest.MonkeyPatch, says: Any, *, text: str = TEXT, marked: str = "", **settings: Any
) -> Any:
    """A subject whose masked language model says what it is told."""
    clf = quick.classifier("bert")
    monkeypatch.setattr(removing, "filler_of", lambda _classifier, _model: masked.Told(clf, says))
    return subject(clf, labelled(text, marked=marked), "delete", "infill", infill={"model": "told", **settings})


def test_a_model_of_language_that_knows_every_word_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    own = infilling(monkeypatch, lambda _row, place: {WORDS[place - 1]: 0.4}, text=TEXT.title(), marked="Good")
    found = infill_returns(own)
    for row in (ALL, MARKED):
        assert (mean(found, row, RETURNED), mean(found, row, LIKELIHOOD), mean(found, row, WEIGHT)) == (1.0, 0.4, 1.0)


def test_words_that_come_back_have_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    found = attribution_size(infilling(monkeypatch, lambda _row, place: {WORDS[place - 1]: 0.4}))
    assert mean(found, "infill", RAW) == pytest.approx(0, abs=1e-6)
    assert mean(found, "delete", RAW) > 1e-3


def test_a_model_of_language_that_knows_no_word_returns_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = infill_returns(infilling(monkeypatch, lambda _row, _place: {"script": 0.9}))
    assert (mean(found, ALL, RETURNED), mean(found, ALL, WEIGHT)) == (0.0, 0.0)
    assert found.cell(ALL, LIKELIHOOD) is None
    assert found.cell(MARKED, RETURNED) is None


def test_what_comes_second_weighs_but_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    own = infilling(monkeypatch, lambda _row, place: {"script": 0.6, WORDS[place - 1]: 0.2})
    found = infill_returns(own)
    assert mean(found, ALL, RETURNED) == 0
    assert mean(found, ALL, WEIGHT) == pytest.approx(0.25)


def test_the_drop_of_accuracy_is_counted() -> None:
    clf = additive({"good": 2.0, "meh": -1.0})  # positive as long as "good" is there; a tie is negative
    found = removal_damage(subject(clf, labelled("good meh x y", "meh x"), "delete", "mask"), draws=50)
    assert found.values[UNTOUCHED].tolist() == [1.0, 0.0]
    for remover in ("delete", "mask"):
        # without "good" the first is wrong, in one of 4 texts; the second, wrong as it is, never becomes positive
        assert found.values[remover, ONE].tolist() == [0.25, 0.0]
        assert 0.3 < found.values[remover, HALF][0] < 0.7  # "good" is in half of the halves
    assert (found.values["delete", HALF] == found.values["mask", HALF]).all()  # the same halves


def test_every_half_counts_where_all_words_are_needed() -> None:
    def answer(texts: list[str]) -> Any:
        return np.asarray([[0.1, 0.9] if text == "all are needed" else [0.9, 0.1] for text in texts])

    clf = wl.load(answer, labels=("negative", "positive"), mask_string="blank")
    found = removal_damage(subject(clf, labelled("all are needed"), "delete", "mask"))
    assert {float(own[0]) for own in found.values.values()} == {1.0}


def test_a_model_that_ignores_words_loses_nothing() -> None:
    clf = wl.load(lambda texts: np.tile([0.2, 0.8], (len(texts), 1)), labels=("negative", "positive"), mask_string="x")
    own = subject(clf, labelled("some words here", "and more"), "delete", "mask")
    found = removal_damage(own)
    assert all((own == 0).all() for place, own in found.values.items() if place != UNTOUCHED)
    assert mean(attribution_size(own), "mask", SIZE) == 0
    assert mean(attribution_size(own), "mask", COVERAGE) == 0


def test_accuracy_without_labels_is_refused() -> None:
    with pytest.raises(InputError, match="accuracy needs gold labels"):
        removal_damage(subject(additive(WORTH), labelled("a b", label=None), "delete", "mask"))


def test_of_several_labels_none_is_an_answer_too() -> None:
    def answer(texts: list[str]) -> Any:
        return np.asarray([[0.9 if "good" in text else 0.1] * 2 for text in texts])

    clf = wl.load(answer, labels=("negative", "positive"), head="sigmoid", mask_string="blank")
    first, second = labelled("good a", "bad b").records
    data = Dataset(
        "hand", "test", clf.labels.names, (replace(first, labels=clf.labels.names), replace(second, labels=()))
    )
    with pytest.raises(InputError, match="lacks some"):
        removal_damage(subject(clf, data, "delete", "mask"))
    found = removal_damage(subject(clf, replace(data, multi_label=True), "delete", "mask"))
    assert found.values[UNTOUCHED].tolist() == [1.0, 1.0]
    assert found.values["delete", ONE].tolist() == [0.5, 0.0]


def test_a_model_of_values_has_no_audit() -> None:
    clf = tiny.classifier("bert", num_labels=1, head="regression")
    with pytest.raises(IncompatibleError, match="a regression model gives values alone"):
        wl.audit(clf, labelled("a good film"))


def test_sizes_and_coverage_by_hand() -> None:
    found = attribution_size(subject(additive(WORTH), labelled("a b c d"), "delete", "mask"))
    for remover in ("delete", "mask"):
        assert mean(found, remover, RAW) == pytest.approx(4.25 / 4)
        assert mean(found, remover, SIZE) == pytest.approx(4.25 / 8)  # the largest is 2
        assert mean(found, remover, COVERAGE) == 0.5  # a and b reach half of the largest
    assert found.cell(PEOPLE, COVERAGE) is None
    assert "half of the largest" in found.notes[0]


def test_coverage_is_at_the_threshold_that_fits_what_people_marked() -> None:
    found = attribution_size(subject(additive(WORTH), labelled("a b c d", marked="a"), "delete", "mask"))
    assert mean(found, "delete", COVERAGE) == 0.25  # from 0.65 on, a alone, which is all that is marked
    assert mean(found, PEOPLE, COVERAGE) == 0.25
    assert "from 0.65 of the largest" in found.notes[0]


def test_removers_that_do_the_same_agree_and_others_make_an_example() -> None:
    alike, _ = remover_agreement(subject(additive(WORTH), labelled("a b c d"), "delete", "mask"))
    assert mean(alike, "delete and mask", ORDER) == pytest.approx(1.0)
    assert mean(alike, "delete and mask", FIRST) == 1.0


def test_the_text_that_removers_disagree_about_is_the_example() -> None:
    def answer(texts: list[str]) -> Any:
        words = [text.split() for text in texts]
        sums = [sum(WORTH.get(word, 0.0) for word in own) - 2 * ({"a", "blank"} <= set(own)) for own in words]
        positive = 1 / (1 + np.exp(-np.asarray(sums)))
        return np.stack([1 - positive, positive], axis=1)

    clf = wl.load(answer, labels=("negative", "positive"), mask_string="blank")  # a blank makes "a" worthless
    found, example = remover_agreement(subject(clf, labelled("b d", "a b d"), "delete", "mask"))
    assert found.values["delete and mask", FIRST].tolist() == [1.0, 0.0]
    assert example is not None
    assert (example.id, example.text, example.label) == ("t1", "a b d", "positive")
    assert [word for word, _ in example.words["delete"]] == ["a", "b", "d"]
    assert example.words["mask"][0] == ("b", pytest.approx(3.25))


def test_a_ranking_measures_as_measure_does() -> None:
    clf, text = additive(WORTH), "d b a c d"
    found = removal_ranking(subject(clf, labelled(text), "mask", "delete"), [])
    assert found.rows == ("occlusion (mask)", "occlusion (delete)", "random")
    explanation = wl.explain(clf, text, method="occlusion", remover="mask", score="log_odds")
    for remover in ("mask", "delete"):
        area = wl.measure(clf, explanation, metric="deletion_auc", remover=remover, until=0.2)
        fall = wl.measure(clf, explanation, metric="aopc_comprehensiveness", remover=remover)
        assert mean(found, "occlusion (mask)", f"deletion_auc ({remover})") == pytest.approx(area[0])
        assert mean(found, "occlusion (mask)", f"aopc_comprehensiveness ({remover})") == pytest.approx(fall[0])
    assert mean(found, "occlusion (mask)", PASSES) == explanation.provenance.forward_passes
    assert mean(found, "random", PASSES) == 0


def test_few_words_beside_all(monkeypatch: pytest.MonkeyPatch) -> None:
    own = infilling(monkeypatch, lambda _row, _place: {"script": 0.6, "awful": 0.3, "plot": 0.1}, top=1)
    found = marginal_words(own)
    explained = {}
    for row, settings in {FEW: {"infill.top": 1}, EVERY: {"infill.top": 3}}.items():
        explained[row] = wl.explain(
            own.classifier, TEXT, method="occlusion", remover="infill", **{"infill.model": "told", **settings}
        )
        area = wl.measure(own.classifier, explained[row], metric="deletion_auc", remover="delete", until=0.2)
        assert mean(found, row, "deletion_auc (delete)") == pytest.approx(area[0])
    expected = np.corrcoef(explained[FEW].scores[0], explained[EVERY].scores[0])[0, 1]
    assert mean(found, *BOTH) == pytest.approx(expected)
    assert abs(expected) < 0.9999
    same = marginal_words(infilling(monkeypatch, lambda _row, _place: {"script": 0.6}))
    assert mean(same, *BOTH) == pytest.approx(1.0)


def test_a_new_head_is_that_of_the_sanity_check() -> None:
    own = subject(quick.classifier("bert"), labelled("the film was good", "never a dull script"), "delete", "mask")
    found = head_randomised(own, draws=1, seed=5)
    options = Options(remover="delete", score="log_odds")
    check = {"methods": ["occlusion"], "levels": "head", "draws": 1, "seed": 5, "options": options}
    usual = sanity_check(own.classifier, own.data, **check)
    published = sanity_check(own.classifier, own.data, initialiser="xavier", explained="randomised", **check)
    for way, summary in (("", usual), (PUBLISHED, published)):
        for change in ("sign_change", "mean_change"):
            assert found.cell("delete", change + way) == summary.lines[0].cells[change]
    assert usual.lines[0].cells != published.lines[0].cells


def test_xavier_draws_the_last_matrix_alone() -> None:
    clf = quick.classifier("bert")
    twins = [randomise(clf, depth=1, seed=seed, initialiser="xavier") for seed in (1, 1, 2)]
    own, one, again, other = (dict(each.model.named_parameters()) for each in (clf, *twins))
    assert [name for name in own if not own[name].equal(one[name])] == ["classifier.weight"]
    assert one["classifier.weight"].equal(again["classifier.weight"])
    assert not one["classifier.weight"].equal(other["classifier.weight"])
    largest, limit = one["classifier.weight"].detach().abs().max(), np.sqrt(6 / sum(own["classifier.weight"].shape))
    assert 0 < float(largest) <= limit
    with pytest.raises(SettingError, match="last linear layer of the head alone"):
        randomise(clf, depth=2, initialiser="xavier")


def test_the_label_of_the_randomised_model_may_be_explained() -> None:
    clf, data = quick.classifier("bert"), labelled(TEXT)
    twin = randomise(clf, depth=1, seed=0, initialiser="xavier")
    first, second = (
        wl.explain(one, TEXT, method="occlusion", remover="delete", score="log_odds") for one in (clf, twin)
    )
    found = sanity_check(
        clf,
        data,
        methods=["occlusion"],
        levels="head",
        draws=1,
        initialiser="xavier",
        explained="randomised",
        options=Options(remover="delete", score="log_odds"),
    )
    expected = (np.sign(first.scores[0]) * np.sign(second.scores[0]) < 0).mean()
    assert found.lines[0].cells["sign_change"].mean == pytest.approx(expected)


def test_the_published_way_is_for_one_label_and_the_head() -> None:
    ask = {"methods": ["occlusion"], "draws": 1}
    with pytest.raises(SettingError, match="use levels='head'"):
        sanity_check(quick.classifier("bert"), labelled(TEXT), initialiser="xavier", **ask)
    several = wl.load(tiny.model("bert", problem_type="multi_label_classification"), tiny.tokenizer("bert"))
    with pytest.raises(SettingError, match="several labels a text"):
        sanity_check(several, labelled(TEXT), levels="head", explained="randomised", **ask)
    found = head_randomised(subject(several, labelled(TEXT), "delete", "mask"), draws=1)
    assert found.columns == ("sign_change", "mean_change")
    assert "as published needs one label" in found.notes[0]


def test_a_function_has_no_head_to_draw() -> None:
    with pytest.raises(IncompatibleError, match="no weights"):
        head_randomised(subject(additive(WORTH), labelled("a b"), "delete", "mask"))


def test_the_call_on_the_page_makes_the_same_audit_again() -> None:
    clf = additive(WORTH)
    data = labelled("a b c d", "b a d", "d c")
    asked: dict[str, Any] = {"analyses": ["ranking", "size"], "methods": ["lime"], "settings": {"lime.samples": 7}}
    first = wl.audit(clf, data, removers=["mask", "delete"], **asked)
    again = eval(audit_call(first), {"wl": wl, "clf": clf, "data": data})  # noqa: S307  our own words
    assert again.records() == first.records()
    assert again.methods == first.methods == {"lime": METHODS["lime"].complete_settings({"samples": 7})}
    assert list(again.figures) == ["size", "ranking"]
