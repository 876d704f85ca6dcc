"""Evaluating methods on a data set: `wl.evaluate` and `whylight evaluate`.

Texts are worked on one after the other; tables are written every few seconds, so that a killed run can be taken up
where it stopped, and what was done can be read. The same question has the same name, and a folder holds one question.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.limits import limited
from whylight.data.dataset import Dataset, Record, named
from whylight.facade.bar import progress_bar
from whylight.facade.explain import Options
from whylight.run.corpus import boundaries_of
from whylight.run.evaluation import Evaluation
from whylight.run.memory import peak_megabytes
from whylight.run.one import Done, work
from whylight.run.plan import make_plan
from whylight.store import tables
from whylight.views.classifier import Classifier

WRITE_EVERY = 20.0
"""Seconds between two writes of the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a classifier and a data set; the arguments of `evaluate`."""

    methods: Sequence[str]
    metrics: Sequence[str] | None = None
    remover: str | None = None
    metric_removers: Sequence[str] | None = None
    options: Options = field(default_factory=Options)
    tune: Dataset | None = None
    zero_non_alphanumeric: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


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
    zero_non_alphanumeric: bool = False,
    out: Path | str | None = None,
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Evaluation:
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
        zero_non_alphanumeric: Set the scores of features without a letter or digit to 0 before they are measured.
        out: Folder for the tables; a run that was stopped goes on from there.
        progress: Show a progress bar, and announce what takes minutes.
        budget: Seconds; a run that takes longer, by an estimate from its first batches, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`; a run that takes more is refused.
        settings: Settings of methods and metrics, e.g. `{"samples": 200, "lime.samples": 500}`, the second for lime.

    Returns:
        The rows and their tables: `.summary`, `.corpus`, `.subset(correct=False)`, `.records()`.
    """
    question = Question(
        methods=methods,
        metrics=metrics,
        remover=remover,
        metric_removers=metric_removers,
        options=options or Options(),
        tune=tune,
        zero_non_alphanumeric=zero_non_alphanumeric,
        settings=settings or {},
    )
    with limited(budget=budget, max_memory=max_memory):
        return answer(classifier, data, question, out=None if out is None else Path(out), progress=progress)


def answer(
    classifier: Classifier, data: Dataset, question: Question, *, out: Path | None, progress: bool
) -> Evaluation:
    """Answer a question on one classifier."""
    tune = None if question.tune is None else _disjoint(question.tune.with_rationales(), data)
    plan = make_plan(
        classifier,
        data,
        methods=question.methods,
        metrics=question.metrics,
        options=replace(question.options, remover=question.remover),
        removers=question.metric_removers,
        settings=question.settings,
        tuned=tune is not None,
        zero_non_alphanumeric=question.zero_non_alphanumeric,
    )
    book = _Book.open(out, *plan.identity(model=classifier.identity, data=data, tune=tune))
    if tune is not None:
        missing = _missing(tune, book.tuning)
        bare = replace(plan, metrics=())
        with progress_bar(len(missing), shown=progress, plan=_sizes(missing)) as step:
            for record in missing:
                step("tuning")
                book.add_tuning(work(classifier, record, bare, run=book.run))
        plan = replace(plan, boundaries=boundaries_of(book.tuning))
    missing = _missing(data, book.explanations)
    with progress_bar(len(missing), shown=progress, plan=_sizes(missing)) as step:
        for record in missing:
            step("evaluating")
            book.add(work(classifier, record, plan, run=book.run))
    book.write()
    return book.evaluation()


def _sizes(records: Sequence[Record]) -> list[tuple[str, int]]:
    """Return the plan of a progress bar: all texts are one kind of work, and longer ones are more of it."""
    return [("", sum(map(len, record.example.parts))) for record in records]


def _disjoint(tune: Dataset, data: Dataset) -> Dataset:
    if shared := tune.shared_with(data):
        raise InputError(
            f"{len(shared)} texts are in both the tuning and the evaluated data: {named(shared)}; they must be "
            "disjoint: leave them out with --drop-duplicates, in Python tune.without(data)."
        )
    if not len(tune):
        raise InputError(f"no text of '{tune.name}' ({tune.split}) has a rationale to tune a boundary on.")
    return tune


def _missing(data: Iterable[Record], rows: Sequence[tables.Row]) -> list[Record]:
    done = {row["example_id"] for row in rows}
    return [record for record in data if record.id not in done]


@dataclass(slots=True)
class _Book:
    """The tables of a run, in memory and, where there is a folder, written every few seconds."""

    folder: Path | None
    run: str
    asked: str
    explanations: list[tables.Row] = field(default_factory=list)
    scores: list[tables.Row] = field(default_factory=list)
    curves: list[tables.Row] = field(default_factory=list)
    tuning: list[tables.Row] = field(default_factory=list)
    rows_run: int = 0
    seconds: float = 0.0
    written: float = field(default_factory=time.monotonic)

    @staticmethod
    def open(folder: Path | None, run: str, asked: str) -> "_Book":
        """Start a run, or read what an earlier, stopped run of the same question has done."""
        book = _Book(folder, run, asked)
        if folder is None:
            return book
        folder.mkdir(parents=True, exist_ok=True)
        names = ("runs", "explanations", "scores", "curves", "tuning")
        known, explanations, scores, curves, tuning = (tables.read(folder / f"{name}.parquet") for name in names)
        if {row["run"] for row in (*known, *explanations, *scores, *tuning)} - {run}:
            raise InputError(f"'{folder}' holds a run with other settings; name another folder.")
        whole = {row["example_id"] for row in scores}  # scores are written last, so that they say what is whole
        book.explanations = [row for row in explanations if row["example_id"] in whole]
        book.curves = [row for row in curves if row["example_id"] in whole]
        book.scores, book.tuning = scores, tuning
        if known:
            book.rows_run, book.seconds = int(known[0]["rows_run"]), float(known[0]["seconds"])
        return book

    def add(self, done: Done) -> None:
        """Keep what one evaluated text gave."""
        self.explanations += done.explanations
        self.scores += done.scores
        self.curves += done.curves
        self._count(done)

    def add_tuning(self, done: Done) -> None:
        """Keep what one tuning text gave."""
        self.tuning += done.explanations
        self._count(done)

    def write(self) -> None:
        """Write the tables, scores last: a text that has scores has everything."""
        now = time.monotonic()
        self.seconds, self.written = self.seconds + now - self.written, now
        if self.folder is None:
            return
        about = {"run": self.run, "asked": self.asked, "rows_run": self.rows_run, "seconds": self.seconds}
        about["peak_megabytes"] = peak_megabytes()
        tables.write(self.folder / "tuning.parquet", self.tuning, tables.EXPLANATIONS)
        tables.write(self.folder / "explanations.parquet", self.explanations, tables.EXPLANATIONS)
        tables.write(self.folder / "curves.parquet", self.curves, tables.CURVES)
        tables.write(self.folder / "runs.parquet", [about], tables.RUNS)
        tables.write(self.folder / "scores.parquet", self.scores, tables.SCORES)

    def evaluation(self) -> Evaluation:
        """Return the rows as a result."""
        rows = (self.explanations, self.scores, self.curves, self.tuning)
        return Evaluation(*rows, rows_run=self.rows_run, seconds=self.seconds, peak_megabytes=peak_megabytes())

    def _count(self, done: Done) -> None:
        self.rows_run += done.rows_run
        if time.monotonic() - self.written > WRITE_EVERY:
            self.write()
