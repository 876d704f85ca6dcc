"""A run of `whylight evaluate` as one web page that stands alone: no script, and nothing is fetched."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whylight.core.inputs import Noun, common_noun
from whylight.core.rationale import Rationale
from whylight.report.charts import Point, Scatter, duration_label, scatter
from whylight.report.renderers import styles_of
from whylight.report.run_curves import curve_panels
from whylight.report.run_examples import best_and_worst
from whylight.report.run_layers import MethodLayers, depths, layers_of, named_once
from whylight.report.run_rows import BASELINES, Run, choose_metric, data_of, higher_is_better, number, read_run, run_of
from whylight.report.run_tables import agreement, split_tables, table
from whylight.report.templating import environment
from whylight.run.compare import CLEAR, FEWEST_TEXTS
from whylight.run.corpus import corpus_summary, measures_of
from whylight.run.evaluation import Evaluation, target_of
from whylight.run.summary import Summary, metric_of

TITLE = "Which method to believe?"
COLUMNS = 6
"""Metrics beside each other; more of them make another table below, which paper and phones can show."""
Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RunReceipt:
    """How one method or metric was run, as names and values to show."""

    name: str
    about: str
    facts: Facts


def run_page(folder: Path, *, quality: str | None = None) -> str:
    """Return a complete HTML document about a run.

    Args:
        folder: What `whylight evaluate --out` wrote.
        quality: Metric of the chart and of the examples; by default the first that asks the model.

    Raises:
        InputError: The folder holds no run, or nothing is finished in it.
        SettingError: The run has no such metric.
    """
    return _page_of(read_run(folder), quality)


def evaluation_page(found: Evaluation) -> str:
    """Return the same document about a run that may have no folder.

    Raises:
        InputError: Nothing was explained.
    """
    return _page_of(run_of(found), None)


def _unfinished(run: Run, asked: int | None) -> int | None:
    """Return how many texts were asked for, if some of these are neither done nor have failed."""
    return asked if asked is not None and run.texts + run.failed < asked else None


def _page_of(run: Run, quality: str | None) -> str:
    metric = choose_metric(run, quality)
    whole = table(run.explanations, run.scores)
    best, worst = ([], []) if metric is None else best_and_worst(run, metric)
    corpus = corpus_summary(run.explanations, run.tuning, measures_of(run.asked))
    data, layers = data_of(run), layers_of(run.explanations)
    noun = common_noun(row["kind"] for row in run.explanations)
    variables = {
        "title": TITLE,
        "run": run,
        "noun": noun,
        "styles": styles_of(row["kind"] for row in run.explanations),
        "data": data,
        "facts": _facts(run, data.name, layers, noun),
        "unfinished": _unfinished(run, data.asked),
        "whole": whole,
        "splits": split_tables(run),
        "clear": CLEAR,
        "target": target_of(run.asked),
        "baselines": BASELINES,
        "quality": metric,
        "higher": metric is not None and higher_is_better(metric),
        "agreement": agreement(run),
        "corpus": corpus,
        "curves": curve_panels(run.curves),
        "chart": None if metric is None else _chart(whole.summary, metric, layers),
        "layered": next((name for own in layers.values() for name in own.values()), None),
        "depths": None if metric is None else depths(whole.summary, metric, layers),
        "examples": [("Best", best), ("Worst", worst)],
        "any_signed": any(run.methods.values()),
        "any_unsigned": not all(run.methods.values()),
        "method_receipts": _method_receipts(run, noun),
        "metric_receipts": [*_metric_receipts(run), *_corpus_receipts(run, corpus)],
        "duration": duration_label,
        "number": number,
        "few": FEWEST_TEXTS,
        "columns": COLUMNS,
    }
    return environment().get_template("run.html").render(variables)


def _facts(run: Run, data: str, layers: MethodLayers, noun: Noun) -> Facts:
    asked = run.asked
    return [
        ("model", str(asked.get("model", "unknown"))),
        ("data", data),
        (noun.many, f"{run.texts:,}"),
        ("methods", ", ".join(named_once([method for method in run.methods if method not in BASELINES], layers))),
        ("held against", ", ".join(method for method in run.methods if method in BASELINES)),
        ("removed means", ", ".join(asked.get("removers", ()))),
        ("unit", str(asked.get("unit", "unknown"))),
        ("faithfulness of", f"{target_of(asked)} labels" if run.asks_the_model else ""),
        ("score space of metrics", str(asked.get("score_space", "unknown"))),
        ("control", "features without letter or digit score 0" if asked.get("zero_non_alphanumeric") else ""),
    ]


def _chart(summary: Summary, metric: str, layers: MethodLayers) -> Scatter | None:
    """Lay out the methods, of their layers the last; what costs nothing (chance, people) is a line, not a point."""
    points, levels = [], []
    left_out = {name for own in layers.values() for name in list(own.values())[:-1]}
    for line in summary.lines:
        if line.method in left_out:
            continue
        cell = line.cells.get(metric)
        if cell is not None and line.method in BASELINES:
            levels.append((line.method, cell.mean))
        elif cell is not None:
            points.append(Point(line.method, line.seconds, cell.mean, cell.low, cell.high))
    return scatter(points, levels) if points else None


def _method_receipts(run: Run, noun: Noun) -> list[RunReceipt]:
    """Return how each method was run; rows are gone through once."""
    names = {"unit": "unit", "remover": "remover", "score space": "score_space"}
    settings: dict[str, dict[str, None]] = defaultdict(dict)
    used: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    notes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in run.explanations:
        settings[row["method"]][row["settings"]] = None
        for column in names.values():
            used[row["method"], column][str(row[column] or "none")] = None
        for note in row["notes"] or ():
            notes[row["method"]][note].add(row["example_id"])
    receipts = []
    for method in run.methods:
        facts = _settings_once((method, text) for text in settings[method])
        facts += [(name, ", ".join(used[method, column])) for name, column in names.items()]
        facts += [(f"note on {noun.count(len(of))}", note) for note, of in notes[method].items()]
        receipts.append(RunReceipt(method, "what people marked" if method == "human" else "", facts))
    return receipts


def _metric_receipts(run: Run) -> list[RunReceipt]:
    receipts = []
    for metric in run.metrics:
        rows = [row for row in run.scores if row["column"] == metric]
        facts = _settings_once(dict.fromkeys((row["method"], row["settings"]) for row in rows))
        for name, column in (("remover", "remover"), ("score space", "score_space")):
            used = dict.fromkeys(row[column] for row in rows if row[column] is not None)
            facts += [(name, ", ".join(used))] if used else []
        plausible = Rationale in metric_of(metric).consumes
        facts += [("labels", "gold ones that have a rationale" if plausible else f"{target_of(run.asked)} ones")]
        undefined = sum(row["value"] is None or not math.isfinite(row["value"]) for row in rows)
        facts += [("values", f"{len(rows):,}")]
        facts += [("of them undefined, left out", f"{undefined:,}")] if undefined else []
        receipts.append(RunReceipt(metric, metric_of(metric).summary, facts))
    return receipts


def _corpus_receipts(run: Run, corpus: Summary | None) -> list[RunReceipt]:
    """Say how the metrics over all words were run, from what the run stored."""
    measured = () if corpus is None else corpus.metrics
    return [
        RunReceipt(spec.name, spec.summary, [(name, _shown_setting(value)) for name, value in settings.items()])
        for spec, settings in measures_of(run.asked)
        if spec.name in measured
    ]


def _settings_once(stored: Iterable[tuple[str, str | None]]) -> Facts:
    """Return every setting once; one that differs between methods (a tuned boundary) with whose it is.

    Args:
        stored: Methods with the settings that they were run or measured with, each pair once.
    """
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for method, text in stored:
        for name, value in _parsed(text).items():
            found[name][_shown_setting(value)].append(method)
    return [(name, _one_or_each(values)) for name, values in found.items()]


def _shown_setting(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parsed(text: str | None) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = json.loads(text or "{}")
    return parsed


def _one_or_each(values: Mapping[str, Iterable[str]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({', '.join(methods)})" for value, methods in values.items())
