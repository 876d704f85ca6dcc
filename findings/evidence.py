"""Evidence lists for a reviewer: what a sign does to them.

    python findings/evidence.py path/to/codiesp

The models are the plain ones of `coding.py` and `codiesp.py`, three seeds each; they are trained here if they are not
there. For each predicted code of each note of test, the list is what a page shows: at most five spans. Methods without
a sign (attention, AttInGrad) are listed as they are, and with the sign that `decompx_linear` (else input x gradient)
lends them; methods with a sign are listed by the size of their scores, and with their sign.

- `precision`, `recall`, `f1`: listed words against the words that were marked for the code, if any were.
- `first`: how often the first span holds a marked word.
- `comprehensiveness`: what the probability loses without the listed words; `sufficiency`: with them alone (lower is
  better).
- `against`: share of listed words without which, one by one, the score of the code rises.
- `words`: how many are listed; `empty`: how often none is.

What was measured is kept note by note, so that a stopped script goes on.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import codiesp
import coding
import numpy as np
from document import WORK, Table, put
from multilabel import Data, difference, interval_of

import whylight as wl
from whylight.core.evidence import evidence
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.data.dataset import Dataset, Record
from whylight.explaining.case import Case, open_case
from whylight.explaining.removing import chosen_removal
from whylight.store import files
from whylight.views.cache import BoundedCache
from whylight.views.meter import Meter

PLACE = WORK / "evidence"
SEEDS = (0, 1, 2)
TEXTS = 100
METHODS = ("attention", "attingrad", "decompx_linear", "input_x_gradient")
LISTS = ("without a sign", "with a sign")
COMPARED = (("attingrad", "decompx_linear"), ("attingrad", "attention"), ("decompx_linear", "input_x_gradient"))
FIGURES = ("precision", "recall", "f1", "first", "comprehensiveness", "sufficiency", "against", "words", "empty")
Marks = np.ndarray[Any, np.dtype[np.bool_]]
Figures = dict[str, dict[str, float]]
"""`METHOD, LIST` -> figure -> mean over the predicted codes of a note."""


def main() -> None:
    """Measure both corpora, and put the tables into the document."""
    notes = {split: wl.dataset("discharge:", split=split) for split in ("train", "dev", "test")}
    cases = codiesp.read_data(sys.argv[1])
    found: dict[str, list[dict[str, Figures]]] = {}
    for seed in SEEDS:
        found.setdefault("discharge", []).append(measured("discharge", _note_model(notes, seed), notes["test"], seed))
        model = codiesp.trained_model(cases, "plain", seed)
        found.setdefault("codiesp", []).append(measured("codiesp", model, cases["test"], seed))
    put("evidence", tables_of(found))


def _note_model(notes: Data, seed: int) -> Path:
    folder = coding.PLACE / f"plain-{seed}"
    start = coding.first_model(notes, seed)
    coding.later_model(notes, coding.TRAININGS["plain"], start=start, seed=seed, folder=folder)
    return folder


def measured(corpus: str, folder: Path, test: Dataset, seed: int, *, texts: int = TEXTS) -> dict[str, Figures]:
    """Return the figures of each note; what was measured before is read."""
    clf, kept = wl.load(folder), PLACE / f"{corpus}-{seed}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Figures] = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    for record in test.sample(texts, seed=0):
        if record.id not in known:
            known[record.id] = of_note(clf, record)
            files.write(kept, json.dumps(known).encode())
            print(corpus, seed, len(known), flush=True)
    return known


def of_note(clf: Any, record: Record) -> Figures:
    """Return the figures of one note: the mean over its predicted codes, for each method and list."""
    each: dict[str, dict[str, list[float]]] = {}
    case, game = open_case(clf, record.example), _Game(clf, record)
    for one in wl.explain(clf, record.example, method=list(METHODS), target="predicted", progress=False):
        for name, own in zip(LISTS, listed_both_ways(one), strict=True):
            for target in own.targets:
                values = each.setdefault(f"{one.provenance.method}, {name}", {})
                for figure, value in _of_list(own, target, record, game, case).items():
                    values.setdefault(figure, []).append(value)
    return {key: {figure: float(np.mean(v)) for figure, v in values.items()} for key, values in each.items()}


def listed_both_ways(one: Explanation) -> tuple[Explanation, Explanation]:
    """Return an explanation without any sign, and with its own or the one that it was lent."""
    bare = replace(one, scores=np.abs(one.scores), provenance=replace(one.provenance, signed=False), signs=None)
    return bare, one


class _Game:
    """The logits of a note's codes without some words, or with some alone."""

    def __init__(self, clf: Any, record: Record) -> None:
        encoded = clf.encode(record.example, unit="word", long="window")
        removal = chosen_removal(clf, None)
        self._ask = clf.outcomes(encoded, removal=removal, cache=BoundedCache(), meter=Meter())
        self._labels = clf.labels

    def logits(self, keep: Marks, target: Target) -> Any:
        """Return the logit of a code for each row of kept words."""
        return self._ask(keep)[:, target.index]

    def probability(self, keep: Marks, target: Target) -> float:
        """Return its probability with these words."""
        return float(self._labels.probabilities(self._ask(keep[None]))[0, target.index])


def _of_list(own: Explanation, target: Target, record: Record, game: _Game, case: Case) -> dict[str, float]:
    spans = [one.span for one in evidence(own, target)]
    listed = own.example.marks(spans, own.places)
    found = {"words": float(listed.sum()), "empty": float(not spans)}
    if target.label in record.rationales:
        gold = record.example.marks(record.rationales[target.label].places, own.places)
        found |= _agreement(listed, gold)
        found["first"] = float(bool(spans) and bool((own.example.marks(spans[:1], own.places) & gold).any()))
    whole = case.prediction.probabilities[target.index]
    found["comprehensiveness"] = whole - game.probability(~listed, target)
    found["sufficiency"] = whole - game.probability(listed, target)
    if spans:
        places = np.flatnonzero(listed)
        without = np.ones((len(places) + 1, len(listed)), dtype=bool)
        without[np.arange(1, len(places) + 1), places] = False
        logits = game.logits(without, target)
        found["against"] = float((logits[1:] > logits[0]).mean())
    return found


def _agreement(listed: Marks, gold: Marks) -> dict[str, float]:
    both = float((listed & gold).sum())
    precision, recall = (both / total if (total := float(one.sum())) else 0.0 for one in (listed, gold))
    return {"precision": precision, "recall": recall, "f1": 2 * both / (listed.sum() + gold.sum())}


def tables_of(found: dict[str, list[dict[str, Figures]]]) -> dict[str, Table]:
    """Tabulate every list, and what the sign changes."""
    rows = [
        [corpus, method, name, *(interval_of(_by_note(runs, f"{method}, {name}", one)) for one in FIGURES)]
        for corpus, runs in found.items()
        for method in METHODS
        for name in LISTS
    ]
    changes = [
        [corpus, method, *(_change(runs, method, one) for one in FIGURES)]
        for corpus, runs in found.items()
        for method in METHODS
    ]
    methods = [
        [corpus, f"{first} - {second}", *(_between(runs, first, second, one) for one in FIGURES)]
        for corpus, runs in found.items()
        for first, second in COMPARED
    ]
    return {
        "lists": Table(["corpus", "method", "list", *FIGURES], rows, names=3),
        "changes": Table(["corpus", "with a sign - without", *FIGURES], changes, names=2),
        "methods": Table(["corpus", "both with a sign", *FIGURES], methods, names=2),
    }


def _change(runs: Sequence[dict[str, Figures]], method: str, figure: str) -> str:
    without, with_sign = (_by_note(runs, f"{method}, {name}", figure) for name in LISTS)
    return difference(with_sign, without)


def _between(runs: Sequence[dict[str, Figures]], first: str, second: str, figure: str) -> str:
    one, other = (_by_note(runs, f"{method}, {LISTS[1]}", figure) for method in (first, second))
    return difference(one, other)


def _by_note(runs: Sequence[dict[str, Figures]], key: str, figure: str) -> list[dict[str, float]]:
    """Return a figure by note, for each seed; notes that have none are left out."""
    return [{note: own[key][figure] for note, own in run.items() if key in own and figure in own[key]} for run in runs]


if __name__ == "__main__":
    main()
