"""The simulated reviewer marks what is true and nothing else, and what it exports is what it was given."""

from pathlib import Path
from typing import Any

import document
import numpy as np
import pytest
import review_loop
from document import PLACEHOLDER, look_up

import whylight as wl
import workbench_app
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.workbench.reviewing import checked_event, review_of
from whylight.workbench.routes.exports import lines

TEXT = "no fever, but a fever curve and a bad cough"
TRUE = Span(0, 16, 27)
RECORD = Record(
    "a", Text(TEXT), ("fever", "cough"), {"fever": Rationale((TRUE,)), "cough": Rationale((Span(0, 38, 43),))}
)


def test_what_is_true_is_marked_and_the_rest_is_refused() -> None:
    proposed = {"fever": [Span(0, 3, 8), TRUE], "bad": [Span(0, 34, 37)]}
    events: list[Any] = []
    for told in review_loop.actions(RECORD, proposed):
        checked = checked_event(told, parts=(TEXT,), labels=["fever", "bad", "cough"], before=events)
        events.append(checked)
    found = review_of(events)
    assert found.decisions == {"fever": "accepted", "bad": "rejected", "cough": "added"}
    assert found.marked == {label: own.places for label, own in RECORD.rationales.items()}
    assert found.refused == {"fever": (Span(0, 3, 8),)}
    assert found.done


def test_what_is_exported_is_what_the_generator_knows(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(review_loop, "METHODS", ("occlusion", "random"))
    records = [
        Record(f"note {i}", Text(text), ("fever",), {"fever": Rationale((Span(0, text.index("fever"), len(text)),))})
        for i, text in enumerate(("a fever curve", "no bad bad fever at all"))
    ]
    own = workbench_app.bench(workbench_app.sqlite(tmp_path), texts=[], methods=("occlusion",))
    own.journal.take_in(Dataset("notes", "test", (), tuple(records)))
    for one, record in zip(own.journal.documents(), records, strict=True):
        review_loop.review(own, one, record)
        review_loop.review(own, one, record)  # a stopped review goes on, and does nothing twice
    path = tmp_path / "rationales.jsonl"
    path.write_text("".join(lines(own)), encoding="utf-8")
    found = wl.dataset(str(path))
    assert [(one.id, one.labels, one.rationales) for one in found] == [
        (one.id, one.labels, dict(one.rationales)) for one in records
    ]


def test_the_order_of_a_queue_is_measured() -> None:
    wrong = [False] * 15 + [True] * 5
    values = np.linspace(0, 1, 20)
    assert review_loop.found_by(values, wrong).startswith("1.000 [1.000, 1.000]")
    assert review_loop.found_by(-values, wrong).startswith("0.000")
    assert review_loop.first_fifth(values, wrong) == "4 of 5"
    assert review_loop.first_fifth(-values, wrong) == "0 of 5"


def test_the_document_finds_all_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wl.dataset("discharge:", split="test", size=6, seed=4)
    generator = np.random.default_rng(0)

    def measured() -> dict[str, Any]:
        values = {one.id: float(generator.random()) for one in data}
        answers = generator.random((len(data), len(data.label_names))).tolist()
        return {"evidence": values, "average precision": values, "probabilities": answers, "threshold": 0.5}

    kept: dict[str, Any] = {}
    monkeypatch.setattr(review_loop, "put", kept.__setitem__)
    monkeypatch.setattr(review_loop, "remarks", lambda: [["actions: mark", "7"]])
    found = {(size, name): [measured()] * 3 for size in review_loop.SIZES for name in review_loop.TRAININGS}
    review_loop.write(measured(), found, data, [[name, "0.5 [0.4, 0.6]", "1 of 2"] for name in review_loop.ORDERS])
    tables = kept["review_loop"]
    known = {"review_loop": {"version": "new", "tables": {name: vars(one) for name, one in tables.items()}}}
    asked = PLACEHOLDER.findall(document.TEMPLATE.read_text(encoding="utf-8"))
    own = [one for one in asked if one.startswith("review_loop | ") and " | remarks | " not in one]
    assert len(own) > 10
    assert all(any(sign.isdigit() for sign in look_up(one, known)) for one in own)
    same = tables["changes"].cell("600", "corrections - labels alone", "evidence")
    assert same.count("[") == 1
    assert len(tables["models"].rows) == 1 + len(review_loop.SIZES) * len(review_loop.TRAININGS)
