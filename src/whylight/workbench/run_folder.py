"""A folder of `whylight run` or `evaluate` in front of reviewers: its texts, and its explanations instead of new ones.

Explanations are taken over where they are what the workbench itself would make: the model's contents are those of the
run, one text explained anew has the same scores, and each row has the receipt (settings, unit, remover, score) that a
new explanation has. All others are made when they are needed. What is taken over is kept beside what the workbench
makes, by a hash of the same question.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.printable import one_line
from whylight.core.text import Span, Text, text_of
from whylight.data.dataset import Dataset, Record
from whylight.explaining.variants import table_name
from whylight.models.bundled_start import CLASSIFIERS
from whylight.store import runs
from whylight.store.explanations import explanation_of
from whylight.store.tables import HUMAN, RANDOM, Row
from whylight.workbench.desk import Desk

ALIKE = {
    "long": "window",
    "pieces": "sum",
    "method_score": None,
    "method_remover": None,
    "zero_non_alphanumeric": False,
}
"""What the workbench asks of every method, and a run may ask otherwise."""
RECEIPT = ("settings", "unit", "remover", "remover_settings", "score", "signed", "class_specific")
CLOSE = 1e-4
"""Relative difference of scores that another machine may make."""
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken over from a run.

    Attributes:
        explanations: How many explanations.
        reasons: Why others were not, by method; by the empty name why none was.
    """

    explanations: int
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run of texts.

    Attributes:
        folder: Where it is.
        asked: What was asked, as the run wrote it down.
        methods: What explained.
        rows: Its explanations, one row per label.
    """

    folder: Path
    asked: dict[str, Any]
    methods: tuple[str, ...]
    rows: Sequence[Row]

    @property
    def model(self) -> str:
        """Where the model of the run is: a folder that is here, or a bundled one; nothing is fetched for a run.

        Raises:
            InputError: It is neither.
        """
        name = str(self.asked.get("model"))
        if name not in CLASSIFIERS and not Path(name).is_dir():
            raise InputError(f"the run is of the model '{one_line(name)}', which is no folder here; name it: --model.")
        return name

    def documents(self) -> Dataset:
        """Return the texts of the run; those that failed have no explanation, and are not among them."""
        records = (Record(name, text, ()) for name, text, _ in self._texts())
        return Dataset(self.folder.name, "run", (), tuple(records))

    def lend(self, desk: Desk) -> Taken:
        """Keep the explanations of the run that are what a desk would make.

        Raises:
            InputError: The folder is damaged.
        """
        obstacle = self._obstacle(desk)
        if obstacle:
            return Taken(0, {"": obstacle})
        count, reasons = 0, dict[str, str]()
        fitting = self._fitting(desk, reasons)
        while some := list(islice(fitting, AT_ONCE)):
            desk.findings.keep_all(some)
            count += len(some)
        return Taken(count, reasons)

    def _fitting(self, desk: Desk, reasons: dict[str, str]) -> Iterator[tuple[str, Explanation]]:
        """Yield explanations that are what a desk would make, with their keys; say why others are not."""
        fresh: dict[str, Explanation] = {}
        for _, text, rows in self._texts():
            for method in desk.methods:
                with self._said():
                    found = _whole([row for row in rows if row["method"] == table_name(method)], text)
                if found is None or method in reasons:
                    continue
                labels = [target.index for target in found.targets]
                if method not in fresh:
                    fresh[method] = desk.explanation(text, method, labels)
                    if not _same_scores(fresh[method], found):
                        reasons[method] = "its scores are others"
                        continue
                if _receipt(fresh[method]) == _receipt(found):
                    yield desk.lent_key(text, method, labels), found
                else:
                    reasons[method] = "it was asked with other settings"

    def _texts(self) -> Iterator[tuple[str, Text, list[Row]]]:
        """Yield every text with its rows."""
        for name, own in groupby(self.rows, key=lambda row: str(row["example_id"])):
            rows = list(own)
            if rows[0]["kind"] != "text":
                kind = one_line(str(rows[0]["kind"]))
                raise InputError(f"reviewers read texts, and '{self.folder}' is of the kind '{kind}'.")
            with self._said():
                text = text_of(explanation_of(rows[0]).example)
                _check_places(text.words or (), text)
            yield name, text, rows

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Say in one sentence that rows are damaged; whoever made the folder may have meant it so."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise InputError(f"'{self.folder}' is damaged: it has rows that are no explanations.") from None

    def _obstacle(self, desk: Desk) -> str:
        """Say why nothing can be taken over; empty if something can."""
        known, theirs = desk.classifier.contents() or {}, self.asked.get("contents")
        if not isinstance(theirs, dict) or {name: theirs.get(name) for name in known} != dict(known):
            return "they are of another model"
        others = [name for name, value in ALIKE.items() if self.asked.get(name, value) != value]
        return f"the run was asked with other settings ({', '.join(others)})" if others else ""


def open_run(folder: Path | str) -> RunFolder:
    """Open the folder of a run.

    Raises:
        InputError: It holds none.
    """
    place = Path(folder)
    stored = runs.read(place)
    if stored.about is None or stored.about.asked is None:
        raise InputError(f"'{folder}' holds no run of `whylight run` or `whylight evaluate`.")
    methods = dict.fromkeys(str(row["method"]) for row in stored.explanations)
    own = tuple(one for one in methods if one not in (HUMAN, RANDOM))
    if not own:
        raise InputError(f"'{folder}' holds no explanation yet.")
    return RunFolder(place, stored.about.asked, own, stored.explanations)


def _whole(rows: Sequence[Row], text: Text) -> Explanation | None:
    """Put the rows of one text and method together, for the labels that the model predicts; None if one is missing."""
    each = {row["target"]: row for row in rows}
    predicted = json.loads(rows[0]["prediction"])["predicted"] if rows else []
    if not predicted or not all(label in each for label in predicted):
        return None
    own = [explanation_of(each[label]) for label in predicted]
    first, receipt = own[0], own[0].provenance
    _check_places(first.places, text)
    if any(one.places != first.places or one.example != first.example for one in own):
        raise ValueError("places of another text")
    if any(one.scores.shape != (1, len(first.places)) or not np.isfinite(one.scores).all() for one in own):
        raise ValueError("scores of other places")
    if text_of(first.example) != text:
        return None
    gaps = [one.provenance.completeness_gap for one in own]
    gap = None if receipt.completeness_gap is None else tuple(value for one in gaps for value in one or ())
    scores = np.concatenate([one.scores for one in (own if receipt.class_specific else own[:1])])
    targets = tuple(one.targets[0] for one in own)
    return replace(first, targets=targets, scores=scores, provenance=replace(receipt, completeness_gap=gap))


def _check_places(places: Sequence[Span], text: Text) -> None:
    """Refuse places that are none in a text."""
    lengths = [len(part) for part in text.parts]
    for one in places:
        numbers = (one.part, one.start, one.end)
        if not all(isinstance(number, int) for number in numbers):
            raise TypeError("places are numbers")
        if not 0 <= one.part < len(lengths) or not 0 <= one.start <= one.end <= lengths[one.part]:
            raise ValueError("places outside the text")


def _receipt(explanation: Explanation) -> list[Any]:
    return [getattr(explanation.provenance, name) for name in RECEIPT]


def _same_scores(fresh: Explanation, found: Explanation) -> bool:
    same = fresh.places == found.places and fresh.scores.shape == found.scores.shape
    return same and bool(
        np.allclose(fresh.scores, found.scores, rtol=CLOSE, atol=CLOSE * np.abs(fresh.scores).max(initial=0))
    )
