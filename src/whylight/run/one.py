"""The work on one record: explain it by every method, and measure each explanation.

Faithfulness metrics look at the predicted labels, or at all gold ones (`target="gold"`, Brinner and Zarriess 2023);
plausibility metrics at the gold labels that have a rationale. The `human` row is the rationale itself, taken as an
explanation.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from whylight.core.errors import ModelError
from whylight.core.explanation import Explanation, Provenance
from whylight.core.inputs import Settings
from whylight.data.dataset import Record
from whylight.explaining.receipts import explain_case, explain_cases
from whylight.explaining.variants import Variant
from whylight.metrics.alone import non_alphanumeric
from whylight.run.bench import Bench, Task, open_bench
from whylight.run.games import only
from whylight.run.measuring import Done, measure
from whylight.run.plan import Plan
from whylight.store.explanations import explanation_of
from whylight.store.tables import HUMAN, RANDOM
from whylight.views.classifier import Classifier


def work(classifier: Classifier, record: Record, plan: Plan, *, run: str) -> Done:
    """Explain and measure one record."""
    return next(work_together(classifier, [Task(record, plan.columns.cells)], plan, run=run))


def work_together(classifier: Classifier, tasks: Sequence[Task], plan: Plan, *, run: str) -> Iterator[Done]:
    """Explain some records, at once by methods that take several, and measure one after the other."""
    benches = [open_bench(classifier, task.record, plan) for task in tasks]
    explained = _explanations(tasks, benches, plan)
    for task, bench, own in zip(tasks, benches, explained, strict=True):
        yield measure(task, bench, own, plan, run)


def _explanations(tasks: Sequence[Task], benches: Sequence[Bench], plan: Plan) -> list[list[Explanation]]:
    """Explain every record by every method that it lacks, and by what people marked; one explanation a target.

    What is known and lacks a value is taken from its rows.
    """
    found = [_recalled(task, bench, plan) for task, bench in zip(tasks, benches, strict=True)]
    for variant in plan.methods:
        lacking = [number for number, task in enumerate(tasks) if task.lacks(variant.name)]
        chosen = range(len(tasks)) if lacking and variant.spec.together else lacking
        explained = _by_one_method([benches[number] for number in chosen], variant, plan) if chosen else []
        for number, explanation in zip(chosen, explained, strict=True):
            if number in lacking:
                named = _named(explanation, variant.name)
                named = _without_signs(named) if plan.zero_non_alphanumeric else named
                found[number] += [only(named, target) for target in named.targets]
    for own, task, bench in zip(found, tasks, benches, strict=True):
        if bench.gold and task.lacks(HUMAN):
            human = _human(bench, plan)
            own += [only(human, target) for target in human.targets]
    return found


def _recalled(task: Task, bench: Bench, plan: Plan) -> list[Explanation]:
    """Return the explanations that are known, and lack a value; of the labels that are explained today."""
    methods, targets = {one.name for one in plan.methods}, {target.index for target in bench.targets}
    there = {row["target"] for row in task.known if row["method"] in methods}
    if there and there != targets:
        raise ModelError(
            f"the model does not predict the labels of '{task.record.id}' that it did when the folder was made, and "
            "nothing can be added to that; name another folder."
        )
    wanted = {method for method, _ in task.lacking if method in methods or method == HUMAN}
    known = [explanation_of(row) for row in task.known if row["method"] in wanted]
    case = bench.case  # which has all that a row has of the input, and what rows leave out
    return [replace(one, example=case.encoded.example, prediction=case.prediction) for one in known]


def _by_one_method(benches: Sequence[Bench], variant: Variant, plan: Plan) -> list[Explanation]:
    shared = plan.options.under(variant.remover)
    options = [replace(shared, target=[one.index for one in bench.targets]) for bench in benches]
    if variant.spec.name != RANDOM:
        return explain_cases([bench.case for bench in benches], variant.spec, variant.settings, options)
    return [
        explain_case(bench.case, variant.spec, _own_draw(variant.settings, bench), own)
        for bench, own in zip(benches, options, strict=True)
    ]


def _named(explanation: Explanation, name: str) -> Explanation:
    """Call an explanation by what tables call its method: layers are rows of their own."""
    return replace(explanation, provenance=replace(explanation.provenance, method=name))


def _without_signs(explanation: Explanation) -> Explanation:
    """Give no score to features without a letter or digit: the control of Edin et al. 2024, table 3."""
    signs = non_alphanumeric(explanation)
    receipt = explanation.provenance
    noted = replace(receipt, notes=(*receipt.notes, "scores of features without a letter or digit are set to 0"))
    return replace(explanation, scores=np.where(signs, 0.0, explanation.scores), provenance=noted)


def _own_draw(settings: Settings, bench: Bench) -> Settings:
    """Give random scores a seed of the text's own, so that texts of one length do not share one ranking."""
    return {**settings, "seed": int(str(settings["seed"])) + zlib.crc32(bench.case.encoded.example.key.encode())}


def _human(bench: Bench, plan: Plan) -> Explanation:
    """Take the rationale as an explanation: 1 for a marked feature, 0 for another."""
    encoded, targets = bench.case.encoded, tuple(bench.gold)
    marks = [encoded.example.marks(bench.gold[target].places, encoded.places).astype(np.float64) for target in targets]
    receipt = Provenance(
        model=bench.case.classifier.identity,
        method=HUMAN,
        settings={},
        unit=encoded.unit,
        remover=None,
        score=plan.space,
        signed=False,
        class_specific=True,
        forward_passes=0,
        backward_passes=0,
        seconds=0.0,
    )
    return Explanation(encoded.example, encoded.places, targets, np.stack(marks), bench.case.prediction, receipt)
