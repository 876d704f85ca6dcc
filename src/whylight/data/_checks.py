"""What a value out of a file must be, and how it is named in a sentence where it is not."""

import reprlib
from pathlib import Path
from typing import TypeVar

from whylight.core.errors import InputError

T = TypeVar("T")
_LONGEST = 80
"""Characters of a value that are quoted in a sentence."""
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 3, _LONGEST, _LONGEST, _LONGEST


class Flaw(InputError):  # noqa: N818  it is one before it is an error
    """What is wrong with one record, to be put after "line 3 of ...": no name at its front, no full stop."""


def quotable(value: object) -> str:
    """Return a value as it may stand in a sentence: on one line, without control characters, not too long."""
    text = value if isinstance(value, str) else str(value) if isinstance(value, Path) else _SHORT.repr(value)
    if not isinstance(value, Path) and len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def visible_text(value: object, what: str) -> str:
    """Return a value that must be a text with something to see in it."""
    if not isinstance(value, str):
        raise Flaw(f"has no '{what}' that is a string")
    if not value.strip():
        raise Flaw(f"has an empty '{what}'")
    if not is_whole(value):
        raise Flaw(f"has half a character (a lone surrogate) in its '{what}'")
    return value


def name_of(value: object, what: str) -> str:
    """Return a value that must be a name: a string, or a number as its digits."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Flaw(f"has the {what} {quotable(value)}, which is neither a string nor a number")
    if not is_whole(name := str(value)):
        raise Flaw(f"has half a character (a lone surrogate) in its {what}")
    return name


def label_of(value: object) -> str:
    """Return a value that must be a label: a name, or a whole number as its digits."""
    if isinstance(value, list):
        raise Flaw(
            f"has the label {quotable(value)}; a list of labels stands in 'labels', or in the column that "
            "--label-column names"
        )
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) or not (is_number or (isinstance(value, str) and value.strip())):
        raise Flaw(f"has the label {quotable(value)}; a label is a name or a whole number")
    return name_of(value, "label")


def add(records: dict[str, T], name: str, record: T) -> None:
    """Add a record under its id, which no other may have."""
    if name in records:
        raise Flaw(f"has the id '{quotable(name)}' of an earlier line; ids must be unique")
    records[name] = record


def is_whole(text: str) -> bool:
    """Say whether a text has no half characters, which no file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
