"""An audit: its words are those of its tables, its budget holds, and its page and command keep what they promise."""

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audited import NAMES, additive, labelled, subject

import whylight as wl
from pages import NASTY, Document
from whylight.core.errors import InputError, LimitError, SettingError
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.explaining.variants import Variant
from whylight.report.audit_page import HEADINGS, audit_page
from whylight.study.audit import Audit, audit
from whylight.study.audit_advice import recommendation_of
from whylight.study.audit_words import verdicts_of
from whylight.study.budgeted import Analysis, analyse, rungs
from whylight.study.figures import FigureTable
from whylight.study.removal_ranking import MEASURES, candidates_of, column_of

WORTH = {"splendid": 4.0, "good": 2.0, "poor": -2.0, "dreadful": -3.0}
FILLER = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
REMOVERS = ("mask", "delete")
FAST = ("damage", "size", "agreement", "ranking")


def texts(count: int) -> Dataset:
    """Texts of which two words count."""
    drawn = np.random.default_rng(0)
    made = []
    for _ in range(count):
        words = [*drawn.choice(FILLER, 6), "splendid", "poor"]
        made.append(" ".join(drawn.permutation(words)))
    return labelled(*made)


def audited(data: Dataset, **options: Any) -> Audit:
    return audit(additive(WORTH), data, **{"budget": 60, "methods": ["lime[samples=30]"], **options})


@pytest.fixture(scope="module")
def found() -> Audit:
    return audited(texts(12), analyses=FAST)


def ranking(means: Mapping[str, Mapping[str, float]], *, count: int = 20) -> FigureTable:
    """A table of a ranking in which every text is near the mean; lower is better by the first measure alone."""
    noise = np.random.default_rng(1).normal(0, 0.01, (9, count))
    first, second = MEASURES
    values = {}
    for number, (row, own) in enumerate(means.items()):
        for remover, value in own.items():
            values[row, column_of(first, remover)] = value + noise[number]
            values[row, column_of(second, remover)] = 1 - value + noise[number]
    return FigureTable(values, count)


def methods(*samples: int) -> list[Variant]:
    return [Variant(f"lime[samples={n}]", METHODS["lime"], {"samples": n}) for n in samples]


CHANCE = {"mask": 0.9, "delete": 0.9}
ONE, OTHER = "occlusion (mask)", "occlusion (delete)"


def test_two_methods_that_change_places_are_a_flip_and_no_recommendation() -> None:
    table = ranking({ONE: {"mask": 0.2, "delete": 0.5}, OTHER: {"mask": 0.5, "delete": 0.2}, "random": CHANCE})
    (verdict,) = verdicts_of({"ranking": table}, removers=REMOVERS)
    assert verdict.answer == "flips"
    assert verdict.sentences[0].startswith(
        f"Your ranking flips with the remover: by deletion_auc, {ONE} is better than {OTHER} where words are removed "
        "by mask, and worse where by delete"
    )
    advice = recommendation_of(table, candidates_of(REMOVERS, []), removers=REMOVERS)
    assert (advice.method, advice.certainty) == (None, "cannot tell")
    assert "decide first what removing a word should mean" in advice.sentences[0]


def test_a_clear_order_under_every_remover_holds_and_is_sure() -> None:
    table = ranking({ONE: {"mask": 0.2, "delete": 0.3}, OTHER: {"mask": 0.4, "delete": 0.5}, "random": CHANCE})
    (verdict,) = verdicts_of({"ranking": table}, removers=REMOVERS)
    assert verdict.answer == "holds"
    advice = recommendation_of(table, candidates_of(REMOVERS, []), removers=REMOVERS)
    assert (advice.method, advice.remover, advice.samples, advice.certainty) == ("occlusion", "mask", None, "sure")


def test_what_is_alike_cannot_be_told_and_fewer_samples_are_recommended() -> None:
    few, many, same = "lime[samples=50] (mask)", "lime[samples=200] (mask)", {"mask": 0.2, "delete": 0.2}
    table = ranking({ONE: {"mask": 0.5, "delete": 0.5}, few: same, many: same, "random": CHANCE})
    (verdict,) = verdicts_of({"ranking": table}, removers=REMOVERS)
    assert verdict.answer == "cannot tell"
    advice = recommendation_of(table, candidates_of(["mask"], methods(50, 200)), removers=REMOVERS)
    assert (advice.method, advice.samples, advice.certainty) == ("lime", 50, "likely")
    assert many in advice.sentences[1]


def test_too_few_texts_are_no_verdict() -> None:
    table = ranking({ONE: {"mask": 0.2, "delete": 0.5}, OTHER: {"mask": 0.5, "delete": 0.2}, "random": CHANCE}, count=9)
    (verdict,) = verdicts_of({"ranking": table}, removers=REMOVERS)
    assert verdict.answer == "cannot tell"
    advice = recommendation_of(table, candidates_of(REMOVERS, []), removers=REMOVERS)
    assert "no method is clearly better than random" in advice.sentences[0]
    assert "not ranked" in recommendation_of(None, [], removers=REMOVERS).sentences[0]


def test_a_remover_that_there_was_no_time_for_is_no_reason_to_tell_nothing() -> None:
    table = ranking({ONE: {"mask": 0.2, "delete": 0.3}, OTHER: {"mask": 0.4, "delete": 0.5}, "random": CHANCE})
    (verdict,) = verdicts_of({"ranking": table}, removers=(*REMOVERS, "infill"))
    assert verdict.answer == "holds"
    assert verdict.sentences[0] == "Your ranking of methods holds under mask and delete."
    every = (*REMOVERS, "infill")
    advice = recommendation_of(table, candidates_of(every, []), removers=every)
    assert advice.certainty == "sure"
    assert "by every measure under mask and delete, on 20 texts" in advice.sentences[1]


def test_verdicts_equal_the_tables(found: Audit) -> None:
    answers = {one.analysis: one for one in found.verdicts}
    assert set(answers) == set(found.figures) == set(FAST)
    for name, columns in (("damage", ("one word removed", "half the words removed")), ("size", ("size", "coverage"))):
        pairs = [(one, other, column) for column in columns for one, other in combinations(found.removers, 2)]
        signs = found.figures[name].differences([((a, column), (b, column)) for a, b, column in pairs])
        assert answers[name].answer == ("differs" if any(one and one.sign for one in signs) else "cannot tell")
    cell = found.figures["agreement"].cell("mask and delete", "first word")
    assert cell is not None
    assert f"{cell.mean:.0%}" in answers["agreement"].sentences[0]


def test_what_differs_is_told_in_whole_sentences() -> None:
    values = np.linspace(0.1, 0.3, 20)
    table = FigureTable({("mask", "size"): values + 0.2, ("delete", "size"): values, ("mask", "coverage"): values}, 20)
    (verdict,) = verdicts_of({"size": table}, removers=REMOVERS)
    assert verdict.sentences == ("Scores are larger under mask than under delete, by 0.200 (0.200 to 0.200).",)
    same = FigureTable({(name, "coverage"): values for name in REMOVERS}, 20)
    (verdict,) = verdicts_of({"size": same}, removers=REMOVERS)
    assert (verdict.answer, verdict.sentences) == (
        "cannot tell",
        ("20 texts cannot tell mask from delete (coverage).",),
    )


def test_words_that_decide_are_found_and_the_same_call_gives_the_same_figures(found: Audit) -> None:
    assert found.recommendation.certainty == "likely"  # occlusion and LIME both find them
    assert found.recommendation.method in {"occlusion", "lime"}
    again = audited(texts(12), analyses=FAST)
    assert again.records() == found.records()
    assert again.verdicts == found.verdicts


def test_without_a_masked_model_or_weights_or_labels_it_says_so() -> None:
    unlabelled = labelled(*(record.example.key for record in texts(3)), label=None)
    reasons = {one.name: one.reason for one in audited(unlabelled).left_out}
    assert set(reasons) == {"returns", "all_words", "randomised", "damage"}
    assert reasons["returns"].startswith("none of the removers infills; name it (--remover infill), or a masked")
    assert "no weights" in reasons["randomised"]
    assert reasons["damage"] == "accuracy needs gold labels, and 'hand' (test) lacks some"
    with pytest.raises(InputError, match="accuracy needs gold labels"):
        audited(unlabelled, analyses=["damage"])


def test_texts_are_doubled_from_as_few_as_are_enough() -> None:
    assert rungs(100) == [12, 25, 50, 100]
    assert rungs(19) == [19]
    assert rungs(20) == [10, 20]
    assert rungs(3) == [3]


def at_most(count: int) -> Callable[[Any], FigureTable]:
    def run(own: Any) -> FigureTable:
        if len(own.cases) > count:
            raise LimitError("too long.", seconds=300.0)
        return FigureTable({("row", "column"): np.ones(len(own.cases))}, len(own.cases))

    return run


def test_what_does_not_fit_is_done_on_fewer_texts_or_left_out() -> None:
    own = subject(additive(WORTH), texts(40), *REMOVERS)
    todo = {"fits": Analysis(at_most(40)), "less": Analysis(at_most(15)), "never": Analysis(at_most(5))}
    figures, left_out = analyse(own, todo, end=9e9, clock=lambda: 0.0, strict=False)
    assert {name: one.texts for name, one in figures.items()} == {"fits": 40, "less": 10}
    (one,) = left_out
    assert (one.name, one.reason, one.seconds) == ("never", "10 texts would take 5 min or more", 300.0)
    _, every = analyse(own, todo, end=0.0, clock=lambda: 0.0, strict=False)
    assert [one.reason for one in every] == ["no time was left"] * 3


def test_the_budget_is_respected_by_the_clock_of_the_work() -> None:
    now = [0.0]
    clf = additive(WORTH)
    answer = clf.engine.logits

    def slow(*arguments: Any, **options: Any) -> Any:
        now[0] += 0.02
        return answer(*arguments, **options)

    clf.engine.logits = slow
    whole = audit(clf, texts(24), budget=1e6, methods=[], analyses=FAST, clock=lambda: now[0])
    needed = now[0]
    assert {one.texts for one in whole.figures.values()} == {24}
    now[0] = 0.0
    less = audit(clf, texts(24), budget=needed / 2, methods=[], analyses=FAST, clock=lambda: now[0])
    assert now[0] <= needed / 2 * 1.1
    assert less.left_out or any(one.texts < 24 for one in less.figures.values())
    for name, own in less.figures.items():  # fewer texts are the first ones, and their figures are the same
        for place, values in own.values.items():
            if name != "size":
                np.testing.assert_array_equal(values, whole.figures[name].values[place][: own.texts])


def test_a_page_says_everything_and_escapes_it(found: Audit) -> None:
    page = audit_page(found, command="whylight audit --data 'a <b>.jsonl'")
    shown = Document(page).visible
    for verdict in found.verdicts:
        assert HEADINGS[verdict.analysis] in shown
        assert all(sentence in shown for sentence in verdict.sentences)
    assert all(sentence in shown for sentence in found.recommendation.sentences)
    assert "whylight audit --data 'a <b>.jsonl'" in shown
    for record in found.records():
        assert record["column"] == "passes" or f"{record['mean']:.3f}".lstrip("-") in shown
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page


def test_hostile_texts_and_labels_stay_text() -> None:
    names = ("<script>alert(1)</script>", "</style>{{ 7*7 }}")

    def answer(several: list[str]) -> Any:
        odds = np.asarray([0.1 + 0.8 * (sum(map(ord, text)) % 97) / 97 for text in several])
        return np.stack([odds, 1 - odds], axis=1)

    clf = wl.load(answer, labels=names, mask_string="<b>", identity="<img src=x>")
    records = tuple(Record(f"<i>{i}", Text(f"{NASTY} {i}"), (names[0],)) for i in range(3))
    data = Dataset("<u>data", "</main>", names, records, notes=("<hr>",))
    own = audit(clf, data, budget=60, methods=[], analyses=["agreement", "damage"])
    page = audit_page(own, command="whylight audit --data '<script>'")
    document = Document(page)  # which refuses what is not closed
    tags = {tag for tag, _ in document.tags}
    assert not tags & {"script", "img", "b", "u", "hr"}
    assert own.example is not None
    assert own.example.text in document.visible
    for name in names:
        assert name in document.visible
    json.dumps(own.to_dict())


def test_what_cannot_be_asked_is_refused() -> None:
    data = texts(3)
    for options, message in (
        ({"budget": 0}, "above 0 seconds"),
        ({"budget": float("nan")}, "above 0 seconds"),
        ({"removers": ["delete"]}, "name at least 2 of"),
        ({"removers": "delete"}, "name at least 2 of"),
        ({"analyses": "rankign"}, "unknown analysis 'rankign'"),
        ({"removers": ["delete", "maks"]}, "unknown remover .*Did you mean 'mask'"),
        ({"analyses": ["rankign"]}, "unknown analysis 'rankign'.*Did you mean 'ranking'"),
        ({"methods": ["lima"]}, "unknown method 'lima'"),
        ({"analyses": ["damage"], "settings": {"lime.samples": 3}}, "'lime', which is not asked for"),
        ({"sample": 0}, "at least one record"),
        ({"settings": {"infill.model": "m"}, "removers": REMOVERS}, "'infill', which is not asked for"),
    ):
        with pytest.raises(SettingError, match=message):
            audited(data, **options)
    with pytest.raises(InputError, match="has no text"):
        audited(Dataset("none", "test", NAMES, ()))


def test_mistakes_on_the_command_line_are_one_sentence(cli: Any, tmp_path: Path) -> None:
    for arguments, message in (
        (["--data", "planted:", "--out", str(tmp_path / "no" / "audit.html")], "there is no folder"),
        (["--data", "planted:", "--out", str(tmp_path)], "it is a folder"),
        (["--data", "planted:", "--remover", "mask", "--remover", "dropp"], "unknown remover"),
        (["--data", str(tmp_path / "none.jsonl")], "there is no file or folder"),
    ):
        code, out, err = cli("audit", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert len(err.strip().splitlines()) == 1


def test_the_command_writes_the_page_and_prints_words_or_json(cli: Any, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    asked = ["--data", "planted:", "--split", "dev", "--data-set", "size=4", "--data-set", "length=7"]
    given = ["audit", *asked, "--analysis", "agreement", "--out", str(page)]
    code, out, _ = cli(*given)
    assert code == 0
    assert out.startswith("Audit of whylight/sentiment on 4 texts of planted\nagreement (4 texts): measured")
    assert "recommendation: cannot tell" in out
    command = "whylight audit --data planted: --split dev --data-set size=4 --data-set length=7"
    assert command in Document(page.read_text(encoding="utf-8")).visible
    code, out, _ = cli(*given[:-2], "--json")
    told = json.loads(out)
    assert code == 0
    assert {one["analysis"] for one in told["figures"]} == {"agreement"}
    assert told["command"].endswith("--analysis agreement --json")
