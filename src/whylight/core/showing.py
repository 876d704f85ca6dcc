"""Results show themselves: as a few lines, in a notebook, as a data frame and as a file.

What draws them lies in layers above, which nothing here may import. So there is one register of how things are shown:
a `Display` per class, found by the name of the class. Those of this package are modules of `whylight.report.displays`;
another package adds its own by an entry point in that group. A class shows itself by four lines:

    class Evaluation:
        __repr__ = showing.as_text
        _repr_html_ = showing.as_html
        to_frame = showing.to_frame
        save = showing.save

Functions are assigned, not inherited, so that a class has no base besides its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whylight.core.errors import SettingError, WhylightError
from whylight.core.registry import load_plugins

if TYPE_CHECKING:
    import pandas as pd

DISPLAYS = "whylight.report.displays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How things of one class are shown.

    Attributes:
        text: A few lines for a terminal, clean (`core/printable.py`).
        show: Prints all of it to the terminal, in colour where there is colour.
        html: A card or table for a notebook, escaped.
        records: The same as flat records, for a data frame.
        save: Writes it to a file, in the form that the ending of the name says.
    """

    text: Callable[[Any], str]
    show: Callable[[Any], None]
    html: Callable[[Any], str]
    records: Callable[[Any], Sequence[Mapping[str, Any]]]
    save: Callable[[Any, Path], None]


_DISPLAYS: dict[str, Display] = {}


def register_display(name: str, display: Display) -> None:
    """Say how things of the class of a name are shown."""
    if _DISPLAYS.setdefault(name, display) is not display:
        raise SettingError(f"two displays are registered for '{name}'; leave one of them out.")


def display_of(thing: object) -> Display:
    """Return how a thing is shown."""
    load_plugins(DISPLAYS)
    for kind in type(thing).__mro__:
        if kind.__name__ in _DISPLAYS:
            return _DISPLAYS[kind.__name__]
    raise SettingError(
        f"nobody says how '{type(thing).__name__}' is shown; results of this package are, and `register_display` adds "
        "others."
    )


def show(thing: object) -> None:
    """Print a result as the command line does: all of it, and in colour where there is colour.

    Args:
        thing: What a function of this package returned, such as an explanation or an evaluation.

    Example:
        >>> import whylight as wl
        >>> wl.show(wl.dataset("planted:", split="dev"))  # doctest: +SKIP
    """
    display_of(thing).show(thing)


def as_text(self: object) -> str:
    """Return a few lines that say what it is."""
    return display_of(self).text(self)


def as_html(self: object) -> str:
    """Return a card or a table, to be placed in a notebook."""
    return display_of(self).html(self)


def to_frame(self: object) -> "pd.DataFrame":
    """Return the numbers as a pandas frame, one row for each."""
    try:
        import pandas as pd  # noqa: PLC0415  an optional dependency, needed here alone
    except ImportError:
        raise WhylightError("to_frame needs pandas: pip install 'whylight[frame]'.") from None
    return pd.DataFrame([dict(one) for one in display_of(self).records(self)])


def save(self: object, path: str | Path) -> None:
    """Write it to a file, whose name ends in `.html`, `.json`, `.parquet`, `.png` or `.svg`.

    Args:
        self: What is written.
        path: The file; at every moment it holds either its old content or all of the new one.

    Raises:
        SettingError: It has no such form; the sentence names those that it has.
        InputError: The file cannot be written there.
    """
    display_of(self).save(self, Path(path))
