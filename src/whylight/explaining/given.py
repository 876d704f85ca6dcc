"""What a user may pass to be explained: one input, or several."""

from collections.abc import Iterable, Mapping
from typing import cast

from whylight.core.errors import InputError
from whylight.core.inputs import Input
from whylight.core.text import Text
from whylight.data.dataset import Record
from whylight.models.tokenised import check_text

Given = str | tuple[str, str] | Input | Record
"""What a user may pass for one input."""


def as_example(value: object) -> Input:
    """Turn what a user passes for one input into an example."""
    if _is_input(value):
        return cast("Input", value)
    if isinstance(value, Record):
        return value.example
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(one, str) for one in value):  # noqa: PLR2004
        return Text(*value)
    raise InputError(f"an input is a text or a pair of two texts, not {type(value).__name__}.")


def as_examples(inputs: Iterable[object]) -> list[Input]:
    """Turn inputs into examples, all of which can be read: the last is not found to be empty after the others' work."""
    several, found = list(inputs), list[Input]()
    for number, one in enumerate(several, start=1):
        try:
            found.append(as_example(one))
            if isinstance(found[-1], Text):
                check_text(found[-1])
        except InputError as error:
            if len(several) == 1:
                raise
            said = str(error).rstrip(".")
            raise InputError(f"{said} (number {number:,} of {len(several):,} inputs).") from None
    return found


def given_inputs(inputs: object) -> tuple[Iterable[Given], bool]:
    """Return the inputs that a user passes, as they are given, and whether it is one alone."""
    if isinstance(inputs, str | tuple | Record) or _is_input(inputs):
        return [cast("Given", inputs)], True
    if hasattr(inputs, "columns"):  # going through a table of pandas yields the names of its columns
        raise InputError("give one column of the table, e.g. list(table['text']), and not the table itself.")
    if isinstance(inputs, Iterable) and not isinstance(inputs, Mapping | bytes):
        return inputs, False
    raise InputError(f"give a text, a pair of two texts or a list of these, not {type(inputs).__name__}.")


def _is_input(value: object) -> bool:
    return isinstance(getattr(value, "kind", None), str) and hasattr(value, "coordinates")
