"""Faithfulness of the gold labels: what is measured, what a folder and a report say of it, and what is refused."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.report.run_examples import best_and_worst
from whylight.report.run_page import run_page
from whylight.report.run_rows import read_run
from whylight.run.evaluate import Question
from whylight.store import runs
from whylight.study.several import evaluate_several

LABELS = ("sport", "music", "food")
WORTH = {"goal": 0, "song": 1, "bread": 2}
TEXTS = {
    "a": ("goal goal song then more words", ("music",)),  # sport is predicted
    "b": ("one song and a song and goal", ("music",)),
    "c": ("bread with a goal or a song", ("food",)),
}
OPTIONS = wl.Options(target="gold")
METRIC = "aopc_comprehensiveness"
QUESTION = {
    *("methods", "metrics", "unit", "long", "pieces", "method_score", "method_remover", "method_remover_settings"),
    *("removers", "score_space", "zero_non_alphanumeric"),
}
"""What folders from before there was a choice of labels say was asked; their names are hashes of it."""


def decide(texts: list[str], *, strength: float = 1.5) -> Any:
    """A classifier that counts three words, with a lean towards the first label."""
    counts = [[sum(WORTH.get(word) == label for word in text.split()) for label in range(3)] for text in texts]
    odds = np.exp(strength * np.asarray(counts, dtype=np.float64) + np.asarray([0.2, 0.1, 0.0]))
    return odds / odds.sum(axis=1, keepdims=True)


def each(texts: list[str]) -> Any:
    """The same words, each label on its own: one applies where its word stands."""
    return np.asarray([[0.9 if word in text.split() else 0.2 for word in WORTH] for text in texts])


def corpus(**changes: tuple[str, ...]) -> Dataset:
    """The texts, without rationales; other gold labels by name of the text."""
    records = [Record(key, Text(text), changes.get(key, gold)) for key, (text, gold) in TEXTS.items()]
    return Dataset("words", "test", LABELS, tuple(records))


@pytest.fixture
def classifier() -> Any:
    return wl.load(decide, labels=LABELS, identity="decide-1")


evaluate = partial(wl.evaluate, methods=["occlusion"], metrics=[METRIC], progress=False)


def by_hand(text: str, label: int, scores: list[float]) -> float:
    """Mean fall of a label's probability without the top 1, 5, 10, 20 and 50 % of the words."""
    words = text.split()
    ranked = sorted(range(len(words)), key=lambda i: -scores[i])
    falls = []
    for share in (0.01, 0.05, 0.1, 0.2, 0.5):
        gone = ranked[: max(1, int(share * len(words) + 0.5))]
        left = " ".join(word for i, word in enumerate(words) if i not in gone)
        falls.append(decide([text])[0, label] - decide([left])[0, label])
    return float(np.mean(falls))


def test_the_fall_is_that_of_the_gold_label_whatever_is_predicted(classifier: Any) -> None:
    found = evaluate(classifier, corpus(), options=OPTIONS)
    explained = {(row["example_id"], row["method"]): row for row in found.explanations}
    assert {(row["example_id"], row["label"]) for row in found.scores} == {
        ("a", "music"),
        ("b", "music"),
        ("c", "food"),
    }
    for row in found.scores:
        text, (gold,) = TEXTS[row["example_id"]]
        own = explained[row["example_id"], row["method"]]
        assert own["label"] == gold
        assert row["value"] == pytest.approx(by_hand(text, LABELS.index(gold), own["scores"]))
    predicted = evaluate(classifier, corpus())
    assert {(row["example_id"], row["label"]) for row in predicted.scores} == {
        *(("a", "sport"), ("b", "music"), ("c", "sport"))
    }
    assert (found.target, predicted.target) == ("gold", "predicted")
    same = [[row["value"] for row in one.scores if row["example_id"] == "b"] for one in (found, predicted)]
    assert same[0] == same[1]  # where the gold label is predicted, nothing changes


def test_curves_start_at_the_probability_of_the_gold_label(classifier: Any) -> None:
    for row in evaluate(classifier, corpus(), options=OPTIONS).curves:
        text, (gold,) = TEXTS[row["example_id"]]
        assert row["without_top"][0] == pytest.approx(decide([text])[0, LABELS.index(gold)])


def test_a_gold_label_is_correct_where_it_is_predicted(classifier: Any) -> None:
    found = evaluate(classifier, corpus(), options=OPTIONS)
    assert {row["example_id"]: row["correct"] for row in found.scores} == {"a": False, "b": True, "c": False}
    right, wrong = (found.subset(correct=kind) for kind in (True, False))
    assert right is not None
    assert wrong is not None
    assert (right.lines[0].cells[METRIC].texts, wrong.lines[0].cells[METRIC].texts) == (1, 2)


def test_of_several_labels_the_missed_are_measured_and_the_wrong_are_not() -> None:
    clf = wl.load(each, labels=LABELS, head="sigmoid")
    data = replace(corpus(a=("music", "food")), multi_label=True)  # of "a", sport and music are predicted
    found = evaluate(clf, data, options=OPTIONS)
    of_a = {row["label"]: row["correct"] for row in found.scores if row["example_id"] == "a"}
    assert of_a == {"music": True, "food": False}
    predicted = evaluate(clf, data)
    of_a = {row["label"]: row["correct"] for row in predicted.scores if row["example_id"] == "a"}
    assert of_a == {"sport": False, "music": True}


def test_plausibility_is_of_gold_labels_with_a_rationale_under_either(classifier: Any) -> None:
    marked = Rationale((Span(0, 10, 14),))  # "song"
    first, *others = corpus()
    data = replace(corpus(), records=(replace(first, rationales={"music": marked}), *others))
    asked = {"metrics": [METRIC, "average_precision"]}
    found, usual = (evaluate(classifier, data, options=one, **asked) for one in (OPTIONS, wl.Options()))
    values = [
        {(row["example_id"], row["method"]): row["value"] for row in one.scores if row["metric"] == "average_precision"}
        for one in (found, usual)
    ]
    drawn = [own.pop(("a", "random")) for own in values]  # anew for each list of labels
    assert all(0 < value <= 1 for value in drawn)
    assert values[0] == values[1]
    assert {key for key, _ in values[0]} == {"a"}
    # what people marked is an explanation of the gold label, and has a faithfulness where that is measured
    human = [{r["metric"] for r in one.scores if r["method"] == "human"} for one in (found, usual)]
    assert human == [{METRIC, "average_precision"}, {"average_precision"}]


def test_boundaries_are_tuned_on_the_same_pairs_under_either(classifier: Any) -> None:
    def marked(texts: dict[str, str]) -> Dataset:
        places = Rationale((Span(0, 0, 4),))
        records = [Record(key, Text(text), ("music",), {"music": places}) for key, text in texts.items()]
        return Dataset("words", "test", LABELS, tuple(records))

    data, tune = marked({"a": "song and goal goal", "b": "song or song"}), marked({"t": "song with goal", "u": "song"})
    asked: dict[str, Any] = {"metrics": ["token_f1"], "tune": tune}
    found, usual = (evaluate(classifier, data, options=one, **asked) for one in (OPTIONS, wl.Options()))
    values, others = (
        [(row["value"], row["settings"]) for row in one.scores if row["method"] == "occlusion"]
        for one in (found, usual)
    )
    assert values == others
    assert len(found.tuning) < len(usual.tuning)  # labels that nobody measures are not explained


def test_texts_without_a_gold_label_are_refused_before_any_work() -> None:
    def untouched(texts: list[str]) -> Any:
        raise AssertionError(f"{len(texts)} texts were classified")

    clf = wl.load(untouched, labels=LABELS)
    with pytest.raises(
        InputError, match=r"'words' \(test\) has no gold labels to measure; leave out the target 'gold'"
    ):
        evaluate(clf, corpus(a=(), b=(), c=()), options=OPTIONS)
    some = corpus(b=())
    with pytest.raises(
        InputError, match=r"1 of 3 texts .* have no gold label .*'b' \(\"one song .*data\.with_labels\(\)"
    ):
        evaluate(clf, some, options=OPTIONS)
    tune = replace(some, records=tuple(replace(r, id="t", rationales={"music": Rationale(())}) for r in some)[1:2])
    with pytest.raises(InputError, match="has no gold labels to measure"):
        evaluate(clf, corpus(b=("music",)).sample(1, seed=0), tune=tune, options=OPTIONS)


def test_the_labelled_texts_can_be_taken_alone(classifier: Any) -> None:
    labelled = corpus(b=()).with_labels()
    assert [record.id for record in labelled] == ["a", "c"]
    assert labelled.notes == ("2 of 3 records have a gold label; the others are left out",)
    assert len(evaluate(classifier, labelled, options=OPTIONS).scores) == 4


@pytest.mark.parametrize("target", ["all", "gold+predicted", "music", 1, ["music"]])
def test_other_targets_are_refused(classifier: Any, target: Any) -> None:
    with pytest.raises(SettingError, match=r"or of the gold ones \(target 'gold'\).*leave out the target"):
        evaluate(classifier, corpus(), options=wl.Options(target=target))


def test_the_target_is_part_of_the_question_and_the_default_is_the_question_of_before(
    classifier: Any, tmp_path: Path
) -> None:
    evaluate(classifier, corpus(), options=OPTIONS, out=tmp_path / "gold")
    evaluate(classifier, corpus(), out=tmp_path / "usual")
    asked = {name: json.loads((tmp_path / name / runs.MANIFEST).read_text())["asked"] for name in ("gold", "usual")}
    assert asked["gold"].pop("target") == "gold"
    assert asked["gold"] == asked["usual"]
    assert asked["usual"].keys() - {"model", "data", "tune", "contents"} == QUESTION
    assert len(evaluate(classifier, corpus(), options=OPTIONS, out=tmp_path / "gold").scores) == 6
    for folder, options in (("usual", OPTIONS), ("gold", wl.Options())):
        with pytest.raises(InputError, match=r"holds another run, differing in settings \(target\); name another"):
            evaluate(classifier, corpus(), options=options, out=tmp_path / folder)


def test_the_report_says_whose_faithfulness_it_shows(classifier: Any, tmp_path: Path) -> None:
    pages = {}
    for name, options in (("gold", OPTIONS), ("predicted", wl.Options())):
        evaluate(classifier, corpus(), options=options, out=tmp_path / name)
        pages[name] = run_page(tmp_path / name)
        assert f"<dt>faithfulness of</dt><dd><bdi>{name} labels</bdi></dd>" in pages[name]
        assert f"Mean score of the {name} label against" in pages[name]
        assert f"<dt>labels</dt><dd><bdi>{name} ones</bdi></dd>" in pages[name]
    shown = [one for own in best_and_worst(read_run(tmp_path / "gold"), METRIC) for one in own]
    states = {one.name: (one.questions[0].label, one.questions[0].state) for one in shown}
    assert states["a"] == ("music", "missed by the model")
    assert states["b"] == ("music", "correct prediction")


def test_several_models_are_asked_about_the_same_labels() -> None:
    weights = {"weak": 0.5, "strong": 3.0}
    models = {name: partial(wl.load, partial(decide, strength=s), labels=LABELS) for name, s in weights.items()}
    question = Question(methods=["occlusion"], metrics=[METRIC], options=OPTIONS)
    found = evaluate_several(models, corpus(), question, progress=False)
    for one in found.evaluations.values():
        assert {(row["example_id"], row["label"]) for row in one.scores} == {
            ("a", "music"),
            ("b", "music"),
            ("c", "food"),
        }
    assert "Faithfulness is that of the gold labels" in repr(found)


def test_a_sanity_check_has_no_gold_labels() -> None:
    with pytest.raises(InputError, match="the target 'gold' needs labelled data"):
        wl.sanity_check(
            tiny.classifier("bert"), corpus(), methods=["saliency"], levels="head", draws=1, options=OPTIONS
        )


def test_the_command_line_measures_gold_labels_and_says_so(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [{"text": "a gripping film", "label": "negative"}, {"text": "a dull film", "label": "negative"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = ("evaluate", "--data", str(path), "--method", "saliency", "--metric", METRIC)
    code, out, _ = cli(*asked, "--target", "gold", "--out", str(tmp_path / "gold"))
    assert not code
    assert "Faithfulness is that of the gold labels" in out
    assert {row["label"] for row in runs.read(tmp_path / "gold").scores} == {"negative"}
    code, _, complaint = cli(*asked, "--target", "all")
    assert code == 2
    assert "leave out the target 'all'" in complaint


def test_runs_of_different_labels_are_not_compared(classifier: Any, cli: Any, tmp_path: Path) -> None:
    for name, options in (("gold", OPTIONS), ("usual", wl.Options())):
        found = evaluate(classifier, corpus(), options=options, out=tmp_path / name)
        assert ("Faithfulness is that of the gold labels" in repr(found)) == (name == "gold")
    asked = ("compare", str(tmp_path / "gold"), "--method", "occlusion")
    code, _, complaint = cli(*asked, "--run", str(tmp_path / "usual"))
    assert code == 2
    assert "differ in target (gold and predicted)" in " ".join(complaint.split())
    assert "compare runs that measured alike" in " ".join(complaint.split())
    code, out, _ = cli(*asked)
    assert not code
    assert "occlusion minus random" in out
