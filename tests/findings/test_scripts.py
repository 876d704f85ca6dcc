"""What a script writes has every figure that the document asks for, by its name."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import codiesp
import coding
import document
import evidence
import multilabel
import numpy as np
import pytest
import regularisation
from document import PLACEHOLDER, Table, look_up
from multilabel import FAITHFUL, METHODS, PLAUSIBLE, PUNCTUATION, Measured, marks

import whylight as wl
from pages import explanation
from whylight.core.evidence import evidence as find_evidence
from whylight.training.figures import BY_DOCUMENT, BY_LABEL, multi_label

SEEDS = 3


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, Table]]]:
    monkeypatch.setattr(multilabel, "DRAWS", 50)  # the names of figures are looked at, not the figures
    kept: dict[str, dict[str, Table]] = {}
    for script in (coding, codiesp, regularisation):
        monkeypatch.setattr(script, "put", kept.__setitem__)
    yield kept
    asked = [
        one for one in PLACEHOLDER.findall(document.TEMPLATE.read_text(encoding="utf-8")) if one.split(" | ")[0] in kept
    ]
    known = {
        name: {"version": "new", "tables": {key: vars(one) for key, one in tables.items()}}
        for name, tables in kept.items()
    }
    assert asked
    for placeholder in asked:
        assert re.search(r"\d|new", look_up(placeholder, known)), placeholder


def measured(generator: np.random.Generator, test: Any) -> Measured:
    names = (*PLAUSIBLE, PUNCTUATION, *FAITHFUL)
    values = {
        (m, n): {str(t): float(generator.random()) for t in range(5)} for m in (*METHODS, "random") for n in names
    }
    probabilities = generator.random((len(test), len(test.label_names)))
    return Measured(multi_label(probabilities, marks(test)).values, probabilities > 0.5, values, values)


def test_coding(written: dict[str, dict[str, Table]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "PLACE", tmp_path)
    for name in ("IGR", "TM"):
        for seed in coding.SEEDS:
            (tmp_path / f"{name}-{seed}").mkdir()
            history = [{"input_gradient_penalty": 0.3, "masked_share": 0.9}, {"input_gradient_penalty": 0.2}]
            receipt = {"beta": 25.0, "history": history}
            (tmp_path / f"{name}-{seed}" / "training.json").write_text(json.dumps(receipt))
    test = wl.dataset("discharge:", split="test", size=12)
    generator = np.random.default_rng(0)
    found = {name: [measured(generator, test) for _ in range(SEEDS)] for name in coding.TRAININGS}
    coding._write(found, found["plain"][0].figures, test)
    assert {BY_DOCUMENT, BY_LABEL} <= set(written["coding"]["classification"].head)
    assert [row[1] for row in written["coding"]["claims"].rows if row[0] == "A5"] == [
        f"{name} - plain" for name in coding.TRAININGS if name != "plain"
    ]


def test_codiesp(written: dict[str, dict[str, Table]]) -> None:
    test = wl.dataset("discharge:", split="test", size=12)
    generator = np.random.default_rng(0)
    found = {name: [measured(generator, test) for _ in range(SEEDS)] for name in codiesp.TRAININGS}
    words = measured(generator, test)
    codiesp._write(found, words.figures, codiesp._changes(found, words.answers, test))
    assert {BY_DOCUMENT, BY_LABEL} <= set(written["codiesp"]["classification"].head)


def test_regularisation(written: dict[str, dict[str, Table]]) -> None:
    generator = np.random.default_rng(0)
    names = [f"F1 {name}" for name in ("SST", *regularisation.OUTSIDE)]
    names += [f"AUC {name}" for name in regularisation.SHOWN]

    def run() -> dict[str, float]:
        return {name: float(generator.random()) for name in (*names, regularisation.LOSS)}

    trainings = ["baseline", *(f"{how} {g}" for g in regularisation.GUIDES for how in ("joint", "constrained"))]
    found = {name: [run() for _ in regularisation.SEEDS] for name in trainings}
    sweep = [(weight, run()) for weight in regularisation.SWEEP]
    sweep[0], sweep[2] = (0.0, found["baseline"][0]), (1.0, found["joint attention"][0])
    bounds = {guide: {"train": 0.1, "validation": 0.1} for guide in regularisation.GUIDES}
    regularisation._write(found, {guide: run() for guide in regularisation.GUIDES}, sweep, bounds)
    assert len(written["regularisation"]["bounds"].rows) == 6


def test_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilabel, "DRAWS", 50)
    generator = np.random.default_rng(0)
    keys = [f"{method}, {name}" for method in evidence.METHODS for name in evidence.LISTS]
    notes = {
        str(note): {key: {one: float(generator.random()) for one in evidence.FIGURES} for key in keys}
        for note in range(5)
    }
    del notes["0"][keys[0]]["f1"]  # a note whose predicted codes nobody marked
    tables = evidence.tables_of({"discharge": [notes] * SEEDS})
    assert len(tables["lists"].rows) == len(keys)
    mean = np.mean([notes[note][keys[0]]["f1"] for note in "1234"])
    cell = tables["lists"].cell("discharge", "attention", "without a sign", "f1")
    assert cell.startswith(f"{mean:.3f} [")
    change = np.mean([notes[note][keys[1]]["f1"] - notes[note][keys[0]]["f1"] for note in "1234"])
    assert tables["changes"].cell("discharge", "attention", "f1").startswith(f"{change:+.3f} [")


def test_a_list_without_a_sign_is_by_the_size_of_scores() -> None:
    one = explanation("good bad film", [1.0, -3.0, 0.5])
    bare, signed = evidence.listed_both_ways(one)
    shown = [[own.example.show(e.span) for e in find_evidence(own, own.targets[0])] for own in (bare, signed)]
    assert shown == [["bad"], ["good"]]
