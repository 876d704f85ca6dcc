"""What a search varies, and what it minimises.

A name in a search is that of a number of the recipe, of a term (its weight) or of a setting of a term.

What is minimised is the number that a training chooses its checkpoint by, at the checkpoint that it chose; where none
keeps the bound, that is the `UNMET` value of the closest. If weights or settings of terms are searched, the totals of
two trials cannot be compared: then it is the unweighted validation loss of the labels instead
(-document_average_precision for several labels per text, as always in a joint training), or -accuracy where a setting
of the term that teaches the labels is searched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import isfinite, prod
from typing import Any, TypeGuard

from transformers import TrainerCallback

from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.inputs import JsonValue
from whylight.core.registry import OBJECTIVES
from whylight.core.setting import Setting
from whylight.training.figures import BY_DOCUMENT
from whylight.training.recipe import Recipe, check_recipe
from whylight.training.trainer import UNMET

try:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
except ImportError:
    raise SettingError("tuning needs Optuna, which is not installed: install whylight[tune].") from None

Distribution = FloatDistribution | IntDistribution | CategoricalDistribution
Space = Mapping[str, Distribution]
NUMBERS: Mapping[str, type] = {"learning_rate": float, "batch_size": int, "epochs": int, "multiplier_rate": float}
"""Numbers of a recipe that can be searched."""
FIGURES = ("accuracy", BY_DOCUMENT)
"""Numbers that are better when they are higher."""


def parse_search(texts: Sequence[str], recipe: Recipe) -> dict[str, Distribution]:
    """Read `NAME=LOW:HIGH`, `NAME=LOW:HIGH:log` or `NAME=A,B,...` each, for a training by this recipe."""
    space: dict[str, Distribution] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name, parts = name.strip().replace("-", "_"), values.split(":")
        ranged = len(parts) == 2 or (len(parts) == 3 and parts[2] == "log")  # noqa: PLR2004  LOW:HIGH[:log]
        if not ranged and (":" in values or "," not in values):
            raise SettingError(f"--search takes NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..., not '{text}'.")
        if name in space:
            raise SettingError(f"'{name}' is searched twice; give all its values at once.")
        setting = _setting(name, recipe)
        space[name] = _range(setting, parts) if ranged else _choices(setting, values.split(","))
        _check_distribution(name, space[name], recipe)
    return space


def _setting(name: str, recipe: Recipe) -> Setting:
    """Return what a name stands for, as something that values can be read for."""
    if name in NUMBERS:
        return Setting(name, NUMBERS[name], None)
    if name in OBJECTIVES.names():
        if all(term.name != name for term in recipe.terms):
            raise SettingError(f"the weight of '{name}' cannot be searched: it is no objective of this training.")
        return Setting(name, float, None)
    settings = {key: one for term in recipe.terms for key, one in term.spec.settings.items()}
    if name not in settings:
        raise unknown("name to search", name, [*NUMBERS, *OBJECTIVES.names(), *settings])
    return settings[name]


def _range(setting: Setting, parts: Sequence[str]) -> Distribution:
    low, high = (setting.parse(part.strip()) for part in parts[:2])
    if not (_is_number(low) and _is_number(high)):
        raise SettingError(f"'{setting.name}' is not searched over a range; name its values, e.g. {setting.name}=A,B.")
    if low >= high:
        raise SettingError(f"the range of '{setting.name}' must rise: {low:g} is not below {high:g}.")
    log = len(parts) > 2  # noqa: PLR2004
    if log and low <= 0:
        raise SettingError(f"the range of '{setting.name}' must start above 0 to be logarithmic, not at {low:g}.")
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choices(setting: Setting, texts: Sequence[str]) -> Distribution:
    choices: list[Any] = [setting.parse(text.strip()) for text in texts]
    return CategoricalDistribution(tuple(dict.fromkeys(choices)))


def _check_distribution(name: str, found: Distribution, recipe: Recipe) -> None:
    """Refuse, before anything is trained, values that make no training or no comparison."""
    ends = found.choices if isinstance(found, CategoricalDistribution) else (found.low, found.high)
    recipes = [check_recipe(changed(recipe, {name: end})) for end in ends]
    if name == "batch_size" and recipe.micro_batch and not isinstance(found, CategoricalDistribution):
        raise SettingError("with --micro-batch, name the batch sizes to search, e.g. batch_size=16,32.")
    if name not in NUMBERS and recipe.combine == "alone":
        raise SettingError(f"'{name}' cannot be searched with --find-bound: it changes what the bound is on.")
    for term in (term for one in recipes for term in one.terms if term.name == name):
        if term.weight < 0 or (term.weight == 0 and term.spec.facts["classifies"]):
            least = "above 0" if term.spec.facts["classifies"] else "0 or more"
            raise SettingError(f"the weight of '{name}' must be {least}, not {term.weight:g}.")


def changed(recipe: Recipe, parameters: Mapping[str, Any]) -> Recipe:
    """Put what was drawn into a recipe."""
    terms = [
        replace(
            term,
            weight=parameters.get(term.name, term.weight),
            settings={name: parameters.get(name, value) for name, value in term.settings.items()},
        )
        for term in recipe.terms
    ]
    return replace(recipe, terms=tuple(terms), **{name: parameters[name] for name in NUMBERS if name in parameters})


def every_point(space: Space, *, at_most: int) -> list[dict[str, JsonValue]]:
    """Return all combinations, if there are only choices and not too many of them; else none."""
    choices = [one.choices for one in space.values() if isinstance(one, CategoricalDistribution)]
    if len(choices) < len(space) or prod(map(len, choices)) > at_most:
        return []
    return [dict(zip(space, values, strict=True)) for values in product(*choices)]


def minimised_number(recipe: Recipe, space: Space, *, multi_label: bool) -> str:
    """Return the name of the validation number that is minimised (see above); figures are taken negative."""
    names = space.keys() - NUMBERS.keys()
    if not names or (recipe.combine == "joint" and multi_label):
        return "selection"
    labels = next(term for term in recipe.terms if term.spec.facts["classifies"])
    if names & labels.settings.keys():
        return FIGURES[multi_label]
    if recipe.combine == "constrained" and labels.name not in names:
        return "selection"  # the loss of the labels, already
    return f"term_{labels.name}"


def validation_number(figures: Mapping[str, float], minimised: str) -> float:
    """Return the number of a validation; a broken bound is worse than anything that keeps it."""
    if figures["selection"] >= UNMET:
        return figures["selection"]
    return -figures[minimised] if minimised in FIGURES else figures[minimised]


def numbers_of(history: Iterable[Mapping[str, float]], minimised: str) -> dict[int, float]:
    """Return the number of each epoch that a history tells of."""
    validated = (one for one in history if "eval_selection" in one)
    return {round(one["epoch"]): validation_number(_figures(one), minimised) for one in validated}


def _figures(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name.removeprefix("eval_"): value for name, value in metrics.items()}


class Watch(TrainerCallback):  # type: ignore[misc]  # transformers is untyped for us
    """Reports the number of every epoch to a trial, and ends a training that its pruner gives up.

    Args:
        trial: The trial.
        minimised: Name of the number.
        moved: Told what share of the training is done.

    Attributes:
        started: Whether the training has begun.
        steps: The number of each epoch.
    """

    def __init__(self, trial: optuna.Trial, minimised: str, moved: Callable[[float], None]) -> None:
        self.started, self.steps = False, dict[int, float]()
        self._trial, self._minimised, self._moved = trial, minimised, moved

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Remember that what fails from here on fails because of what was drawn; report epochs before a kill."""
        self.started = True
        self.steps |= numbers_of(state.log_history, self._minimised)
        for step, value in self.steps.items():
            self._trial.report(value, step=step)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:  # noqa: ANN401, ARG002
        """Report an epoch."""
        figures = _figures(metrics)
        value = validation_number(figures, self._minimised)
        if not isfinite(value + figures["labels"]):
            raise ModelError(f"the validation loss is not a finite number in epoch {state.epoch:g}.")
        self.steps[round(state.epoch)] = value
        self._trial.report(value, step=round(state.epoch))
        self._moved(state.epoch / args.num_train_epochs)
        if self._trial.should_prune():
            raise optuna.TrialPruned
