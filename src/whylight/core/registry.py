"""Plug-ins are typed functions: positional parameters say what one consumes, keyword-only ones are its settings.

    @method(cite="zeiler2014", signed=True)
    def occlusion(game: Game) -> Floats: ...

The command line, its lists of what there is, and Python are built from these signatures, so that a new file shows up
everywhere with no other edit.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from whylight.core.errors import SettingError, unknown
from whylight.core.inputs import JsonValue
from whylight.core.labels import ScoreSpace
from whylight.core.setting import Setting

Plugin = Callable[..., Any]
F = TypeVar("F", bound=Plugin)


@dataclass(frozen=True, slots=True)
class Spec:
    """A registered plug-in and what its signature declares.

    Attributes:
        name: The name users type.
        function: The function itself.
        consumes: Types of its positional parameters.
        settings: Its keyword-only parameters by name.
        facts: What the decorator declared, e.g. `signed`.
        kind: What it is, e.g. `"method"`.
        together: Whether it takes several of what it consumes at once: its first parameter is a `Sequence`.
        aliases: Shorter names that stand for it where a user types one; results have the full name.
    """

    name: str
    function: Plugin
    consumes: tuple[Any, ...]
    settings: Mapping[str, Setting]
    facts: Mapping[str, Any]
    kind: str
    together: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    def complete_settings(self, given: Mapping[str, object]) -> dict[str, JsonValue]:
        """Return every setting with its value, the given ones parsed; unknown names are refused."""
        for name in given:
            if name not in self.settings:
                raise unknown(f"setting of '{self.name}'", name, self.settings)
        return {n: s.parse(given[n]) if n in given else s.default for n, s in self.settings.items()}


class Registry:
    """The plug-ins of one kind, found on first use.

    Args:
        kind: What to call one in messages, e.g. `"method"`.
        package: Package whose modules hold them.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._specs: dict[str, Spec] = {}
        self._aliases: dict[str, str] = {}

    def register(self, function: Plugin, *, aliases: tuple[str, ...] = (), **facts: object) -> None:
        """Add a function under its own name, and under shorter ones; no two may share one."""
        name = function.__name__
        self._check_names(name, aliases)
        known = self._specs.get(name)
        if known is not None and known.function.__module__ != function.__module__:
            raise SettingError(f"two plug-ins are called '{name}': {known.function.__module__}, {function.__module__}.")
        hints = get_type_hints(function)
        parameters = inspect.signature(function).parameters.values()
        positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        settings = {p.name: Setting(p.name, hints[p.name], p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
        consumes = tuple(hints[p.name] for p in positional)
        together = bool(consumes) and get_origin(consumes[0]) is Sequence
        consumes = get_args(consumes[0]) if together else consumes
        self._specs[name] = Spec(name, function, consumes, settings, facts, self.kind, together, aliases)
        self._aliases |= dict.fromkeys(aliases, name)

    def _check_names(self, name: str, aliases: tuple[str, ...]) -> None:
        """Refuse an alias that is the name, or an alias, of another plug-in: it would stand for one of them unseen."""
        for alias in aliases:
            owner = alias if alias in self._specs or alias == name else self._aliases.get(alias, name)
            if owner != name or alias == name:
                raise SettingError(f"the alias '{alias}' of the {self.kind} '{name}' is taken by '{owner}'.")
        if name in self._aliases:
            raise SettingError(f"the {self.kind} '{name}' is called as an alias of '{self._aliases[name]}' is.")

    def __getitem__(self, name: str) -> Spec:
        """Return the plug-in of a name or alias, or raise the error that lists the names."""
        full = self.full_name(name)
        if full not in self._specs:
            raise unknown(self.kind, name, self.names())
        return self._specs[full]

    def full_name(self, name: str) -> str:
        """Return what an alias stands for; any other name stands for itself."""
        load_plugins(self._package)
        return self._aliases.get(name, name)

    def names(self) -> list[str]:
        """Return all names, in the order of the alphabet."""
        load_plugins(self._package)
        return sorted(self._specs)


@cache
def load_plugins(package: str) -> None:
    """Import every public module of a package, and every module that an installed package offers for it.

    Args:
        package: Dotted name, e.g. `"whylight.methods"`; also the name of the entry-point group.
    """
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")
    for entry in entry_points(group=package):
        entry.load()


METHODS = Registry("method", "whylight.methods")
METRICS = Registry("metric", "whylight.metrics")
OBJECTIVES = Registry("objective", "whylight.objectives")
REMOVERS = Registry("remover", "whylight.perturb")


LayerKind = Literal["any", "post_norm"]


def method(  # noqa: PLR0913  one keyword per fact; there is nothing to group
    *,
    cite: str,
    signed: bool,
    cost: str = "",
    good_for: str = "",
    aliases: tuple[str, ...] = (),
    complete: bool = False,
    class_specific: bool = True,
    scores: tuple[ScoreSpace, ...] = (),
    layers: LayerKind | None = None,
    tried: bool = False,
    alone: bool = False,
    given: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Register a method: a function from views to scores `[targets, features]`.

    One whose first parameter is a `Sequence` of views gets those of several texts or windows, and returns a list.

    Args:
        cite: Key of the paper that defines it.
        signed: Whether negative scores mean evidence against the target.
        cost: What it takes for n features and one label with its defaults, e.g. `"n + 1 forward"`.
        good_for: When one would take it, in a short phrase.
        aliases: Shorter names, e.g. `("ig",)`; none may be the name of a method.
        complete: Whether scores are to sum to score(input) - score(baseline); it then returns `Scores` with their gap.
        class_specific: False if one row of scores holds for every target.
        scores: The scores that it explains, its own default first; if empty, all, by the default of the classifier.
        layers: Which layers it can take apart, if it does: any that are on record, or those that end in a norm.
        tried: Whether right views are not enough for it to work, so that it is tried before it is said to (as every
            method that looks at a trace is).
        alone: Whether it explains each window of a long text as a text of its own, whatever is asked.
        given: Settings that have no default to work with, by name, and what must be given, in words.
    """
    facts: dict[str, Any] = {"signed": signed, "complete": complete, "class_specific": class_specific}
    needs: dict[str, Any] = {"scores": scores, "layers": layers, "tried": tried, "alone": alone}
    needs["given"] = given or {}

    def register(function: F) -> F:
        METHODS.register(function, aliases=aliases, cite=cite, cost=cost, good_for=good_for, **facts, **needs)
        return function

    return register


def metric(
    *, cite: str, higher_is_better: bool, signed: bool = False, searches: bool = False, resamples: int = 500
) -> Callable[[F], F]:
    """Register a metric: a function of an explanation and one piece of evidence to one value per target.

    One whose first parameter is a `MarkedCorpus` is measured on all pairs of a data set: one value per draw.

    Args:
        cite: Key of the paper that defines it.
        higher_is_better: Direction in which a better explanation moves it.
        signed: Whether it is one of signed scores alone, and nan for others.
        searches: Whether what it asks of a game depends on what the game has answered.
        resamples: Of a metric over a corpus: draws of texts for its interval; fewer where each is a curve of all words.
    """
    facts: dict[str, Any] = {"cite": cite, "higher_is_better": higher_is_better, "signed": signed}

    def register(function: F) -> F:
        METRICS.register(function, **facts, searches=searches, resamples=resamples)
        return function

    return register


def remover(*, replacement: str | None = None, draws: bool = False) -> Callable[[F], F]:
    """Register a remover: a function of a window and keep masks to variants of the window.

    Args:
        replacement: Name of the replacement that the model must have for it, e.g. `"mask"`, or `"zero"` where
            word embeddings are changed.
        draws: Whether a coalition may have several weighted draws; scores are then of probabilities, and not of logits.
    """

    def register(function: F) -> F:
        REMOVERS.register(function, replacement=replacement, draws=draws)
        return function

    return register


Need = Literal["attention", "double_backward", "rationale", "teacher"]


def objective(
    *, cite: str, weight: float = 1.0, needs: tuple[Need, ...] = (), classifies: bool = False
) -> Callable[[F], F]:
    """Register an objective: a function of a training step to one term of the loss.

    Args:
        cite: Key of the paper that defines it.
        weight: Weight in the sum where the user names none.
        needs: What a step must offer to it: attention that can be read, gradients that can be differentiated again,
            rationales, or a frozen copy of the model that training starts from.
        classifies: Whether it teaches the labels by itself, so that `classification` is not added to it.
    """

    def register(function: F) -> F:
        OBJECTIVES.register(function, cite=cite, weight=weight, needs=needs, classifies=classifies)
        return function

    return register
