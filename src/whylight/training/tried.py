"""One trial of a search: a training by what was drawn, in its folder, by whichever worker.

A worker knows of the search what its order says: which trials came before, by which it prunes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from whylight.core.errors import InputError, ModelError, UnmetError
from whylight.engines.engine import Work
from whylight.training.folder import write_text
from whylight.training.placing import placed
from whylight.training.recipe import Recipe
from whylight.training.result import Trained, read_receipt
from whylight.training.search import Watch, changed, numbers_of, validation_number
from whylight.training.trials import past_study

REASONS = {
    True: "it is what a training chooses its checkpoint by",
    False: "weights or settings of terms are searched, and totals of different ones cannot be compared",
}
"""Why a number is minimised, by whether it is `selection`."""
TOLD = ("figures", "diverged")
"""Attributes that say what a trial gave."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be trained.

    Attributes:
        number: Its number in the study.
        parameters: What was drawn.
        past: The trials that it knows of.
    """

    number: int
    parameters: Mapping[str, Any]
    past: Sequence[FrozenTrial]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial gave.

    Attributes:
        value: What is minimised; None if it was pruned, or diverged.
        steps: The same after each epoch.
        attributes: Its figures, or why there are none.
    """

    value: float | None
    steps: Mapping[int, float]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Trainer:
    """What all trials of a search share; it can be sent to another process.

    Attributes:
        fit: Trains by a recipe, into a folder.
        recipe: The numbers that are not searched.
        folder: Folder of the search.
        minimised: Name of the number that is minimised.
        contents: Hashes of what a training starts from.
        on_cpu: Whether trainings run on the CPU.
    """

    fit: Callable[..., Trained]
    recipe: Recipe
    folder: Path
    minimised: str
    contents: Mapping[str, str]
    on_cpu: bool

    def tried(self, order: Trial, moved: Callable[[float], None]) -> Outcome:
        """Train a trial; what it gave stands in its receipt, too."""
        with past_study(order.past) as study:
            watch = Watch(study.ask(), self.minimised, moved)
            try:
                with placed("cpu" if self.on_cpu else None):
                    receipt = self._receipt(order, watch)
            except optuna.TrialPruned:
                return Outcome(None, watch.steps)
            except ModelError as error:
                if not watch.started:
                    raise
                return Outcome(None, watch.steps, {"diverged": str(error)})
        figures = {name: value for name, value in receipt["validation"].items() if name != "seconds"}
        value = validation_number(figures, self.minimised)
        receipt["trial"] = {"number": order.number, "parameters": dict(order.parameters), "value": value}
        receipt["trial"] |= {"minimised": self.minimised, "because": REASONS[self.minimised == "selection"]}
        write_text(self._place(order) / "training.json", json.dumps(receipt, indent=1) + "\n")
        return Outcome(value, numbers_of(receipt["history"], self.minimised), {"figures": figures})

    def _receipt(self, order: Trial, watch: Watch) -> dict[str, Any]:
        try:
            receipt = self.fit(
                changed(self.recipe, order.parameters), out=self._place(order), callbacks=[watch]
            ).receipt
        except UnmetError:
            receipt = read_receipt(self._place(order))
        if receipt["asked"]["contents"] != self.contents:
            raise InputError("the model that the search starts from has changed since it began; name another folder.")
        return receipt

    def _place(self, order: Trial) -> Path:
        return self.folder / f"trial-{order.number}"


def opened(trainer: Trainer, moved: Callable[[float], None] | None = None) -> Work:
    """Return what a worker does with a trial.

    Args:
        trainer: What all trials share.
        moved: Told what share of a training is done, where somebody listens.
    """
    return lambda order: trainer.tried(order, moved or (lambda _: None))


def outcome_of(known: FrozenTrial) -> Outcome:
    """Return what a trial gave before: a training is determined by its numbers."""
    told = {name: known.user_attrs[name] for name in TOLD if name in known.user_attrs}
    return Outcome(known.value if known.state is TrialState.COMPLETE else None, known.intermediate_values, told)
