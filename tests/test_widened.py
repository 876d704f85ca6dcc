"""The house takes what it does not know: a kind of input, a remover with weighted draws, a view, all in this file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import quick
import whylight as wl
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import Encoded, Long, Unit, key_of
from whylight.core.errors import IncompatibleError, InputError, ModelError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import JsonValue, input_kind
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.rationale import Rationale
from whylight.core.registry import METHODS, REMOVERS, method, remover
from whylight.data.dataset import Dataset, Record
from whylight.explaining.explain import explain
from whylight.models.batching import Engine
from whylight.models.outcomes import outcomes_of
from whylight.perturb.binding import available
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


def test_without_a_remover_that_works_on_it_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoardClassifier, "removers", ())
    with pytest.raises(ModelError, match=r"^no remover works on .*; bring one with `@remover`"):
        explain(BoardClassifier(), BOARD)


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
    with pytest.raises(IncompatibleError, match="'longest' needs Letters, and a Hugging Face classifier gives none"):
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
