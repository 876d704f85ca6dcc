"""How large the scores of occlusion are under each remover, and how much of a text they mark.

    size      mean over words of |a_i| / max_j |a_j|
    log-odds  mean over words of |a_i|, in log-odds (natural logarithm)
    coverage  share of words with a_i / max_j a_j >= t; none where no score is above 0

With rationales, t is the one of 0.05, 0.10, ..., 0.95 whose words have the highest mean intersection over union with
what people marked, remover by remover and on the same texts, as published; without, t is one half. Of the rationales,
those of predicted labels count.
Reference: Pham et al. 2022, tables A1 and A2. Cost: what occlusion costs, which other analyses share.
"""

from collections.abc import Mapping

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.data.dataset import Record
from whylight.explaining.case import Case
from whylight.metrics._plausibility import non_negative, scaled
from whylight.run.bench import gold_index
from whylight.study.figures import FigureTable, Place, finite_mean
from whylight.study.subject import Subject

SIZE, RAW, COVERAGE, OVERLAP = "size", "log-odds", "coverage", "overlap"
PEOPLE = "marked by people"
HALF = 0.5
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))


def attribution_size(subject: Subject) -> FigureTable:
    """Measure how large scores are, and how many words they mark, by remover."""

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        found: dict[Place, list[float]] = {}
        marks = _gold_words(subject, record, case)
        for name in subject.removals:
            explanation = subject.occlusion(case, name)
            for target in explanation.targets:
                for place, value in _values(name, explanation.row(target), marks.get(target.index)).items():
                    found.setdefault(place, []).append(value)
        for own in marks.values():
            found.setdefault((PEOPLE, COVERAGE), []).append(float(own.mean()))
        return {place: float(np.mean(values)) for place, values in found.items()}

    return _at_one_threshold(subject, subject.figures("sizes of scores", look))


def _gold_words(subject: Subject, record: Record, case: Case) -> dict[int, Bools]:
    """Return the words that people marked, by the column of the predicted label that they are evidence for."""
    gold = {gold_index(subject.classifier, name): own for name, own in record.rationales.items()}
    encoded = case.encoded
    return {
        target.index: encoded.example.marks(gold[target.index].places, encoded.places)
        for target in case.targets("predicted")[0]
        if target.index in gold
    }


def _values(remover: str, row: Floats, marks: Bools | None) -> dict[Place, float]:
    sizes, shares = scaled(np.abs(row), "max"), scaled(non_negative(row, "positive"), "max")
    found = {(remover, SIZE): float(sizes.mean()), (remover, RAW): float(np.abs(row).mean())}
    for threshold in THRESHOLDS:
        chosen = shares >= threshold
        found[remover, f"{COVERAGE} {threshold}"] = float(chosen.mean())
        if marks is not None:
            union = (chosen | marks).sum()
            found[remover, f"{OVERLAP} {threshold}"] = float((chosen & marks).sum() / union) if union else 1.0
    return found


def _at_one_threshold(subject: Subject, found: FigureTable) -> FigureTable:
    """Keep the coverage at the threshold that fits best what people marked, or at one half."""
    values = {place: own for place, own in found.values.items() if place[1] in (SIZE, RAW, COVERAGE)}
    notes = []
    for name in subject.removals:
        overlaps = {
            threshold: finite_mean(own)
            for threshold in THRESHOLDS
            if (own := found.values.get((name, f"{OVERLAP} {threshold}"))) is not None
        }
        best = max(overlaps, key=overlaps.__getitem__) if overlaps else HALF
        values[name, COVERAGE] = found.values[name, f"{COVERAGE} {best}"]
        why = "overlaps most with what people marked here" if overlaps else "is half of the largest"
        notes.append(f"coverage under {name}: scores from {best:g} of the largest, which {why}")
    return FigureTable(values, found.texts, tuple(notes))
