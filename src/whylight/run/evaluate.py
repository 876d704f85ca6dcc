"""Evaluating methods on a data set: `wl.evaluate` and `whylight evaluate`.

Texts are worked on one after the other, in shards (`run/shards.py`); what they gave is written every few seconds, so
that a killed run can be taken up where it stopped, and what was done can be read. `whylight run` does the same in
several processes (`run/driving.py`). A folder holds one content of data and model and one choice of
options. Methods, metrics and metric removers are columns: a call adds those that a folder lacks, and reads the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.identity import Identity, digest, folder_digest
from whylight.core.inputs import JsonValue
from whylight.core.labels import GENERATED
from whylight.core.limits import limited
from whylight.data.dataset import Dataset, named, require_dataset
from whylight.explaining.bar import progress_bar
from whylight.explaining.options import Options
from whylight.explaining.variants import each_name
from whylight.run.bench import gold_index
from whylight.run.book import Book, opened
from whylight.run.control import Control
from whylight.run.corpus import boundaries_of
from whylight.run.evaluation import Evaluation
from whylight.run.plan import Plan, make_plan
from whylight.run.shards import fill, shards_of
from whylight.views.classifier import Classifier, require_classifier

TARGETS = ("predicted", "gold")
"""The labels whose faithfulness can be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a classifier and a data set: the arguments of `evaluate`, and whether `random` stands beside."""

    methods: Sequence[str]
    metrics: Sequence[str] | None = None
    remover: str | None = None
    metric_removers: Sequence[str] | None = None
    options: Options = field(default_factory=Options)
    tune: Dataset | None = None
    zero_non_alphanumeric: bool = False
    control: Control | None = None
    metric_model: Classifier | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    baseline: bool = True


def evaluate(  # noqa: PLR0913  the public call: every argument but two is optional and named
    classifier: Classifier,
    data: Dataset,
    *,
    methods: str | Sequence[str],
    metrics: str | Sequence[str] | None = None,
    remover: str | None = None,
    metric_removers: str | Sequence[str] | None = None,
    options: Options | None = None,
    tune: Dataset | None = None,
    zero_non_alphanumeric: bool = False,
    control: str | None = None,
    metric_model: Classifier | None = None,
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
        methods: Names of methods; `"lime[samples=200]"` is one with settings of its own, and a row of its own.
        metrics: Names of metrics; by default two of faithfulness and, where there are rationales, two of plausibility.
            With an empty list texts are explained and nothing is measured.
        remover: What "removed" means to methods and metrics alike; by default what suits the model.
        metric_removers: Measure under these instead: a metric favours the method that shares its remover, so that two
            of them say more than one.
        options: What else is asked of every method alike, as `wl.Options`. Its target says whose faithfulness is
            measured: the `"predicted"` labels, or the `"gold"` ones; plausibility is that of the gold ones in any case.
        tune: Texts on which decision boundaries are tuned, disjoint from `data`; for metrics that need one.
        zero_non_alphanumeric: Set the scores of features without a letter or digit to 0 before they are measured.
        control: `"best-of=10"` measures every method once more as the best of ten maps: its own and perturbations of it
            (`"best-of=10,tau=0.9"`: how alike they are), for comparison with a method that picks its map by a metric.
        metric_model: Measure faithfulness on this classifier instead: a copy of the explained one that was fine-tuned
            on texts with gaps (`random_masking`) knows what it is asked about. Its labels must be the same.
        out: Folder for the tables; a run that was stopped resumes from there, and methods, metrics or metric removers
            that it lacks are added to it: nothing that is there is computed again. A callable then needs its
            `identity`. Rows are not kept in memory, but read from the folder whenever they are asked for.
        progress: Show a progress bar, and announce what takes minutes.
        budget: Seconds; a run that takes longer, by an estimate from its first batches, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`; a run that takes more is refused.
        settings: Settings of methods and metrics, e.g. `{"samples": 200, "lime.samples": 500}`, the second for lime.

    Returns:
        The rows and their tables: `.summary`, `.corpus`, `.subset(correct=False)`, `.records()`.

    Example:
        >>> import whylight as wl
        >>> data = wl.dataset("reviews.jsonl").sample(2, seed=0)
        >>> found = wl.evaluate(wl.load(), data, methods=["occlusion"], metrics=["comprehensiveness"], progress=False)
        >>> [line.method for line in found.summary.lines]
        ['occlusion', 'random', 'human']
    """
    require_classifier(classifier)
    require_dataset(data)
    question = Question(
        methods=each_name(methods),
        metrics=None if metrics is None else each_name(metrics),
        remover=remover,
        metric_removers=None if metric_removers is None else each_name(metric_removers),
        options=options or Options(),
        tune=tune,
        zero_non_alphanumeric=zero_non_alphanumeric,
        control=None if control is None else Control.parse(control),
        metric_model=metric_model,
        settings=settings or {},
    )
    with limited(budget=budget, max_memory=max_memory):
        return answer(classifier, data, question, out=None if out is None else Path(out), progress=progress)


def answer(
    classifier: Classifier, data: Dataset, question: Question, *, out: Path | None, progress: bool
) -> Evaluation:
    """Answer a question on one classifier."""
    tune = None if question.tune is None else _disjoint(question.tune.with_rationales(), data)
    plan = plan_of(classifier, data, question, tune=tune)
    identity = identity_of(classifier, plan, data.described(), tune, kept=out is not None)
    with opened(out, identity, plan.columns, data, tune) as book:
        if tune is not None:
            _fill(book, classifier, tune, replace(plan, metrics=()), progress=progress, tuning=True)
            plan = replace(plan, boundaries=boundaries_of(book.tuning, plan.scalings))
        _fill(book, classifier, data, plan, progress=progress)
    return book.evaluation()


def plan_of(classifier: Classifier, data: Dataset, question: Question, *, tune: Dataset | None = None) -> Plan:
    """Say what is to be done, after everything is checked that can be before the work.

    Args:
        classifier: What is explained.
        data: The data, or the first of it.
        question: What is asked.
        tune: The texts on which boundaries are tuned.
    """
    options = _options(question, classifier)
    if options.target == "gold":
        _check_labelled(data, *([] if tune is None else [tune]))
    for name in dict.fromkeys(label for one in (data, tune) if one for record in one for label in record.labels):
        if not classifier.labels.open:
            gold_index(classifier, name)  # before the work, and not when the first such text comes
    return make_plan(
        classifier,
        data,
        methods=question.methods,
        metrics=question.metrics,
        options=options,
        removers=question.metric_removers,
        settings=question.settings,
        tuned=tune is not None,
        zero_non_alphanumeric=question.zero_non_alphanumeric,
        control=question.control,
        metric_model=question.metric_model,
        baseline=question.baseline,
    )


def _fill(
    book: Book, classifier: Classifier, data: Dataset, plan: Plan, *, progress: bool, tuning: bool = False
) -> None:
    """Work on what a book lacks."""
    shards = list(shards_of(data, most=book.shard, tuning=tuning))
    blocks = [
        (shard, own)
        for shard in shards
        if (missing := book.missing(shard.numbers, plan.columns.cells, tuning=tuning))
        for own in shard.blocks(plan)
        if any(number in missing for number in own)
    ]
    work = [("", sum(shard[number].example.size for number in own)) for shard, own in blocks]
    with progress_bar(len(blocks), shown=progress, plan=work) as step:
        for shard in shards:
            fill(book, classifier, shard, plan, begin=lambda _: step("tuning" if tuning else "evaluating"))


def _options(question: Question, classifier: Classifier) -> Options:
    """Put together what is asked of every method; what an evaluation cannot honour is refused."""
    options = question.options
    if options.target == GENERATED and classifier.labels.open:
        options = replace(options, target="predicted")
    if options.target not in TARGETS:
        raise SettingError(
            "an evaluation measures the faithfulness of the predicted labels, or of the gold ones (target 'gold'), and "
            f"the plausibility of the gold ones; leave out the target '{options.target}'."
        )
    both = {question.remover, options.remover} - {None}
    if len(both) > 1:
        raise SettingError(
            f"the remover is '{question.remover}' by itself and '{options.remover}' in the options; give one of them."
        )
    return replace(options, remover=next(iter(both), None))


def _check_labelled(*several: Dataset) -> None:
    """Refuse texts without a gold label: there is nothing of them to measure."""
    for data in several:
        without = [record for record in data if not record.labels]
        if without and len(without) == len(data):
            raise InputError(
                f"'{data.name}' ({data.split}) has no gold labels to measure; leave out the target 'gold', and the "
                "predicted labels are measured."
            )
        if without:
            raise InputError(
                f"{len(without)} of {data.noun.count(len(data))} of '{data.name}' ({data.split}) have no gold label to "
                f"measure: {named(without)}; leave them out, in Python data.with_labels(), or leave out the target "
                "'gold', and the predicted labels are measured."
            )


def identity_of(
    classifier: Classifier,
    plan: Plan,
    data: Mapping[str, JsonValue],
    tune: Dataset | None = None,
    *,
    kept: bool = True,
) -> Identity:
    """Say whose results these will be; only where they are kept must the model be known by more than its name."""
    contents: dict[str, str] = {}
    given: dict[str, str] = {}
    if kept:
        known = classifier.contents()
        if known is None:
            raise ModelError(
                "a folder must know whose results it holds, and a callable has no weights to be known by: name it, "
                "e.g. wl.load(function, labels=[...], identity='my-rule-v1'), and rename it whenever it changes."
            )
        contents = {**known, **_metric_model_contents(plan)}
        given = {**_given_contents(plan), **plan.contents}
        given |= {} if tune is None else {"tuning data": tune.fingerprint()}
    names: dict[str, JsonValue] = {
        "model": classifier.identity,
        "data": dict(data),
        "tune": tune.described() if tune else None,
    }
    return Identity(contents=contents, settings=plan.common, names=names, columns=plan.named, given=given)


def _metric_model_contents(plan: Plan) -> dict[str, str]:
    """Return a hash of the classifier that metrics ask, if it is another than the explained one."""
    if plan.metric_model is None:
        return {}
    known = plan.metric_model.contents()
    if known is None:
        raise ModelError("a folder must know what was measured, and the metric model is a callable: give its identity.")
    return {"metric model": digest([dict(known)])}


def _given_contents(plan: Plan) -> dict[str, str]:
    """Return hashes of what methods were given, such as a fitted network: its path does not say what is in it."""
    named = [(one, setting) for one in plan.methods for setting in one.spec.facts["given"]]
    folders = {f"{one.name}.{setting}": Path(str(one.settings[setting])) for one, setting in named}
    return {name: folder_digest(folder) for name, folder in folders.items() if folder.is_dir()}


def _disjoint(tune: Dataset, data: Dataset) -> Dataset:
    if shared := tune.shared_with(data, pairs=False):
        raise InputError(
            f"{tune.noun.count(len(shared))} are in both the tuning and the evaluated data: {named(shared)}; they must "
            "be disjoint: leave them out with --drop-duplicates, in Python tune.without(data, pairs=False)."
        )
    if not len(tune):
        raise InputError(f"no {tune.noun.one} of '{tune.name}' ({tune.split}) has a rationale to tune a boundary on.")
    return tune
