"""Settings of plug-ins: what a keyword-only parameter is called, which values it takes, and how texts become these."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from whylight.core.errors import SettingError, unknown
from whylight.core.inputs import JsonValue

SEEDS = 2**63
"""Random generators take seeds below this."""
_ARTICLES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One keyword-only parameter: its name, type and default."""

    name: str
    type: Any
    default: JsonValue

    @property
    def _choices(self) -> tuple[JsonValue, ...]:
        """The values that the type names one by one: all of a Literal, or those within a union."""
        kinds = (self.type, *get_args(self.type))
        return tuple(one for kind in kinds if get_origin(kind) is Literal for one in get_args(kind))

    def parse(self, value: object) -> JsonValue:
        """Turn a value, or its text from the command line, into this setting's type, or raise what would be right."""
        choices = self._choices
        for choice in choices:
            if str(choice) == str(value):
                return choice
        if get_origin(self.type) is Literal:
            raise unknown(f"value for '{self.name}'", value, map(str, choices))
        if str(value).lower() == "none" and type(None) in get_args(self.type):
            return None
        kind = next((t for t in (bool, int, float, str) if t is self.type or t in get_args(self.type)), str)
        try:
            parsed = _convert(value, kind)
        except (ValueError, TypeError, KeyError):
            raise SettingError(f"the setting '{self.name}' takes {_ARTICLES[kind]}, not '{value}'.") from None
        if self.name == "seed" and not 0 <= int(str(parsed)) < SEEDS:
            raise SettingError(f"the setting 'seed' must lie between 0 and {SEEDS - 1}, not {parsed}.")
        return parsed


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # "1e3" is a whole number too
        if not number.is_integer():
            raise
        return int(number)


def _convert(value: object, kind: type) -> JsonValue:
    if kind is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[str(value).lower()]
    if kind is int:
        return _whole_number(str(value))
    if kind is float:
        number = float(str(value))
        if not math.isfinite(number):
            raise ValueError(value)
        return number
    return str(value)
