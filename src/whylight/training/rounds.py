"""A search under way: its rounds are worked on, trial by trial, and its best model is kept.

Only whoever drives the search writes its study; workers say what a trial gave.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from whylight.core.errors import InputError
from whylight.engines.crew import Crew
from whylight.engines.tasks import do_tasks
from whylight.store import files
from whylight.training.drawing import KNOWS, PLACE, Draw, by_place, known_to
from whylight.training.search import Space
from whylight.training.trials import FINISHED
from whylight.training.tried import Outcome, Trial, outcome_of


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A search under way.

    Attributes:
        study: Its trials.
        folder: Its folder.
        space: What is drawn.
        moved: Told how many trials are done.
        running: Numbers of the trials that are trained.
    """

    study: optuna.Study
    folder: Path
    space: Space
    moved: Callable[[float], None]
    running: set[int] = field(default_factory=set)

    def begin(self) -> None:
        """Put away what a kill has left: trials that nobody works on, folders of trials."""
        while self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            self.study.tell(self.study.ask(dict(self.space)), state=TrialState.FAIL)
        self.tidy()

    @property
    def done(self) -> dict[int, FrozenTrial]:
        """The trials that count, by their places."""
        return by_place(self.study.get_trials(deepcopy=False, states=FINISHED))

    @property
    def finished(self) -> list[FrozenTrial]:
        """The same, the best first."""
        return [one for _, one in sorted(self.done.items(), key=_worth)]

    @property
    def best(self) -> FrozenTrial | None:
        """The best complete trial; of equal ones, the first."""
        return next((one for one in self.finished if one.state is TrialState.COMPLETE), None)

    def moved_by(self, share: float) -> None:
        """Tell what share of the current trial is done."""
        self.moved(len(self.done) + share)

    def work(self, crew: Crew, draws: Sequence[Draw]) -> None:
        """Train a round, and keep its best model; the same numbers are trained once, whoever drew them."""
        done = self.done
        asked = [self._asked(draw) for draw in draws]
        known = [one.params for one in done.values()]
        orders = [
            Trial(trial.number, trial.params, known_to(done, draw.knows))
            for place, (trial, draw) in enumerate(zip(asked, draws, strict=True))
            if trial.params not in [*known, *(one.params for one in asked[:place])]
        ]
        left = {trial.number: trial for trial in asked}
        self.running.update(one.number for one in orders)

        def tell(order: Trial, outcome: Outcome) -> None:
            self._tell(left.pop(order.number), outcome)

        try:
            self.moved_by(0)
            do_tasks(crew, orders, called=lambda one: f"trial {one.number}", done=tell, told=lambda _: self.moved_by(0))
            for trial in list(left.values()):  # who drew what was trained before
                same = next(one for one in self.done.values() if one.params == trial.params)
                self._tell(left.pop(trial.number), outcome_of(same))
        except BaseException:
            for trial in left.values():
                self.study.tell(trial, state=TrialState.FAIL)
            self.running.clear()
            self.tidy()
            raise

    def _asked(self, draw: Draw) -> optuna.Trial:
        """Write down that a trial is worked on."""
        self.study.enqueue_trial(dict(draw.parameters), user_attrs={PLACE: draw.place, KNOWS: draw.knows})
        return self.study.ask(dict(self.space))

    def _tell(self, trial: optuna.Trial, outcome: Outcome) -> None:
        """Write down what a trial gave, and keep its model if it is the best."""
        for step, reached in outcome.steps.items():
            trial.report(reached, step)
        for name, attribute in outcome.attributes.items():
            trial.set_user_attr(name, attribute)
        value = outcome.value
        self.study.tell(trial, value, state=TrialState.PRUNED if value is None else TrialState.COMPLETE)
        self.running.discard(trial.number)
        self.tidy()

    def tidy(self) -> None:
        """Move the best trial's folder into place and remove those of others; after a kill, this is done again."""
        best, place = self.best, self.folder / "best"
        own = None if best is None else self.folder / f"trial-{best.number}"
        at_work = {self.folder / f"trial-{number}" for number in self.running}
        with files.said(self.folder):
            if own is not None and own.is_dir():
                shutil.rmtree(place, ignore_errors=True)
                own.rename(place)
            for path in self.folder.glob("trial-*"):
                if path not in at_work:
                    shutil.rmtree(path)
        if best is not None and not (place / "training.json").is_file():
            raise InputError(f"the best model of '{self.folder}' is gone; name another folder.")


def _worth(placed: tuple[int, FrozenTrial]) -> tuple[Any, ...]:
    """Return what a trial is ranked by: complete ones first, then lower values, then earlier places."""
    place, one = placed
    return one.state is TrialState.PRUNED, one.value is None, one.value, place
