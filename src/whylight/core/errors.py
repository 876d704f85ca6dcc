"""Errors that a user can cause and mend; each message is one sentence that says what would work."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class WhylightError(ValueError):
    """Base of every error that is about the call, not about a bug."""

    exit_code = 2


class InputError(WhylightError):
    """The text or file cannot be explained as given."""


class ModelError(WhylightError):
    """The model cannot be loaded, or does not keep its contract."""


class SettingError(WhylightError):
    """A name or value is not one of those that exist."""


class IncompatibleError(WhylightError):
    """The method, remover or score does not fit this model."""


class LimitError(WhylightError):
    """The work would take more time or memory than it may.

    Args:
        message: What to say.
        seconds: How long the work would take, where that is what it is about.
    """

    def __init__(self, message: str, *, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


class UnmetError(WhylightError):
    """A training ended without a model that keeps its bound."""

    exit_code = 3


def unknown(kind: str, name: object, known: Iterable[str], *, most: int | None = None) -> SettingError:
    """Build the one sentence for a name that does not exist: the likely slip first, then all that do.

    Args:
        kind: What the name was meant to be, e.g. `"method"`.
        name: What was given.
        known: The names that exist.
        most: How many of them are listed, where there may be very many.
    """
    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return SettingError(f"unknown {kind} '{name}'.{hint} Known: {listed(names, most=most) or 'none'}.")


def listed(names: Sequence[str], *, most: int | None = None) -> str:
    """Return names with commas between them, and how many more there are beyond so many."""
    more = 0 if most is None else max(0, len(names) - most)
    return ", ".join(names[: len(names) - more]) + (f" and {more:,} more" if more else "")
