"""Evaluating methods on a data set: `wl.evaluate` and `whylight evaluate`.

Texts are worked on one after the other; tables are written every few seconds, so that a killed run can be taken up
where it stopped, and what was done can be read. The same question has the same name, and a folder holds one question.
"""

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.data.dataset import Dataset
from whylight.facade.bar import progress_bar
from whylight.facade.explain import Options, explain_case
from whylight.metrics._corpus import tune_boundary
from whylight.metrics._plausibility import pair, scaled
from whylight.run.one import only, open_bench, work
from whylight.run.plan import HUMAN, Plan, make_plan
from whylight.run.summary import Summary, summarise
from whylight.store import tables
from whylight.views.classifier import Classifier

WRITE_EVERY = 20.0
"""Seconds between two writes of the tables."""


@dataclass(slots=True)
class Rows:
    """What a run has so far."""

    explanations: list[tables.Row] = field(default_factory=list)
    scores: list[tables.Row] = field(default_factory=list)
    rows_run: int = 0

    @property
    def done(self) -> set[str]:
        """Examples that are finished."""
        return {row["example_id"] for row in self.explanations}


def evaluate(  # noqa: PLR0913  the public call: every argument but two is optional and named
    classifier: Classifier,
    data: Dataset,
    *,
    methods: Sequence[str],
    metrics: Sequence[str] | None = None,
    remover: str | None = None,
    metric_removers: Sequence[str] | None = None,
    options: Options | None = None,
    tune: Dataset | None = None,
    out: Path | str | None = None,
    progress: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Summary:
    """Measure methods on a data set; `random` and, where there are rationales, `human` stand beside them.

    Args:
        classifier: What `wl.load` returned.
        data: What `wl.dataset` returned.
        methods: Names of methods.
        metrics: Names of metrics; by default two of faithfulness and, where there are rationales, two of plausibility.
        remover: What "removed" means to methods and metrics alike; by default what suits the model.
        metric_removers: Measure under these instead: a metric favours the method that shares its remover, so that two
            of them say more than one.
        options: What else is asked of every method alike.
        tune: Texts on which decision boundaries are tuned, disjoint from `data`; for metrics that need one.
        out: Folder for the tables; a run that was stopped goes on from there.
        progress: Show a progress bar.
        settings: Settings of methods and metrics, e.g. `{"samples": 200}`.

    Returns:
        The table.
    """
    asked = replace(options or Options(), remover=remover)
    plan = make_plan(
        classifier,
        data,
        methods=methods,
        metrics=metrics,
        options=asked,
        removers=metric_removers,
        settings=settings or {},
        tuned=tune is not None,
    )
    if tune is not None:
        plan = replace(plan, boundaries=tuned_boundaries(classifier, tune, data, plan))
    described = f"{data.name}:{data.split}:{len(data)}:{'; '.join(data.notes)}"
    run, question = plan.identity(model=classifier.identity, data=described)
    folder = None if out is None else Path(out)
    rows = _resume(folder, run) if folder is not None else Rows()
    missing = [record for record in data if record.id not in rows.done]
    with progress_bar(len(missing), shown=progress) as step:
        written = time.monotonic()
        for record in missing:
            step("evaluating")
            done = work(classifier, record, plan, run=run)
            rows.explanations += done.explanations
            rows.scores += done.scores
            rows.rows_run += done.rows_run
            if folder is not None and time.monotonic() - written > WRITE_EVERY:
                _write(folder, run, question, rows)
                written = time.monotonic()
    if folder is not None:
        _write(folder, run, question, rows)
    return summarise(rows.explanations, rows.scores)


def tuned_boundaries(classifier: Classifier, tune: Dataset, data: Dataset, plan: Plan) -> dict[str, float]:
    """Return the boundary of each method at which micro F1 on the tuning texts is highest."""
    shared = {record.example.text for record in tune} & {record.example.text for record in data}
    if shared:
        raise InputError(f"{len(shared)} texts are in both the tuning and the evaluated data; they must be disjoint.")
    pairs: dict[str, list[tuple[Floats, Bools]]] = {spec.name: [] for spec, _ in plan.methods}
    for record in tune.with_rationales():
        bench = open_bench(classifier, record, plan)
        options = replace(plan.options, target=[target.index for target in bench.gold])
        for spec, settings in plan.methods:
            explanation = explain_case(bench.case, spec, settings, options)
            for target, rationale in bench.gold.items():
                pairs[spec.name].append(_scaled_pair(only(explanation, target), rationale))
    return {name: tune_boundary(own) for name, own in pairs.items()} | {HUMAN: 0.0}


def _scaled_pair(explanation: Explanation, rationale: Rationale) -> tuple[Floats, Bools]:
    scores, gold = pair(explanation, rationale, sign="positive")
    return scaled(scores, "sum"), gold


def _resume(folder: Path, run: str) -> Rows:
    """Read what an earlier, stopped run of the same question has done."""
    folder.mkdir(parents=True, exist_ok=True)
    known, explanations, scores = (
        tables.read(folder / f"{name}.parquet") for name in ("runs", "explanations", "scores")
    )
    if {row["run"] for row in (*known, *explanations, *scores)} - {run}:
        raise InputError(f"'{folder}' holds a run with other settings; name another folder.")
    whole = {row["example_id"] for row in scores}  # explanations are written first, so that scores say what is whole
    return Rows(
        [row for row in explanations if row["example_id"] in whole], scores, int(known[0]["rows_run"]) if known else 0
    )


def _write(folder: Path, run: str, question: str, rows: Rows) -> None:
    tables.write(folder / "explanations.parquet", rows.explanations, tables.EXPLANATIONS)
    tables.write(folder / "scores.parquet", rows.scores, tables.SCORES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    about = {"run": run, "asked": question, "rows_run": rows.rows_run, "peak_megabytes": peak}
    tables.write(folder / "runs.parquet", [about], tables.RUNS)
