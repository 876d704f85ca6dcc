"""The texts on which methods do best and worst, with the highlights of every method."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from whylight.report import rows as drawn
from whylight.report.run_rows import BASELINES, Run, higher_is_better, number, text_values
from whylight.report.stacks import pictures, stacked
from whylight.run.evaluation import target_of
from whylight.store.explanations import explanation_of
from whylight.store.tables import HUMAN, Row

SHOWN = 3
"""How many texts are shown of the best, and of the worst."""
LABELS = 3
"""How many labels of a text are shown; a coded note can have dozens."""
BRIEF = 60
"""Number of words up to which the rows of methods stand below each other, so that their words line up."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """One method's answer: its highlighted input, and the value that it reaches.

    Attributes:
        method: Name of the method.
        about: The label explained, where it is another than the one asked about.
        value: The metric's value as shown, or "" where it has none.
        row: What it says.
    """

    method: str
    about: str
    value: str
    row: drawn.AnswerRow


@dataclass(frozen=True, slots=True)
class AskedLabel:
    """One label of a text, whether the model was right about it, and what every method says of it at each layer."""

    label: str
    state: str
    highlights: tuple[Highlight, ...]
    pictures: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A text of the report.

    Attributes:
        name: Its id in the data.
        mean: The metric's mean over methods.
        brief: Whether it is short enough for rows below each other.
        questions: The labels shown.
        more: How many labels are left out.
    """

    name: str
    mean: float
    brief: bool
    questions: tuple[AskedLabel, ...]
    more: int


def best_and_worst(run: Run, metric: str) -> tuple[list[Shown], list[Shown]]:
    """Return the texts on which methods, baselines aside, do best and worst by a metric; no text is in both."""
    values = text_values(row for row in run.scores if row["column"] == metric)
    methods = [own for method, own in values.items() if method not in BASELINES] or list(values.values())
    shared = set.intersection(*(set(own) for own in methods)) if methods else set()  # only these compare fairly
    means = {key: float(np.mean([own[key] for own in methods])) for key in sorted(shared)}
    ranked = sorted(means, key=lambda key: means[key], reverse=higher_is_better(metric))
    count = min(SHOWN, (len(ranked) + 1) // 2)
    best, rest = ranked[:count], ranked[count:]
    worst = list(reversed(rest))[:SHOWN]
    rows: dict[str, list[Row]] = {key: [] for key in (*best, *worst)}
    for row in run.explanations:
        if row["example_id"] in rows:
            rows[row["example_id"]].append(row)
    scores = [row for row in run.scores if row["column"] == metric and row["example_id"] in rows]
    gold = target_of(run.asked) == "gold"
    first, second = (
        [_shown_text(rows[key], scores, key, means[key], gold=gold) for key in keys] for keys in (best, worst)
    )
    return first, second


def _shown_text(rows: Sequence[Row], scores: Iterable[Row], key: str, mean: float, *, gold: bool) -> Shown:
    values = {
        (row["target"], row["method"]): row["value"]
        for row in scores
        if row["example_id"] == key and row["value"] is not None
    }
    measured = [t for t in dict.fromkeys(row["target"] for row in rows) if any(t == own for own, _ in values)]
    features = len(rows[0]["scores"])
    return Shown(
        name=key,
        mean=mean,
        brief=features <= BRIEF,
        questions=tuple(_question(rows, target, values, gold=gold) for target in measured[:LABELS]),
        more=max(0, len(measured) - LABELS),
    )


def _question(rows: Sequence[Row], target: int, values: dict[tuple[int, str], float], *, gold: bool) -> AskedLabel:
    own = [row for row in rows if row["target"] == target]
    marked = [row for row in rows if row["method"] == HUMAN]
    # What people marked for another label stands here only if it has no place of its own: the model was wrong.
    elsewhere = [row for row in marked if not any(row["target"] == measured for measured, _ in values)]
    human = [row for row in marked if row["target"] == target] or elsewhere[:LABELS]
    said = [explanation_of(row) for row in own]
    layers = {one.provenance.method for one in stacked(said)}
    ordered = [*human, *(row for row in own if row["method"] != HUMAN and row["method"] not in layers)]
    return AskedLabel(
        own[0]["label"],
        _state(own, gold=gold),
        tuple(_highlight(row, values.get((target, row["method"])), target=target) for row in ordered),
        pictures(said, said[0].targets[0]),
    )


def _state(rows: Sequence[Row], *, gold: bool) -> str:
    """Say how the model did, "" where nobody knows; labels explained are predicted or true.

    Args:
        rows: What is explained of one label.
        gold: Whether all labels that are explained are true ones.
    """
    if rows[0]["correct"] is None:
        return ""
    if rows[0]["correct"]:
        return "correct prediction"
    return "missed by the model" if gold or any(row["method"] == HUMAN for row in rows) else "wrong prediction"


def _highlight(row: Row, value: float | None, *, target: int) -> Highlight:
    one = explanation_of(row)
    other = row["target"] != target
    shown = "" if value is None or other or not math.isfinite(value) else number(value)
    return Highlight(row["method"], row["label"] if other else "", shown, drawn.answer_row(one, one.targets[0]))
