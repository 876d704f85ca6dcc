"""Searching the weights of AML's loss, by Optuna's TPE: each between 0 and 1, as in the paper.

A trial fits a network for a few epochs on a few of the texts, and is worth its best validation of each metric; several
metrics are searched together, and each has its own best weights. The study is `OUT/study.db`, and the same call resumes
with it; a trial that was stopped is drawn again. Networks of trials are not kept.

Reference: Barkan et al. 2024, section 4; from the published code: 30 trials, 450 texts, 2 epochs. That code stops
trials early by "lower is better" whatever the metric, and takes the last value (see `fitting`).
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whylight.core.errors import InputError, ModelError, SettingError
from whylight.models.quiet import quiet
from whylight.store import files
from whylight.training.fit import Fit, make_trainer
from whylight.training.fitting import WEIGHTS, with_weights
from whylight.training.folder import claimed_by_one, interruptible
from whylight.training.progress import trial_bar
from whylight.views.attributed import Measure

if TYPE_CHECKING:
    from whylight.core.inputs import JsonValue

try:
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise SettingError(
        "a search needs Optuna, which is not installed: install whylight[tune], or --trials 0."
    ) from None

# isort: split
from whylight.training.trials import opened_study

SPACE = {name: FloatDistribution(0.0, 1.0) for name in WEIGHTS}
DIVERGED = float("inf")


def search_weights(
    asked: Fit, measures: Mapping[str, Measure], *, trials: int, out: Path
) -> dict[str, dict[str, float]]:
    """Search the weights that are best for each metric.

    Args:
        asked: The fit.
        measures: Its metrics.
        trials: Trials in all, with those of earlier calls.
        out: Folder of the study.
    """
    recipe = asked.recipe
    few = replace(asked, data=asked.data.sample(recipe.search_texts, seed=recipe.seed), progress=False)
    start = asked.network(recipe, next(iter(measures)))
    form: JsonValue = {name: value for name, value in start.network.config.mask.items() if name not in WEIGHTS}
    searched: dict[str, JsonValue] = {**recipe.asked, "metrics": [*measures], "mask": form}
    identity = few.identity(start, {name: value for name, value in searched.items() if name != "epochs"})
    with files.said(out):
        if (out / "config.json").is_file() and not (out / "study.db").is_file():
            raise InputError(f"'{out}' holds something else already; name another folder.")
    with (
        claimed_by_one(out),
        interruptible(out),
        opened_study(out, identity, numbers=len(measures)) as study,
        trial_bar(trials, shown=asked.progress) as moved,
    ):
        while (done := len(_finished_trials(study))) < trials:
            moved(done)
            stream = np.random.SeedSequence((recipe.seed, done)).generate_state(1)
            study.sampler = optuna.samplers.TPESampler(seed=int(stream[0]))
            trial = study.ask(dict(SPACE))
            try:
                values = _tried(few, measures, trial.params)
            except BaseException:
                study.tell(trial, state=TrialState.FAIL)
                raise
            study.tell(trial, values)
        return _best(_finished_trials(study)[:trials], measures)


def _finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def _tried(asked: Fit, measures: Mapping[str, Measure], weights: Mapping[str, float]) -> list[float]:
    """Fit a network with these weights for a while; return its best value of each metric, of which less is better."""
    recipe = replace(with_weights(asked.recipe, weights), epochs=asked.recipe.search_epochs)
    with quiet():
        trainer = make_trainer(asked, recipe, asked.network(recipe, next(iter(measures))), measures, None)
        try:
            trainer.train()
        except ModelError:  # the loss is no finite number
            return [DIVERGED] * len(measures)
    found = []
    for name, measure in measures.items():
        sign = -1 if measure.spec.facts["higher_is_better"] else 1
        found.append(min(sign * one[f"eval_{name}"] for one in trainer.state.log_history if f"eval_{name}" in one))
    return found


def _best(trials: list[FrozenTrial], measures: Mapping[str, Measure]) -> dict[str, dict[str, float]]:
    """Return the weights of the best trial for each metric; of equal ones, the first."""
    best = {name: min(trials, key=lambda one, i=i: one.values[i]) for i, name in enumerate(measures)}  # type: ignore[misc]
    return {name: dict(one.params) for name, one in best.items()}
