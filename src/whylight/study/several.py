"""The same question to several models or seeds: how far do tables, and explanations themselves, depend on them?

A variant is one model with one seed of the methods that draw at random. Every two variants differ in that seed, so that
agreement between two models is never the shared luck of one draw.

- Spread: mean and standard deviation over variants of each method's mean by each metric.
- Stability: how far the explanations of one text, method and label agree between two variants, by every metric of two
  explanations (Kendall's tau and others), averaged over pairs of variants, then over texts.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from whylight.core import showing
from whylight.core.errors import InputError, SettingError
from whylight.core.registry import METHODS
from whylight.data.dataset import Dataset
from whylight.explaining.variants import Asked, asked_methods
from whylight.run.agreement import agreement_of
from whylight.run.corpus import named_measures
from whylight.run.evaluate import Question, answer
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Cell, Summary, interval
from whylight.store.tables import HUMAN, RANDOM, Row
from whylight.views.classifier import Classifier

FEWEST = 2
"""Variants below which there is no spread."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation over variants, and how many they are."""

    mean: float
    deviation: float
    variants: int


@dataclass(frozen=True, slots=True)
class Several:
    """What several variants gave.

    Attributes:
        evaluations: The result of each variant, by name.
        metrics: Columns, in the order of the run.
        higher_is_better: Direction of each.
        spread: By method and column.
        stability: By method and measure of agreement, over texts; `random` and `human` have none.
    """

    evaluations: dict[str, Evaluation]
    metrics: tuple[str, ...]
    higher_is_better: dict[str, bool]
    spread: dict[str, dict[str, Spread]]
    stability: dict[str, dict[str, Cell]]

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def records(self) -> list[Row]:
        """Return every figure as one flat record."""
        spreads: list[Row] = [
            {"method": method, "metric": name, "mean": one.mean, "deviation": one.deviation, "variants": one.variants}
            for method, own in self.spread.items()
            for name, one in own.items()
        ]
        agreements: list[Row] = [
            {"method": method, "metric": f"stability: {name}", "mean": one.mean, "low": one.low, "high": one.high}
            for method, own in self.stability.items()
            for name, one in own.items()
        ]
        blank = dict.fromkeys(("method", "metric", "mean", "deviation", "variants", "low", "high"))
        return [blank | one for one in (*spreads, *agreements)]


def evaluate_several(
    models: Mapping[str, Callable[[], Classifier]],
    data: Dataset,
    question: Question,
    *,
    seeds: int = 1,
    out: Path | None = None,
    progress: bool = True,
) -> Several:
    """Answer one question on several models and seeds.

    Args:
        models: What opens each model, by a name that a folder can have; only one is open at a time.
        data: The data set.
        question: What is asked.
        seeds: Seeds for each model.
        out: A folder that gets one folder per variant; what is done there is not done again.
        progress: Show progress bars.
    """
    if seeds < 1:
        raise SettingError(f"the number of seeds must be at least 1, not {seeds}.")
    if len(models) * seeds < FEWEST:
        raise InputError("one model with one seed has no spread; give several models, or --seeds above 1.")
    asked = asked_methods([*question.methods, RANDOM])
    first = _first_seed(question.settings, asked)
    seeded = any("seed" in one.spec.settings for one in asked)
    evaluations: dict[str, Evaluation] = {}
    for number, (name, opened) in enumerate(models.items()):
        classifier = opened()
        for place in range(seeds):
            seed = first + number * seeds + place
            own = replace(question, settings={**question.settings, "seed": seed}) if seeded else question
            variant = f"{name}-seed{seed}"
            folder = None if out is None else out / variant
            evaluations[variant] = answer(classifier, data, own, out=folder, progress=progress)
    return summarise_several(evaluations)


def _first_seed(settings: Mapping[str, object], asked: Sequence[Asked]) -> int:
    """Return the seed that the variants count from; one method's own would be the same in all of them."""
    of_one = [name for name in settings if name.endswith(".seed")]
    for name in (*of_one, *(one.name for one in asked if "seed" in one.own)):
        raise SettingError(f"every variant has a seed of its own, which '{name}' would undo; set 'seed' alone.")
    return int(str(METHODS[RANDOM].settings["seed"].parse(settings.get("seed", 0))))


def summarise_several(evaluations: dict[str, Evaluation]) -> Several:
    """Put the tables of variants together."""
    summaries = [table for one in evaluations.values() for table in _tables(one)]
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for summary in summaries:
        for line in summary.lines:
            for name, cell in line.cells.items():
                values[line.method][name].append(cell.mean)
    spread = {method: {name: _spread_over(own) for name, own in by.items()} for method, by in values.items()}
    every = [one.explanations for one in evaluations.values()]
    stability = {
        method: found for method in values if method not in (RANDOM, HUMAN) if (found := _stable(every, method))
    }
    higher = {name: better for summary in summaries for name, better in summary.higher_is_better.items()}
    return Several(evaluations, tuple(higher), higher, spread, stability)


def _tables(evaluation: Evaluation) -> list[Summary]:
    """Return the table of means over texts, and that of all words where metrics of it are asked for by name."""
    corpus = evaluation.corpus if named_measures(evaluation.asked) else None
    return [evaluation.summary, *([] if corpus is None else [corpus])]


def _spread_over(values: Sequence[float]) -> Spread:
    deviation = float(np.std(values, ddof=1)) if len(values) >= FEWEST else float("nan")
    return Spread(float(np.mean(values)), deviation, len(values))


def _stable(every: Sequence[Sequence[Row]], method: str) -> dict[str, Cell]:
    """Average agreement over pairs of variants, then over texts."""
    by_text: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for first, second in combinations(every, 2):
        for text, own in agreement_of(first, second, method, method).items():
            for name, value in own.items():
                by_text[name][text].append(value)
    means = {name: np.asarray([np.mean(one) for one in own.values()]) for name, own in by_text.items()}
    return {name: interval(own) for name, own in means.items() if len(own)}


def model_names(paths: Sequence[str]) -> list[str]:
    """Name models by the last part of their path, numbered where two are alike."""
    stems = [Path(path).name or "model" for path in paths]
    return [stem if stems.count(stem) == 1 else f"{stem}-{number}" for number, stem in enumerate(stems)]
