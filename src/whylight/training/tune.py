"""Searching the numbers of a training, by Optuna: `whylight tune`.

`search.py` says what can be searched and what is minimised: the number that a training chooses its checkpoint by, or
the loss of the labels (-accuracy, -document_average_precision) where weights or settings of terms are searched, whose
totals do not compare.

The study is `OUT/study.db`, and the same call resumes it; a trial that was stopped is marked as failed and drawn
again. Trials are trained in `OUT/trial-N`; `OUT/best` is the best of them so far, and no other model is kept.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from whylight.core.errors import InputError, ModelError, SettingError, UnmetError
from whylight.core.inputs import JsonValue
from whylight.data.dataset import Dataset
from whylight.data.descriptions import Descriptions
from whylight.models.prepare import Architecture
from whylight.store import files
from whylight.training.figures import NamedValues
from whylight.training.folder import claimed_by_one, interruptible, write_text
from whylight.training.progress import trial_bar
from whylight.training.recipe import Recipe
from whylight.training.result import Trained, read_receipt
from whylight.training.search import (
    Space,
    Watch,
    changed,
    every_point,
    minimised_number,
    parse_search,
    validation_number,
)
from whylight.training.train import described_labels, identity_of, open_start, selection_of, train, with_outputs
from whylight.training.trials import FINISHED, opened_study

# isort: split
import optuna  # after `search`, which says in a sentence that it is not installed
from optuna.trial import FrozenTrial, TrialState

DEFAULT = ("learning_rate=1e-5:2e-4:log",)
REASONS = {
    True: "it is what a training chooses its checkpoint by",
    False: "weights or settings of terms are searched, and totals of different ones cannot be compared",
}
"""Why a number is minimised, by whether it is `selection`."""


@dataclass(frozen=True, slots=True)
class TriedRecipe:
    """One trial.

    Attributes:
        number: Its number in the study.
        state: `complete`, `pruned`, or `diverged`: the loss was no finite number.
        value: What is minimised; of a pruned trial the last one, None if there was none.
        parameters: What was drawn.
        figures: Its validation; empty if it is not complete.
    """

    number: int
    state: str
    value: float | None
    parameters: dict[str, JsonValue]
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search gave.

    Attributes:
        folder: The best model's folder; if no trial kept the bound, the closest model is in `unmet` in it.
        receipt: What its `training.json` holds.
        minimised: Name of the validation number that was minimised.
        trials: Finished trials, the best first.
    """

    folder: Path
    receipt: dict[str, Any]
    minimised: str
    trials: tuple[TriedRecipe, ...]


def tune(  # noqa: PLR0913  the public call: four arguments are optional and named
    model: str | Path | None,
    data: Dataset,
    dev: Dataset,
    recipe: Recipe,
    *,
    out: Path | str,
    search: Sequence[str] = DEFAULT,
    trials: int = 20,
    architecture: Architecture = "auto",
    label_descriptions: Descriptions | str | Path | None = None,
    progress: bool = True,
) -> Tuned:
    """Search the numbers of a training, or resume one that was stopped.

    Args:
        model: Folder or hub id to start from; None for the bundled model, `"encoder"` for that without its head.
        data: Texts to learn from.
        dev: Texts to choose a checkpoint and a trial by.
        recipe: Terms, and the numbers that are not searched.
        out: Folder for the study and the best model.
        search: `NAME=LOW:HIGH`, `NAME=LOW:HIGH:log` or `NAME=A,B,...` each.
        trials: Trials in all, with those of earlier calls; fewer, if there are fewer combinations of choices.
        architecture: `plm_ca` for label attention over long documents.
        label_descriptions: What labels stand for, as in `train`.
        progress: Show a progress bar.

    Raises:
        ModelError: No trial gave a model: the loss of each was no finite number.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("planted:", split="train"), wl.dataset("planted:", split="dev")
        >>> wl.tune(None, data, dev, wl.recipe(), trials=20, out="search")  # doctest: +SKIP
    """
    if trials < 1:
        raise SettingError(f"a search takes at least one trial, not {trials}.")
    space = parse_search(search, recipe)
    folder = Path(out)
    with files.said(folder):
        _refuse_other_files(folder)
    asked: JsonValue = {name: optuna.distributions.distribution_to_json(one) for name, one in space.items()}
    data, dev = with_outputs(model, data, dev, architecture)
    prepared = open_start(model, data, recipe, architecture)
    described = described_labels(label_descriptions, data)
    settings = {**recipe.asked, **selection_of(recipe, data), **described, "architecture": architecture}
    settings["search"] = asked
    identity = identity_of(model, prepared, (data, dev), settings)
    minimised = minimised_number(recipe, space, multi_label=data.multi_label)
    fit = partial(train, model, data, dev, architecture=architecture, **described, progress=False)
    with (
        claimed_by_one(folder),
        interruptible(folder),
        opened_study(folder, identity) as study,
        trial_bar(trials, shown=progress) as moved,
    ):
        run = _Run(study, folder, identity.contents, recipe, space, minimised, fit, moved)
        run.tidy()
        while (trial := run.ask(trials)) is not None:
            run.answer(trial)
        return run.result()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A search under way."""

    study: optuna.Study
    folder: Path
    contents: Mapping[str, str]
    recipe: Recipe
    space: Space
    minimised: str
    fit: Callable[..., Trained]
    moved: Callable[[float], None]

    @property
    def finished(self) -> list[FrozenTrial]:
        """The trials that count, the best first."""
        found = self.study.get_trials(deepcopy=False, states=FINISHED)
        return sorted(found, key=lambda one: (one.state is TrialState.PRUNED, one.value is None, one.value, one.number))

    @property
    def best(self) -> FrozenTrial | None:
        """The best complete trial; of equal ones, the first."""
        return next((one for one in self.finished if one.state is TrialState.COMPLETE), None)

    def ask(self, trials: int) -> optuna.Trial | None:
        """Draw the next trial; None if there were enough, or if every combination of choices was tried."""
        done = self.finished
        points = every_point(self.space, at_most=trials)
        left = [point for point in points if all(point != one.params for one in done)]
        if len(done) >= trials or (points and not left):
            return None
        if left and not self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            self.study.enqueue_trial(left[0])
        # One stream a trial: a search that goes on draws what an uninterrupted one does, not its first trials again.
        stream = np.random.SeedSequence((self.recipe.seed, len(done))).generate_state(1)
        self.study.sampler = optuna.samplers.TPESampler(seed=int(stream[0]))
        return self.study.ask(dict(self.space))

    def answer(self, trial: optuna.Trial) -> None:
        """Train a trial, unless the same was trained before, and keep its model if it is the best."""
        known = next((one for one in self.finished if one.params == trial.params), None)
        try:
            value = self._train(trial) if known is None else _repeat(trial, known)
        except BaseException:
            self.study.tell(trial, state=TrialState.FAIL)
            self.tidy()
            raise
        self.study.tell(trial, value, state=TrialState.PRUNED if value is None else TrialState.COMPLETE)
        self.tidy()

    def _train(self, trial: optuna.Trial) -> float | None:
        done, place = len(self.finished), self.folder / f"trial-{trial.number}"
        self.moved(done)
        watch = Watch(trial, self.minimised, lambda share: self.moved(done + share))
        try:
            receipt = self.fit(changed(self.recipe, trial.params), out=place, callbacks=[watch]).receipt
        except UnmetError:
            receipt = read_receipt(place)
        except optuna.TrialPruned:
            return None
        except ModelError as error:
            if not watch.started:
                raise
            trial.set_user_attr("diverged", str(error))
            return None
        if receipt["asked"]["contents"] != self.contents:
            raise InputError("the model that the search starts from has changed since it began; name another folder.")
        figures = {name: value for name, value in receipt["validation"].items() if name != "seconds"}
        trial.set_user_attr("figures", figures)
        value = validation_number(figures, self.minimised)
        receipt["trial"] = {"number": trial.number, "parameters": trial.params, "value": value}
        receipt["trial"] |= {"minimised": self.minimised, "because": REASONS[self.minimised == "selection"]}
        write_text(place / "training.json", json.dumps(receipt, indent=1) + "\n")
        return value

    def tidy(self) -> None:
        """Move the best trial's folder into place and remove the others; after a kill, this is done again."""
        best, place = self.best, self.folder / "best"
        own = None if best is None else self.folder / f"trial-{best.number}"
        with files.said(self.folder):
            if own is not None and own.is_dir():
                shutil.rmtree(place, ignore_errors=True)
                own.rename(place)
            for path in self.folder.glob("trial-*"):
                shutil.rmtree(path)
        if best is not None and not (place / "training.json").is_file():
            raise InputError(f"the best model of '{self.folder}' is gone; name another folder.")

    def result(self) -> Tuned:
        """Read what the search gave."""
        found = self.finished
        if self.best is None:
            why = found[-1].user_attrs["diverged"]  # pruning starts when some are complete
            raise ModelError(f"none of {len(found)} trials gave a model: {why}")
        place = self.folder / "best"
        return Tuned(place, read_receipt(place), self.minimised, tuple(_tried_recipe(one) for one in found))


def _refuse_other_files(folder: Path) -> None:
    """Refuse a folder with a model of someone else's: `best` and `trial-N` are overwritten and removed."""
    others = [folder / name for name in ("config.json", "training.json", "best")]
    if not (folder / "study.db").is_file() and any(path.exists() for path in (*others, *folder.glob("trial-*"))):
        raise InputError(f"'{folder}' holds something else already; name another folder.")


def _repeat(trial: optuna.Trial, known: FrozenTrial) -> float | None:
    """Take over what the same numbers gave before: a training is determined by them."""
    for step, value in known.intermediate_values.items():
        trial.report(value, step)
    for name, attribute in known.user_attrs.items():
        trial.set_user_attr(name, attribute)
    return known.value if known.state is TrialState.COMPLETE else None


def _tried_recipe(trial: FrozenTrial) -> TriedRecipe:
    state = "diverged" if "diverged" in trial.user_attrs else trial.state.name.lower()
    return TriedRecipe(trial.number, state, trial.value, trial.params, NamedValues(trial.user_attrs.get("figures", {})))
