"""The page about a run: right numbers, marked only where they are clear, nothing fetched, everything escaped."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from balanced import parsed
from run_rows import VALUES, example_rows, explanation_row, score_row, write
from whylight.core.arrays import Floats
from whylight.metrics.agreement import kendall_tau
from whylight.report.pieces import Piece, few_pieces
from whylight.report.run_examples import Highlight, best_and_worst
from whylight.report.run_page import run_page
from whylight.report.run_rows import read_run
from whylight.report.run_tables import agreement, kendall_taus, split_tables, table
from whylight.store.explanations import explanation_of

NASTY = '</style><script>alert("1")</script> & <b>bold</b> film \x01'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "run", *example_rows())


def parts_of(highlight: Highlight) -> tuple[tuple[Piece, ...], ...]:
    """The pieces that a highlighted text is drawn in."""
    return few_pieces(highlight.row.explanation, highlight.row.target)


def test_the_page_stands_alone_and_is_the_same_every_time(folder: Path) -> None:
    html = run_page(folder)
    tags = parsed(html).seen
    assert not [tag for tag, _ in tags if tag in {"script", "link", "img", "iframe", "object", "form"}]
    assert not [attrs for _, attrs in tags if {"src", "href", "onclick", "onload"} & attrs.keys()]
    assert not re.search(r"https?:|url\(|@import|[>\" ]nan[<%\"]", html)
    assert str(folder) not in html
    assert html == run_page(folder)


def test_it_says_what_was_run(folder: Path) -> None:
    html = run_page(folder)
    for said in ("some/model", "corpus, dev", "drawn at random", "seed 0", "1,234", "99 MB", "250 ms", "3 + 1"):
        assert said in html
    assert "not finished" not in html


def test_a_run_that_was_stopped_says_so_and_leaves_out_what_has_no_scores(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    late = explanation_row("late", "lime", [1.0], text="latecomer")
    html = run_page(
        write(tmp_path / "run", [*explanations, late], scores, data={"name": "corpus", "split": "dev", "texts": 20})
    )
    assert "12 of 20 texts" in html
    assert "latecomer" not in html


def test_means_are_those_of_the_rows_and_only_a_clear_winner_is_marked(folder: Path) -> None:
    run = read_run(folder)
    whole = table(run.explanations, run.scores)
    first, second = whole.verdicts
    assert whole.summary.lines[0].cells["aopc_comprehensiveness"].mean == pytest.approx(np.mean(VALUES["occlusion"]))
    assert (first.best, first.second, first.clear) == ("occlusion", "lime", True)
    assert not second.clear
    assert whole.won("occlusion", "aopc_comprehensiveness")
    assert not whole.won("human", "aopc_comprehensiveness")  # the highest mean, but no method
    html = run_page(folder)
    assert html.count("★</abbr>") == 2  # of all texts and of the correct predictions
    assert "0.783" in html
    assert html.count("no clear winner</span>") == 4


def test_two_texts_never_make_a_clear_winner_however_far_apart_methods_are(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    few = [row for row in scores if row["example_id"] in {"t0", "t1"}]
    html = run_page(write(tmp_path / "run", explanations, few))
    assert "★</abbr>" not in html
    assert "With 2 texts, intervals say little" in html


def test_nothing_is_clear_on_fewer_texts_than_the_one_rule_asks_for(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    for texts in (9, 10):
        keys = {f"t{i}" for i in range(texts)}
        own = [[row for row in rows if row["example_id"] in keys] for rows in (explanations, scores)]
        run = read_run(write(tmp_path / f"{texts}", *own))
        whole = table(run.explanations, run.scores)
        assert whole.verdicts[0].clear == (texts == 10)
        assert (("occlusion", "aopc_comprehensiveness") in whole.chance) == (texts == 9)


def test_lower_is_better_where_the_metric_says_so(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    lower = [{**row, "metric": "aopc_sufficiency"} for row in scores if row["metric"] == "aopc_comprehensiveness"]
    run = read_run(write(tmp_path / "run", explanations, lower))
    whole = table(run.explanations, run.scores)
    assert (whole.verdicts[0].best, whole.verdicts[0].clear) == ("lime", True)
    assert set(whole.chance.values()) == {"worse than random"}
    best, worst = best_and_worst(run, "aopc_sufficiency")
    assert best[0].name == "t11"
    assert worst[0].name == "t10"
    assert "lower is better" in run_page(tmp_path / "run")


def test_what_is_not_better_than_random_is_said(folder: Path) -> None:
    run = read_run(folder)
    chance = table(run.explanations, run.scores).chance
    assert ("occlusion", "aopc_comprehensiveness") not in chance
    assert chance["occlusion", "iou"] == "cannot tell from random"


def test_splits_are_shown_where_both_kinds_exist(tmp_path: Path, folder: Path) -> None:
    (right, yes), (wrong, no) = split_tables(read_run(folder))
    assert (right, yes.texts, wrong, no.texts) == ("Correct predictions", 10, "Wrong predictions", 2)
    assert no.summary.lines[0].cells["aopc_comprehensiveness"].mean == pytest.approx((0.95 + 0.60) / 2)
    explanations, scores = example_rows()
    alike = write(
        tmp_path / "alike", [{**row, "correct": True} for row in explanations], [{**r, "correct": True} for r in scores]
    )
    assert split_tables(read_run(alike)) == []
    assert "<details" not in run_page(alike)


@given(hnp.arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(2, 9)), elements=st.integers(-3, 3)))
def test_agreement_is_kendalls_tau_b(scores: Floats) -> None:
    taus = kendall_taus(scores)
    for i, j in combinations(range(len(scores)), 2):
        expected = stats.kendalltau(scores[i], scores[j]).statistic
        assert taus[i, j] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_agreement_is_the_mean_of_the_metric_over_texts_that_have_one(tmp_path: Path) -> None:
    first = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]  # the last one is constant: not defined
    second = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    explanations = [explanation_row(f"t{i}", "lime", one) for i, one in enumerate(first)]
    explanations += [explanation_row(f"t{i}", "occlusion", one) for i, one in enumerate(second)]
    scores = [score_row(row["example_id"], row["method"], 0.5) for row in explanations]
    run = read_run(write(tmp_path / "run", explanations, scores))
    rows = [explanation_of(row) for row in explanations]
    expected = [kendall_tau(rows[i], rows[i + 3])[0] for i in range(2)]
    found = agreement(run)[0][1]
    assert found is not None
    assert found.tau == pytest.approx(np.mean(expected))
    assert found.pairs == 2


def test_best_and_worst_texts_do_not_overlap_and_leave_out_baselines(folder: Path) -> None:
    run = read_run(folder)
    best, worst = best_and_worst(run, "aopc_comprehensiveness")
    means = {f"t{i}": (a + b) / 2 for i, (a, b) in enumerate(zip(VALUES["occlusion"], VALUES["lime"], strict=True))}
    ranked = sorted(means, key=lambda key: -means[key])
    assert [one.name for one in best] == ranked[:3]
    assert [one.name for one in worst] == ranked[::-1][:3]
    assert best[0].mean == pytest.approx(means[ranked[0]])
    assert [one.method for one in best[0].questions[0].highlights] == ["human", "occlusion", "lime", "random"]


@pytest.mark.parametrize("texts", [1, 2, 3, 5])
def test_few_texts_are_shared_out(tmp_path: Path, texts: int) -> None:
    keys = [f"t{i}" for i in range(texts)]
    explanations = [explanation_row(key, "lime", [1.0, -1.0]) for key in keys]
    run = read_run(write(tmp_path / "run", explanations, [score_row(k, "lime", i / 9) for i, k in enumerate(keys)]))
    best, worst = best_and_worst(run, "aopc_comprehensiveness")
    names = [one.name for one in (*best, *worst)]
    assert len(names) == len(set(names)) == min(6, texts)
    parsed(run_page(tmp_path / "run"))


def test_a_wrong_prediction_shows_what_people_marked_for_the_true_label(tmp_path: Path) -> None:
    wrong = {"correct": False}
    gold = {**wrong, "target": 0, "label": "negative"}
    explanations = [
        explanation_row("t0", "lime", [1.0, -1.0], **wrong),
        explanation_row("t0", "lime", [0.5, -1.0], **gold),
        explanation_row("t0", "human", [1.0, 0.0], **gold),
    ]
    scores = [score_row("t0", "lime", 0.5, **wrong)]
    scores += [score_row("t0", method, 0.3, **gold, metric="iou", score_space=None) for method in ("lime", "human")]
    run = read_run(write(tmp_path / "run", explanations, scores))
    ((faithful,), _), ((plausible,), _) = (best_and_worst(run, name) for name in ("aopc_comprehensiveness", "iou"))
    (question,) = faithful.questions
    assert (question.label, question.state) == ("positive", "wrong prediction")
    assert [(one.method, one.about) for one in question.highlights] == [("human", "negative"), ("lime", "")]
    (question,) = plausible.questions
    assert (question.label, question.state) == ("negative", "missed by the model")
    assert [(one.method, one.about) for one in question.highlights] == [("human", ""), ("lime", "")]


def test_a_prediction_is_not_called_wrong_where_nobody_knows(tmp_path: Path) -> None:
    unknown = {"correct": None}
    explanations, scores = [explanation_row("t0", "lime", [1.0], **unknown)], [score_row("t0", "lime", 0.5, **unknown)]
    folder = write(tmp_path / "run", explanations, scores)
    (shown,), _ = best_and_worst(read_run(folder), "aopc_comprehensiveness")
    assert shown.questions[0].state == ""
    html = run_page(folder)
    assert "Why <strong><bdi>positive</bdi></strong>?</p>" in html


def test_every_character_of_a_shown_text_is_there_and_nothing_of_it_is_markup(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    nasty = [{**row, "text": NASTY, "pair": NASTY, "label": NASTY, "notes": [NASTY], "example_id": NASTY}
             for row in explanations if row["example_id"] == "t0"]  # fmt: skip
    marks = [{**row, "example_id": NASTY, "label": NASTY} for row in scores if row["example_id"] == "t0"]
    described = {"name": NASTY, "split": NASTY, "texts": 9, "notes": [NASTY]}
    run = write(tmp_path / "run", nasty, marks, data=described, model=NASTY, long=NASTY)
    html = run_page(run)
    assert not [tag for tag, _ in parsed(html).seen if tag == "script"]
    assert "<script" not in html
    assert "<b>bold" not in html
    assert html.count("</style>") == 1
    assert "\x01" not in html
    (shown,), _ = best_and_worst(read_run(run), "aopc_comprehensiveness")
    for highlight in shown.questions[0].highlights:
        assert ["".join(piece.text for piece in pieces) for pieces in parts_of(highlight)] == [NASTY, NASTY]


def test_a_long_text_keeps_every_character_without_an_element_a_word(tmp_path: Path) -> None:
    text = " ".join(f"w{i}" for i in range(2000))
    scores = [1.0 if i % 100 == 0 else 0.0 for i in range(2000)]
    run = write(tmp_path / "run", [explanation_row("t", "lime", scores, text=text)], [score_row("t", "lime", 0.4)])
    ((shown,), _) = best_and_worst(read_run(run), "aopc_comprehensiveness")
    (pieces,) = parts_of(shown.questions[0].highlights[0])
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) == 40
    assert not shown.brief


def test_a_pair_of_texts_is_shown_whole(tmp_path: Path) -> None:
    places = [[0, 0, 3], [1, 6, 10]]
    row = explanation_row("t", "lime", [1.0, 0.5], text="one two", pair="three four", places=places)
    run = write(tmp_path / "run", [row], [score_row("t", "lime", 0.4)])
    ((shown,), _) = best_and_worst(read_run(run), "aopc_comprehensiveness")
    first, second = parts_of(shown.questions[0].highlights[0])
    assert [piece.text for piece in first] == ["one", " two"]
    assert [piece.text for piece in second] == ["three ", "four"]
