"""What a training is asked to do: terms with weights and settings, how they are combined, and the usual numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from whylight.core.errors import SettingError, unknown
from whylight.core.inputs import JsonValue, Settings
from whylight.core.registry import OBJECTIVES, Spec
from whylight.core.setting import Setting
from whylight.explaining.variants import each_name, share_settings
from whylight.training import processes

Combine = Literal["joint", "constrained", "alone"]
COMBINE: tuple[Combine, ...] = get_args(Combine)
CLASSIFICATION = "classification"


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the loss."""

    name: str
    weight: float
    settings: Settings

    @property
    def spec(self) -> Spec:
        """The objective."""
        return OBJECTIVES[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One training.

    Attributes:
        terms: Terms of the loss; one of them teaches the labels, unless the others are trained alone.
        combine: `joint`: the weighted sum. `constrained`: the labels, as long as the other terms stay below a bound.
            `alone`: the other terms without the labels, to find out how low they can get.
        bound_train: Bound on the weighted sum of the other terms in a training batch.
        bound_validation: Bound on it over the validation texts, for choosing a checkpoint.
        epochs: Passes over the training texts, at most.
        patience: Epochs without a better checkpoint after which training stops.
        learning_rate: Peak, after a warm-up over a tenth of all steps; then it falls to 0.
        batch_size: Texts in an update.
        micro_batch: Texts in a pass, where a whole batch does not fit.
        multiplier_rate: Learning rate of the multiplier of a constrained training.
        precision: Number type of the passes.
        max_tokens: Longer texts are cut.
        seed: Of everything random.
    """

    terms: tuple[Term, ...]
    combine: Combine = "joint"
    bound_train: float | None = None
    bound_validation: float | None = None
    epochs: int = 5
    patience: int | None = None
    learning_rate: float = 5e-5
    batch_size: int = 32
    micro_batch: int | None = None
    multiplier_rate: float = 0.1
    precision: Literal["float32", "bfloat16"] = "float32"
    max_tokens: int | None = None
    seed: int = 0

    @property
    def needs(self) -> frozenset[str]:
        """What the terms need of a step."""
        return frozenset(need for term in self.terms if term.weight for need in term.spec.facts["needs"])

    @property
    def guiding(self) -> tuple[Term, ...]:
        """The terms besides the one that teaches the labels."""
        return tuple(term for term in self.terms if not term.spec.facts["classifies"])

    @property
    def asked(self) -> dict[str, JsonValue]:
        """All of it as JSON."""
        found: dict[str, JsonValue] = json.loads(json.dumps(asdict(self)))
        return found


_DEFAULTS: Mapping[str, JsonValue] = {one.name: one.default for one in fields(Recipe) if one.default is not MISSING}
NUMBERS = {name: Setting(name, get_type_hints(Recipe)[name], default) for name, default in _DEFAULTS.items()}
"""What a recipe takes besides its terms, by name."""


def recipe(*, objectives: str | Sequence[str] = (), **settings: object) -> Recipe:
    """Complete a recipe from what a user gives; a name or value that makes no training is refused.

    Args:
        objectives: Terms of the loss, `NAME` or `NAME=WEIGHT` each; the labels are learnt whether named or not.
        **settings: Numbers of `Recipe`, e.g. `epochs=3`, and settings of the objectives, e.g. `epsilon=1e-3`.

    Example:
        >>> [term.name for term in recipe(objectives=["rationale_attention=2"], epochs=3).terms]
        ['classification', 'rationale_attention']
    """
    of_terms = {name for one in OBJECTIVES.names() for name in OBJECTIVES[one].settings}
    for name in settings:
        if name not in NUMBERS and name not in of_terms:
            raise unknown("setting of a training", name, [*NUMBERS, *sorted(of_terms)])
    return make_recipe(
        each_name(objectives),
        numbers={name: value for name, value in settings.items() if name in NUMBERS},
        settings={name: value for name, value in settings.items() if name not in NUMBERS},
    )


def make_recipe(objectives: Sequence[str], *, numbers: Mapping[str, object], settings: Mapping[str, object]) -> Recipe:
    """Complete a recipe where its numbers and the settings of its terms are given apart, as texts or values."""
    read: dict[str, Any] = {name: NUMBERS[name].parse(value) for name, value in numbers.items()}
    terms = make_terms(objectives, settings, combine=read.get("combine", "joint"))
    return check_recipe(Recipe(terms=terms, **read))


def parse_objective(text: str) -> tuple[str, float | None]:
    """Read `NAME` or `NAME=WEIGHT`."""
    name, _, weight = text.partition("=")
    if not weight:
        return name, None
    try:
        number = float(weight)
    except ValueError:
        raise SettingError(f"the weight of '{name}' must be a number, not '{weight}'.") from None
    if not 0 <= number < float("inf"):
        raise SettingError(f"the weight of '{name}' must be 0 or more, not {weight}.")
    return name, number


def make_terms(objectives: Sequence[str], settings: Mapping[str, object], *, combine: Combine) -> tuple[Term, ...]:
    """Complete the terms: `classification` is added where no other teaches the labels.

    Args:
        objectives: `NAME` or `NAME=WEIGHT` each.
        settings: Settings of any of them, e.g. `{"epsilon": 1e-3}`.
        combine: How they are put together.
    """
    if combine not in COMBINE:
        raise unknown("way to combine", combine, COMBINE)
    weights = dict(parse_objective(text) for text in objectives)
    classifying = [name for name in weights if OBJECTIVES[name].facts["classifies"]]
    if len(classifying) > 1:
        raise SettingError(f"{' and '.join(classifying)} both teach the labels; take one of them.")
    if combine == "alone":
        weights = {name: weight for name, weight in weights.items() if name not in classifying}
    elif not classifying:
        weights = {CLASSIFICATION: None, **weights}
    if combine != "joint" and len(weights) - (combine == "constrained") < 1:
        raise SettingError(f"'{combine}' needs an objective besides the labels, e.g. rationale_attention.")
    specs = [OBJECTIVES[name] for name in weights]
    own = share_settings(specs, settings)
    return tuple(Term(spec.name, _term_weight(spec, weights), one) for spec, one in zip(specs, own, strict=True))


def _term_weight(spec: Spec, weights: Mapping[str, float | None]) -> float:
    given = weights[spec.name]
    return float(spec.facts["weight"]) if given is None else given


def check_recipe(recipe: Recipe) -> Recipe:
    """Refuse numbers that make no training."""
    if recipe.combine == "constrained" and (recipe.bound_train is None or recipe.bound_validation is None):
        raise SettingError(
            "a constrained training needs two bounds, --bound-train and --bound-val (bound_train and bound_validation "
            "in Python); --find-bound (combine='alone') proposes both."
        )
    for name in ("epochs", "batch_size", "learning_rate", "multiplier_rate"):
        if getattr(recipe, name) <= 0:
            raise SettingError(f"the setting '{name}' must be above 0, not {getattr(recipe, name)}.")
    processes.parts_of(recipe.batch_size, recipe.micro_batch)
    return replace(recipe)
