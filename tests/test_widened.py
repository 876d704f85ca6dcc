"""The house takes what it does not know: a kind of input, a remover with weighted draws, a view, all in this file."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from markupsafe import Markup
from rich.text import Text as RichText
from typer.testing import CliRunner

import quick
import whylight as wl
from balanced import parsed
from whylight.cli.main import app
from whylight.core import registry
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import Encoded, Long, Unit, key_of
from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import JsonValue, input_kind
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.rationale import Rationale
from whylight.core.registry import METHODS, REMOVERS, method, remover
from whylight.data.dataset import Dataset, Record
from whylight.explaining.console import Console
from whylight.explaining.explain import explain
from whylight.models.batching import Engine
from whylight.models.outcomes import outcomes_of
from whylight.perturb.binding import available
from whylight.report import renderers
from whylight.report.page import page
from whylight.report.plain import MOST_LINES, MOST_ON_PAGE
from whylight.report.renderers import Manner, Noun, Renderer, register_renderer, with_evidence
from whylight.report.rows import AnswerRow
from whylight.report.terminal import render
from whylight.store import runs
from whylight.store.explanations import explanation_of, row_of
from whylight.views.batch import Removal, Variants
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, Request, game_of
from whylight.views.game import Game
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch, TokenWindow
from whylight.views.view import View


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    row: int
    column: int


@input_kind
@dataclass(frozen=True, slots=True)
class Board:
    """A board of numbers: as far from a text as an image is."""

    kind: ClassVar[str] = "board"
    place: ClassVar[type[Cell]] = Cell

    cells: tuple[tuple[float, ...], ...]
    mark: str = ""

    @property
    def key(self) -> str:
        return json.dumps([self.cells, self.mark])

    @property
    def size(self) -> int:
        return sum(map(len, self.cells))

    def show(self, place: Cell) -> str:
        return f"{self.cells[place.row][place.column]:g}{self.mark}"

    def to_json(self) -> dict[str, JsonValue]:
        return {"cells": [list(row) for row in self.cells], "mark": self.mark}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Board":
        return cls(tuple(tuple(row) for row in value["cells"]), value["mark"])

    def marks(self, gold: Sequence[Cell], places: Sequence[Cell]) -> Bools:
        return np.asarray([place in set(gold) for place in places])

    def coordinates(self, places: Sequence[Cell]) -> Floats:
        return np.asarray([[place.row, place.column] for place in places], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class BoardWindow:
    values: Floats  # [features]

    @property
    def features(self) -> Ints:
        return np.arange(len(self.values))

    @property
    def blocks(self) -> tuple[Ints, ...]:
        return (self.features,)

    @property
    def row_bytes(self) -> int:
        return self.values.nbytes

    def alone(self) -> tuple["BoardWindow", Ints]:
        return self, self.features


@dataclass(frozen=True, slots=True, eq=False)
class BoardBatch:
    values: Floats  # [rows, features]

    @property
    def lengths(self) -> Ints:
        return np.full(len(self.values), self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> list[bytes]:
        return [key_of(row.tobytes()) for row in self.values]

    def take(self, indices: Sequence[int] | Ints) -> "BoardBatch":
        return BoardBatch(self.values[np.asarray(indices)])


class BoardClassifier:
    """Says how much more the first row of a board holds than the others; a logit each."""

    kind, reads, identity = "a board classifier", "board", "boards"
    labels = Labels(("first", "others"))
    score_spaces: tuple[ScoreSpace, ...] = ("logit", "probability", "log_odds", "log_probability")

    def __init__(self) -> None:
        self.engine = Engine(self.logits, budget=1000)
        self.offers: Offers = {Game: partial(game_of, self)}

    @property
    def removers(self) -> tuple[str, ...]:
        return available(BoardWindow, ())

    def encode(self, example: Board, *, unit: Unit, long: Long) -> Encoded:  # noqa: ARG002
        places = tuple(Cell(r, c) for r, row in enumerate(example.cells) for c in range(len(row)))
        return Encoded(example, unit, places, (BoardWindow(np.asarray(example.cells, dtype=float).ravel()),))

    def logits(self, batch: BoardBatch) -> Floats:
        first = batch.values[:, : batch.values.shape[1] // 2].sum(1)
        return np.stack([first, batch.values.sum(1) - first], axis=1)

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        return outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

    def contents(self) -> Mapping[str, str]:
        return {"weights": "none"}


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the plug-ins of this file for the time of a test."""
    for one in (METHODS, REMOVERS):
        one.names()
        monkeypatch.setattr(one, "_specs", dict(one._specs))

    @remover()
    def emptied(window: BoardWindow, keep: Bools) -> Variants:
        """Put 0 in the place of removed cells."""
        return Variants(BoardBatch(np.where(keep, window.values, 0.0)))

    @remover(draws=True)
    def drawn(window: TokenWindow, keep: Bools, *, shift: int = 3) -> Variants:
        """Put three other tokens in the place of removed words, of unequal weight."""
        tokens = np.asarray([5, 5 + shift, 5 + 2 * shift])
        kept = window.kept(keep)[:, None]
        ids = np.where(kept, window.ids, tokens[:, None]).reshape(-1, len(window.ids))
        return Variants(window.rows(ids), np.tile([0.5, 0.3, 0.2], (len(keep), 1)))

    @method(cite="here", signed=False)
    def longest(view: Letters) -> Floats:
        """Score each word by its length."""
        return view.lengths

    assert {emptied.__name__, drawn.__name__} < set(REMOVERS.names())
    assert longest.__name__ in METHODS.names()


DRAWS = ((5, 0.5), (8, 0.3), (11, 0.2))
BOARD = Board(((3.0, 0.0, 1.0), (-1.0, 2.0, 0.5)))
VALUES = np.asarray(BOARD.cells).ravel()


def test_another_kind_of_input_is_explained_and_says_where() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="all")
    np.testing.assert_allclose(found.scores[0], [3, 0, 1, 0, 0, 0])
    assert found.as_list("first")[0] == ("3", 3.0)
    assert found.places[4] == Cell(1, 1)
    one = json.loads(found.to_json().splitlines()[1])
    assert (one["kind"], one["cells"]) == ("board", [[3.0, 0.0, 1.0], [-1.0, 2.0, 0.5]])
    assert one["features"][3] == {"row": 1, "column": 0, "text": "-1", "score": -1.0}
    shapley = explain(BoardClassifier(), BOARD, method="kernel_shap", target="first")
    np.testing.assert_allclose(shapley.scores[0], [3, 0, 1, 0, 0, 0], atol=1e-9)


def boards(mark: str = "") -> Dataset:
    gold = {"first": Rationale((Cell(0, 0),))}
    cells = [((3.0 + i, 0.1), (0.5, 0.2)) for i in range(3)]
    records = (Record(f"{i}{mark}", Board(own, mark), ("first",), gold) for i, own in enumerate(cells))
    return Dataset("boards", "test", ("first", "others"), tuple(records))


def test_it_is_evaluated_stored_and_read_back(tmp_path: Path) -> None:
    data = boards()
    found = wl.evaluate(BoardClassifier(), data, methods=["occlusion"], progress=False, out=tmp_path)
    values = {(row["method"], row["metric"]): row["value"] for row in found.scores if row["example_id"] == "1"}
    assert values["occlusion", "average_precision"] == 1.0
    assert values["occlusion", "iou"] == 1.0
    again = [explanation_of(row) for row in runs.read(tmp_path).explanations]
    assert {one.example for one in again} == {record.example for record in data}
    assert again[0].places[3] == Cell(1, 1)
    assert again[0].provenance.model == "boards"


NASTY = '</style><script>alert("1")</script> <b>&amp; {{ 7*7 }} [red]\x1b[2J\x9b\u202e\x01'
STEERING = set("\x1b\x9b\u202e\x01")


def printed(explanations: Sequence[Explanation]) -> str:
    console = Console(file=io.StringIO(), width=100)
    render(explanations, console=console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def reported(tmp_path: Path, data: Dataset) -> str:
    wl.evaluate(BoardClassifier(), data, methods=["occlusion"], progress=False, out=tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--out", str(tmp_path / "run.html")])
    assert done.exit_code == 0, done.output
    return (tmp_path / "run.html").read_text(encoding="utf-8")


def told(html: str) -> str:
    """What a page says, without tags and styles."""
    parsed(html)
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)))


def drawn_html(row: AnswerRow, manner: Manner) -> Markup:
    cells = Markup().join(Markup("<td>{}</td>").format(row.explanation.example.show(p)) for p in row.explanation.places)
    return Markup('<table class="board{}"><tr>{}</tr></table>').format(manner.labels, cells)


def drawn_tile(row: AnswerRow, brief: bool) -> Markup:  # noqa: FBT001
    return Markup('<i class="small">{} {}</i>').format(row.explanation.example.show(row.explanation.places[0]), brief)


def drawn_lines(row: AnswerRow, manner: Manner, width: int) -> list[RichText]:
    first = row.explanation.example.show(row.explanation.places[0])
    return [RichText(f"board of {manner.length}, {width} wide, from {first}")]


OWN = Renderer(
    noun=Noun("board", "boards", "cell", "cells"),
    html=drawn_html,
    tile=drawn_tile,
    lines=drawn_lines,
    layers=lambda stack, target: Markup("<u>{} layers of {}</u>").format(len(stack), target.label),
    evidence=lambda one, _target, most: [{"first": one.example.show(place)} for place in one.places[:most]],
    style=".board2 td { color: red; }",
)


@pytest.fixture
def own_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    register_renderer("board", OWN)


def test_a_kind_that_nobody_draws_is_listed_feature_by_feature() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_())):
        listed = re.findall(r'<tr><td><span[^>]*title="([^"]*)"[^>]*>([^<]*)</span></td><td>([^<]*)</td>', html)
        scores = [f"{score:+.6g}" for score in found.scores.ravel()]
        assert [score for score, _, _ in listed] == scores
        assert [text for _, text, _ in listed][:6] == [found.example.show(place) for place in found.places]
        assert listed[4][2] == "row 1, column 1"
        assert "strongest feature of each row" in told(html)
        assert "Evidence" not in told(html)
    lines = [line.split() for line in printed([found]).splitlines()]
    assert ["+3.00", "3", "row", "0,", "column", "0"] in lines
    assert ["-1.00", "-1", "row", "1,", "column", "0"] in lines
    assert all(one["evidence"] is None for one in with_evidence(found))


def test_of_very_many_features_the_strongest_are_listed_and_the_others_counted() -> None:
    row = tuple(float(i) for i in range(500))
    found = explain(BoardClassifier(), Board((row, row)), method="occlusion", target="first")
    html = page([found])
    assert html.count("<tr><td>") == MOST_ON_PAGE
    assert "row 0, column 499" in html
    assert f"{1000 - MOST_ON_PAGE} more features are not listed" in told(html)
    assert f"{1000 - MOST_LINES} more features are not listed" in printed([found])


def test_the_report_of_a_run_lists_them_too(tmp_path: Path) -> None:
    html = reported(tmp_path, boards())
    assert html.count('<div class="features">') == 9  # three boards, under occlusion, chance and what people marked
    said = told(html)
    assert all(part in said for part in ("on 3 inputs", "Best and worst inputs", "time per input", "order of features"))


def test_a_kind_is_drawn_by_its_renderer(own_renderer: None, tmp_path: Path) -> None:  # noqa: ARG001
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_())):
        assert html.count('<table class="board2"><tr><td>3</td><td>0</td>') == 2
        assert html.count(".board2 td { color: red; }") == 1
        assert "strongest cell of each row" in told(html)
    assert "board of 6, 96 wide, from 3" in printed([found])
    assert with_evidence(found, spans=2)[0]["evidence"] == [{"first": "3"}, {"first": "0"}]
    html = reported(tmp_path, boards())
    assert html.count('<i class="small">4 True</i>') == 3
    assert "Best and worst boards" in told(html)


@pytest.mark.usefixtures("own_renderer")
def test_layers_are_one_picture_where_the_kind_has_such() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="first")
    stack = [replace(found, provenance=replace(found.provenance, settings={"layer": n})) for n in (1, 2)]
    assert page(stack).count("<u>2 layers of first</u>") == 1
    assert "<table" not in page(stack)


def test_layers_are_rows_where_it_has_none() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="first")
    stack = [replace(found, provenance=replace(found.provenance, settings={"layer": n})) for n in (1, 2)]
    assert page(stack).count('<div class="features">') == 2


def test_kinds_may_stand_on_one_page() -> None:
    board = explain(BoardClassifier(), BOARD, method="occlusion")
    text = quick.run(quick.classifier("bert"), "good plot drags", "occlusion")
    said = told(page([board, text]))
    assert "2 inputs" in said
    assert "Input 1 of 2" in said
    assert "Text 2 of 2" in said
    assert all(word in printed([board, text]) for word in ("row 1, column 1", "good plot drags"))


@pytest.mark.parametrize("drawn", ["plainly", "by markup", "as a string"])
def test_hostile_strings_are_escaped(drawn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    if drawn == "by markup":
        register_renderer("board", OWN)
    if drawn == "as a string":
        show = (lambda row, _how: row.explanation.example.show(row.explanation.places[0]),) * 2
        register_renderer("board", replace(OWN, html=show[0], tile=show[1]))
    found = explain(BoardClassifier(), Board(BOARD.cells, NASTY), method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_()), reported(tmp_path, boards(NASTY))):
        assert html.count("</style>") == 1
        assert not {"script", "b"} & {tag for tag, _ in parsed(html).seen}
        assert not set(html) & STEERING - {"\u202e"}
        assert '</style><script>alert("1")</script> <b>&amp; {{ 7*7 }} [red]' in unescape(html)
    assert not set(printed([found])) & STEERING
    assert "[red]" in printed([found])


def test_another_package_brings_a_renderer_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Offered:
        @staticmethod
        def load() -> None:
            register_renderer("board", OWN)

    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    monkeypatch.setattr(registry, "entry_points", lambda group: [Offered] if group == "whylight.report.kinds" else [])
    registry.load_plugins.__wrapped__("whylight.report.kinds")
    assert renderers.renderer_of("board") is OWN
    assert renderers.renderer_of("text").noun.one == "text"


def test_a_kind_has_one_renderer(own_renderer: None) -> None:  # noqa: ARG001
    register_renderer("board", OWN)
    with pytest.raises(SettingError, match="two renderers are registered for the kind of input 'board'"):
        register_renderer("board", Renderer())


def test_a_classifier_says_what_it_reads() -> None:
    with pytest.raises(InputError, match="a board classifier reads inputs of the kind 'board', not 'text'"):
        explain(BoardClassifier(), "a text")
    with pytest.raises(InputError, match="reads inputs of the kind 'text', not 'board'"):
        explain(quick.classifier("bert"), BOARD, method="occlusion")


def test_weighted_draws_are_averaged_as_probabilities() -> None:
    clf = quick.classifier("bert")
    found = explain(clf, "good plot drags", method="occlusion", remover="drawn", score="probability", target=1)
    (window,) = quick.encode(clf, "good plot drags").windows

    def probability(ids: Ints) -> float:
        batch = TokenBatch(ids[None], window.types[None], np.asarray([len(ids)]))
        with torch.no_grad():
            return float(clf.labels.probabilities(clf.batch_logits(batch))[0, 1])

    for word in range(3):
        drawn = [(np.where(window.feature == word, token, window.ids), share) for token, share in DRAWS]
        mean = sum(share * probability(ids) for ids, share in drawn)
        assert found.scores[0, word] == pytest.approx(probability(window.ids) - mean, abs=1e-6)


def test_draws_have_no_logit_and_the_receipt_keeps_their_settings(tmp_path: Path) -> None:
    clf = quick.classifier("bert")
    found = explain(clf, "good plot drags", method="kernel_shap", remover="drawn", **{"drawn.shift": 7})
    assert found.provenance.score == "log_odds"
    assert (found.provenance.remover, found.provenance.remover_settings) == ("drawn", {"shift": 7})
    assert json.loads(found.to_json())["remover_settings"] == {"shift": 7}
    assert row_of(found)["remover_settings"] == '{"shift": 7}'
    with pytest.raises(SettingError, match="draws several texts, whose probabilities are averaged"):
        explain(clf, "good plot", method="occlusion", remover="drawn", score="logit")
    with pytest.raises(SettingError, match="unknown setting of 'drawn' 'shft'"):
        explain(clf, "good plot", method="occlusion", remover="drawn", **{"drawn.shft": 7})
    with pytest.raises(IncompatibleError, match="draws several texts, and this model reads chunks"):
        explain(quick.classifier("plm_ca"), "good plot", method="occlusion", remover="drawn")
    data = wl.dataset("planted:", split="test", size=4, length=8)
    model = wl.load()
    run = wl.evaluate(
        model, data, methods=["occlusion"], remover="drawn", settings={"drawn.shift": 9}, progress=False, out=tmp_path
    )
    assert {row["remover_settings"] for row in run.explanations if row["method"] == "occlusion"} == {'{"shift": 9}'}
    with pytest.raises(InputError, match="holds another run, differing in settings"):
        wl.evaluate(model, data, methods=["occlusion"], remover="drawn", progress=False, out=tmp_path)


class Letters(View):
    """How many letters each word has: a view that no classifier of ours offers."""

    def __init__(self, encoded: Encoded, request: Request) -> None:
        lengths = [len(encoded.example.show(place)) for place in encoded.places]
        self.lengths = np.tile(np.asarray(lengths, dtype=np.float64), (len(request.targets), 1))


def test_another_view_is_offered_by_whoever_has_it() -> None:
    clf = wl.load()
    with pytest.raises(IncompatibleError, match="'longest' consumes a Letters, which a Hugging Face classifier cannot"):
        explain(clf, "good plot drags", method="longest")
    clf.offers[Letters] = Letters  # type: ignore[index]
    found = explain(clf, "good plot drags", method="longest")
    np.testing.assert_allclose(found.scores, [[4, 4, 5]])
    assert not found.provenance.signed


def test_an_explanation_is_the_same_after_a_dictionary_and_a_row() -> None:
    clf = quick.classifier("bert", num_labels=3)
    for text in ("good plot drags", ("bad film", "dull 😀")):
        for name in ("integrated_gradients", "attention", "kernel_shap"):
            one = quick.run(clf, text, name, target=1)
            for again in (Explanation.from_dict(json.loads(json.dumps(one.to_dict()))), explanation_of(row_of(one))):
                assert again.to_dict() == one.to_dict()
                assert again.scores.tobytes() == one.scores.tobytes()
                assert (again.example, again.places, again.targets) == (one.example, one.places, one.targets)
                assert (again.prediction, again.provenance) == (one.prediction, one.provenance)


def test_the_registry_of_removers_is_that_of_every_plug_in() -> None:
    assert {"mask", "unk", "pad", "zero", "delete"} <= set(registry.REMOVERS.names())
