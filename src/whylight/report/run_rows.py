"""A run of `whylight evaluate`, read back from its folder: what was asked, and the rows that are whole."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, unknown
from whylight.run.evaluation import Evaluation
from whylight.run.summary import column_names, measure_of, metric_of
from whylight.store import runs
from whylight.store.runs import About, Stored
from whylight.store.tables import HUMAN, RANDOM, Row

BASELINES = (RANDOM, HUMAN)


@dataclass(frozen=True, slots=True)
class Run:
    """The tables of a run.

    Attributes:
        about: What the folder says of it: its name, what it took.
        asked: The question, as the run wrote it down.
        explanations: Rows of the texts that are finished; each pass over them reads them from the folder.
        scores: Every measured value.
        curves: The score along the ranking of each method, likewise.
        tuning: Explanations that boundaries were tuned on, likewise.
        methods: Names of methods and baselines, in the order of the run; those that speak for and against are True.
        texts: Number of texts that are finished.
        left_out: Methods and metrics that some of these have not got yet.
        failed: Number of texts that have failed, of which there is nothing.
    """

    about: About
    asked: dict[str, Any]
    explanations: Sequence[Row]
    scores: list[Row]
    curves: Sequence[Row]
    tuning: Sequence[Row]
    methods: dict[str, bool]
    texts: int
    left_out: tuple[str, ...] = ()
    failed: int = 0

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, in the order of the run; with their remover where there are several."""
        return list(dict.fromkeys(row["column"] for row in self.scores))

    @property
    def asks_the_model(self) -> bool:
        """Whether faithfulness is measured: such metrics ask the model in some score space, the others in none."""
        return any(row["score_space"] is not None for row in self.scores)


@dataclass(frozen=True, slots=True)
class Data:
    """The data set of a run: its name and split, how many texts were asked for, and what has to be known of it."""

    name: str
    asked: int | None
    notes: tuple[str, ...]


def read_run(folder: Path) -> Run:
    """Read the tables of a run.

    Raises:
        InputError: There is no run, or nothing in it.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}'; give the one that `whylight evaluate --out` wrote.")
    stored = runs.read(folder)
    if stored.about is None:
        raise InputError(f"'{folder}' holds no run: there is no {runs.MANIFEST} in it.")
    if not stored.explanations:
        raise InputError(f"the run in '{folder}' has nothing that is finished yet; let `whylight evaluate` go on.")
    if stored.about.asked is None:
        raise InputError(f"'{folder}' does not say what was asked; it is not of `whylight evaluate`.")
    return _run_from(stored.about, stored.about.asked, stored)


def run_of(found: Evaluation) -> Run:
    """Return what was evaluated as a run.

    Raises:
        InputError: There is nothing in it.
    """
    if not found.explanations:
        raise InputError("the evaluation explains nothing; there is nothing to show of it.")
    name = str(found.explanations[0]["run"])
    about = About(name, None, found.rows_run, found.seconds, found.peak_megabytes)
    return _run_from(about, dict(found.asked), found)


def _run_from(about: About, asked: dict[str, Any], found: Stored | Evaluation) -> Run:
    methods: dict[str, bool] = {}
    texts = set()
    for row in found.explanations:
        methods[row["method"]] = methods.get(row["method"], False) or row["signed"]
        texts.add(row["example_id"])
    tables = found.explanations, _with_columns(found.scores), found.curves, found.tuning
    left_out = found.left_out if isinstance(found, Stored) else ()
    return Run(about, asked, *tables, methods, len(texts), left_out, found.failed)


def _with_columns(scores: Iterable[Row]) -> list[Row]:
    """Add the column that each row belongs to."""
    known = list(scores)
    names = column_names(dict.fromkeys(map(measure_of, known)))
    return [{**row, "column": names[measure_of(row)]} for row in known]


def data_of(run: Run) -> Data:
    """Return what the run says of its data."""
    said = run.asked.get("data") or {}
    return Data(
        f"{said.get('name', 'unknown')}, {said.get('split', '')}", said.get("texts"), tuple(said.get("notes", ()))
    )


def choose_metric(run: Run, name: str | None) -> str | None:
    """Return the metric that charts and examples go by: the named one, or the first that asks the model.

    A run with metrics over all words alone has none.
    """
    if name is None:
        # Faithfulness metrics ask the model in some score space; the others have none.
        asking = [row["column"] for row in run.scores if row["score_space"] is not None]
        return next(iter([*asking, *run.metrics]), None)
    if name not in run.metrics:
        raise unknown("metric of this run", name, run.metrics)
    return name


def higher_is_better(metric: str) -> bool:
    """Return the direction of a metric."""
    return bool(metric_of(metric).facts["higher_is_better"])


def number(value: float, form: str = ".3f") -> str:
    """Show a number with a true minus sign, and what rounds to 0 without one."""
    text = format(value, form)
    return text.replace("-", "\u2212") if any(digit in text for digit in "123456789") else text.lstrip("-")


def text_values(scores: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Return the mean over labels by method and text, where it is defined."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in scores:
        if row["value"] is not None and math.isfinite(row["value"]):
            values[row["method"]][row["example_id"]].append(row["value"])
    return {method: {key: sum(own) / len(own) for key, own in by.items()} for method, by in values.items()}
