"""The work on one record: explain it by every method, and measure each explanation.

Faithfulness metrics look at the predicted labels, or at all gold ones (`target="gold"`, Brinner and Zarriess 2023);
plausibility metrics at the gold labels that have a rationale. The `human` row is the rationale itself, taken as an
explanation.
"""

import json
import zlib
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylight.core.errors import InputError
from whylight.core.explanation import Explanation, Provenance
from whylight.core.inputs import Settings
from whylight.core.labels import Target
from whylight.core.rationale import Rationale
from whylight.core.registry import Spec
from whylight.data.dataset import Record
from whylight.explaining.case import Case, open_case
from whylight.explaining.receipts import explain_case, explain_cases
from whylight.explaining.variants import Variant
from whylight.metrics._curves import CURVE_SHARES, perturbation_curves
from whylight.metrics.alone import non_alphanumeric
from whylight.run.control import Control, best_values, candidates, controlled
from whylight.run.corpus import needs_boundary, scaling_of
from whylight.run.games import ask_at_once, asked_case, games_of, only
from whylight.run.plan import Plan
from whylight.store.explanations import row_of
from whylight.store.tables import HUMAN, RANDOM, Row
from whylight.views.classifier import Classifier
from whylight.views.game import Game


@dataclass(frozen=True, slots=True)
class Done:
    """What one record gave."""

    explanations: list[Row]
    scores: list[Row]
    curves: list[Row]
    rows_run: int


@dataclass(frozen=True, slots=True)
class Bench:
    """One record in front of the classifier, with what its measurements share.

    Attributes:
        case: The record's example in front of the classifier.
        measured: The labels whose faithfulness is measured.
        gold: The gold labels that have a rationale.
        correct: Whether the model is right about each label; None where the record has no gold label.
    """

    case: Case
    measured: tuple[Target, ...]
    gold: dict[Target, Rationale]
    correct: dict[Target, bool | None]

    @property
    def targets(self) -> list[Target]:
        """Every label that is explained."""
        return list(dict.fromkeys([*self.measured, *self.gold]))


def work(classifier: Classifier, record: Record, plan: Plan, *, run: str) -> Done:
    """Explain and measure one record."""
    return next(work_together(classifier, [record], plan, run=run))


def work_together(classifier: Classifier, records: Sequence[Record], plan: Plan, *, run: str) -> Iterator[Done]:
    """Explain some records, at once by methods that take several, and measure one after the other."""
    benches = [open_bench(classifier, record, plan) for record in records]
    explained = _explanations(benches, plan)
    for record, bench, own in zip(records, benches, explained, strict=True):
        yield _measured_all(record, bench, own, plan, run)


def _measured_all(record: Record, bench: Bench, explained: Sequence[Explanation], plan: Plan, run: str) -> Done:
    """Measure all explanations of a record."""
    asked = asked_case(bench.case, plan)
    games = {target: games_of(asked, plan, target) for target in bench.measured}
    ones = [only(explanation, target) for explanation in explained for target in explanation.targets]
    maps = _maps_of(ones, games, plan.control)
    ask_at_once([*ones, *(one for several in maps.values() for one in several)], games, plan)
    explanations, scores, curves = [], [], []
    for number, one in enumerate(ones):
        (target,) = one.targets
        about: Row = {"run": run, "example_id": record.id, "target": target.index, "label": target.label}
        about["correct"] = bench.correct[target]
        explanations.append({**about, **row_of(one)})
        scores += [{**about, **row} for row in _measured(one, target, bench, games, plan)]
        curves += [{**about, **row} for row in _curves(one, games.get(target, {}), plan)]
        if plan.control is not None and number in maps:
            named = controlled(one, plan.control)
            explanations.append({**about, **row_of(named)})
            found = best_values(maps[number], games[target], plan.metrics_on(Game))
            scores += [{**about, **_best_row(named, *best, space=plan.space)} for best in found]
    rows_run = sum(case.cache.rows_run for case in dict.fromkeys((bench.case, asked)))
    return Done(explanations, scores, curves, rows_run)


def _maps_of(
    ones: Sequence[Explanation], measured: Container[Target], control: Control | None
) -> dict[int, list[Explanation]]:
    """Return the maps that each explanation may choose from under a control, by its number."""
    if control is None:
        return {}
    chosen = [(i, one) for i, one in enumerate(ones) if one.provenance.method != HUMAN and one.targets[0] in measured]
    return {number: candidates(one, control) for number, one in chosen}


def _best_row(one: Explanation, spec: Spec, settings: Settings, remover: str, value: float, *, space: str) -> Row:
    return _score_row(spec.name, settings, value, one.provenance.method, remover=remover, space=space)


def open_bench(classifier: Classifier, record: Record, plan: Plan) -> Bench:
    """Classify a record and find the labels to explain."""
    case = open_case(classifier, record.example, unit=plan.options.unit, long=plan.options.long)
    indices = {name: gold_index(classifier, name) for name in record.labels}
    labels = {name: Target(index, classifier.labels.names[index]) for name, index in indices.items()}
    gold = {target: record.rationales[name] for name, target in labels.items() if name in record.rationales}
    of_gold = plan.options.target == "gold"
    measured = tuple(dict.fromkeys(labels.values())) if of_gold else case.targets("predicted")[0]
    true, applies = set(indices.values()), set(case.prediction.predicted)
    correct = {t: (t.index in true) == (t.index in applies) if true else None for t in (*measured, *gold)}
    return Bench(case, measured, gold, correct)


def gold_index(classifier: Classifier, name: str) -> int:
    """Return the column of a gold label, or say that data and model do not speak of the same labels."""
    columns = [i for i, label in enumerate(classifier.labels.names) if label.casefold() == name.casefold()]
    columns = [i for i in columns if classifier.labels.names[i] == name] or columns
    if len(columns) > 1:
        raise InputError(f"the data has the label '{name}', and the model has {len(columns)} labels of that name.")
    if not columns:
        known = ", ".join(classifier.labels.names[:20])
        raise InputError(
            f"the data has the label '{name}', which the model does not know; it has {known}. If it stands for one of "
            f"them, say so: --map-label {name}=NAME, in Python wl.dataset(..., labels={{'{name}': ...}})."
        )
    return columns[0]


def _explanations(benches: Sequence[Bench], plan: Plan) -> list[list[Explanation]]:
    """Explain every record by every method, and by what people marked."""
    found: list[list[Explanation]] = [[] for _ in benches]
    for variant in plan.methods:
        for own, explanation in zip(found, _by_one_method(benches, variant, plan), strict=True):
            named = _named(explanation, variant.name)
            own.append(_without_signs(named) if plan.zero_non_alphanumeric else named)
    for own, bench in zip(found, benches, strict=True):
        own.extend([_human(bench, plan)] if bench.gold else [])
    return found


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
        unit=plan.options.unit,
        remover=None,
        score=plan.space,
        signed=False,
        class_specific=True,
        forward_passes=0,
        backward_passes=0,
        seconds=0.0,
    )
    return Explanation(encoded.example, encoded.places, targets, np.stack(marks), bench.case.prediction, receipt)


def _measured(
    one: Explanation, target: Target, bench: Bench, games: dict[Target, dict[str, Game]], plan: Plan
) -> Iterator[Row]:
    """Measure one explanation of one target by every metric that applies to it."""
    own_games, rationale = games.get(target, {}), bench.gold.get(target)
    space, name = plan.space, one.provenance.method
    for remover, game in own_games.items():
        for spec, settings in plan.metrics_on(Game):
            value = float(spec.function(one, game, **settings)[0])
            yield _score_row(spec.name, settings, value, name, remover=remover, space=space)
    for spec, settings in plan.metrics_on(Rationale) if rationale is not None else []:
        own = _with_boundary(settings, plan, name)
        yield _score_row(spec.name, own, float(spec.function(one, rationale, **own)[0]), name)
    for spec, settings in plan.metrics_on(None) if own_games else []:
        own = _with_boundary(settings, plan, name)
        yield _score_row(spec.name, own, float(spec.function(one, **own)[0]), name)


def _curves(one: Explanation, games: dict[str, Game], plan: Plan) -> Iterator[Row]:
    """Return the score along the ranking under each remover, for the points that AOPC asks for anyway."""
    for remover, game in games.items() if plan.metrics_on(Game) else []:
        without_top, top_alone = perturbation_curves(one, game)
        yield {
            "method": one.provenance.method,
            "remover": remover,
            "score_space": plan.space,
            "shares": list(CURVE_SHARES),
            "without_top": without_top[0].tolist(),
            "top_alone": top_alone[0].tolist(),
        }


def _with_boundary(settings: Settings, plan: Plan, method: str) -> Settings:
    if not needs_boundary(settings):
        return settings
    return {**settings, "boundary": plan.boundaries.get((method, scaling_of(settings)), 0.0)}


def _score_row(
    metric: str, settings: Settings, value: float, method: str, *, remover: str | None = None, space: str | None = None
) -> Row:
    own = json.dumps(settings, sort_keys=True)
    return {
        "method": method,
        "metric": metric,
        "settings": own,
        "remover": remover,
        "score_space": space,
        "value": value,
    }
