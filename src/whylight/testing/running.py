"""Checks: small functions of a subject, each of which raises one sentence that says a promise and what was found."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from whylight.core.errors import SettingError
from whylight.core.registry import Plugin, Registry, Spec

Subject = TypeVar("Subject")
Named = tuple[str, Callable[[], None]]
"""A check of one subject and its name."""


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """A promise of one kind of plug-in.

    Attributes:
        function: Raises an `AssertionError` if a subject breaks it; its name is that of the check.
        applies: Says whether a subject makes this promise at all.
    """

    function: Callable[[Subject], None]
    applies: Callable[[Subject], bool] = lambda _subject: True


def checks_of(checks: Iterable[Check[Subject]], subject: Subject) -> Iterator[Named]:
    """Yield the checks that say something about a subject, by name."""
    for one in checks:
        if one.applies(subject):
            yield one.function.__name__, partial(one.function, subject)


def run_checks(name: str, checks: Iterable[Named]) -> None:
    """Run all checks, and raise what all those that fail have to say, together."""
    broken, count = [], 0
    for title, check in checks:
        count += 1
        found = failure(check)
        if found is not None:
            broken.append(f"{title}: {found}")
    if broken:
        raise AssertionError("\n- ".join([f"'{name}' breaks {len(broken)} of {count} promises:", *broken]))


def failure(check: Callable[[], None]) -> str | None:
    """Return what a check says is broken, or None; what a plug-in raises is broken too."""
    try:
        check()
    except AssertionError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  a plug-in of others may raise anything, and the other checks shall still run
        return f"it raised {type(error).__name__}: {error}"
    return None


@contextmanager
def without_warnings() -> Iterator[None]:
    """Make an error of every warning: a plug-in that warns breaks a promise."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def promise(kept: object, sentence: str) -> None:
    """Raise a sentence unless a promise is kept."""
    if not kept:
        raise AssertionError(sentence)


def registered(registry: Registry, plugin: str | Plugin) -> Spec:
    """Return the entry of a plug-in that is given by its name or as the decorated function itself."""
    if isinstance(plugin, str):
        return registry[plugin]
    name = getattr(plugin, "__name__", repr(plugin))
    if name not in registry.names() or registry[name].function is not plugin:
        raise SettingError(f"'{name}' is no registered {registry.kind}: decorate it with @{registry.kind}(...).")
    return registry[name]


def settings_parse_back(subject: Any) -> None:  # noqa: ANN401  whatever has a `spec`
    """Every setting has a default of its own type, which its text on the command line stands for."""
    for name, setting in subject.spec.settings.items():
        default: Any = setting.default
        promise(isinstance(default, bool | int | float | str | None), f"the setting '{name}' needs a plain default.")
        for given in (default, str(default)):
            parsed = setting.parse(given)
            right = parsed == default and type(parsed) is type(default)
            promise(right, f"the default of '{name}' must parse back as {default!r}; {given!r} became {parsed!r}.")


def it_says_what_it_is(subject: Any) -> None:  # noqa: ANN401  as above
    """The first line of a docstring is a sentence, which lists of plug-ins show."""
    said = subject.spec.summary
    promise(said.endswith("."), f"the docstring must begin with a line that ends in a full stop, not with {said!r}.")


DECLARED: tuple[Check[Any], ...] = (Check(settings_parse_back), Check(it_says_what_it_is))
"""What every plug-in promises by its signature alone."""
