"""Prompts by name: those that come with the package, and TOML files of users.

sentiment                        one that is ready
mine.toml                        one of a file
sentiment[features=text+shots]   either of them, with other settings
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.prompt import PARTS, Prompt, Shot

READY = Path(__file__).resolve().parent.parent / "models" / "prompts"
"""Where the prompts are that come with the package."""
SETTINGS = re.compile(r"(?P<name>[^\[\]]+)\[(?P<settings>[^\[\]]*)\]")
CHANGED = ("features", "scoring", "calibration", "neutral")
"""Settings that may stand behind a name."""


def read_prompt(source: str | Path | Prompt) -> Prompt:
    """Return a prompt: one that comes with the package by its name, or one in a TOML file.

    Args:
        source: A name, the path of a file, or a prompt; settings may stand behind it, `sentiment[scoring=sum]`.
    """
    if isinstance(source, Prompt):
        return source
    if not isinstance(source, str | Path):
        raise InputError(f"a prompt is a name, a TOML file or a wl.Prompt, not a {type(source).__name__}.")
    if str(source) in ready_prompts():
        return _read(READY / f"{source}.toml")
    path, changed = Path(source), SETTINGS.fullmatch(str(source))
    if path.is_file():
        return _read(path)
    if changed is not None:
        return _changed(read_prompt(changed["name"]), changed["settings"])
    known = ", ".join(ready_prompts())
    raise InputError(f"there is no prompt '{source}': name a TOML file, or one that is ready: {known}.")


def _changed(prompt: Prompt, settings: str) -> Prompt:
    """Return a prompt with other settings, `NAME=VALUE,NAME=VALUE`; values of features have a plus between them."""
    own: dict[str, Any] = {}
    for pair in settings.split(","):
        name, _, value = (one.strip() for one in pair.partition("="))
        if name not in CHANGED or not value:
            raise SettingError(
                f"a prompt with settings is {prompt.name}[NAME=VALUE,NAME=VALUE], of {', '.join(CHANGED)}; e.g. "
                f"{prompt.name}[features=text+shots]."
            )
        own[name] = tuple(value.split("+")) if name == "features" else value
    return replace(prompt, **own)


def ready_prompts() -> tuple[str, ...]:
    """Return the names of the prompts that come with the package."""
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def _read(path: Path) -> Prompt:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the prompt '{path}' cannot be read: {error}.") from None
    known = [one.name for one in fields(Prompt)]
    for name in found:
        if name not in known:
            raise unknown(f"entry of the prompt '{path}'", name, known)
    if "template" not in found:
        raise InputError(f"the prompt '{path}' lacks 'template'.")
    _check_types(found, path)
    shots = tuple(_shot(one, path) for one in found.get("shots", ()))
    features = tuple(map(str, found.get("features", PARTS)))
    return Prompt(**{"name": path.stem, **found, "shots": shots, "features": features})


def _shot(given: object, path: Path) -> Shot:
    known = [one.name for one in fields(Shot)]
    if not isinstance(given, dict) or not {"text", "label"} <= set(given) <= set(known):
        raise InputError(f"each [[shots]] of the prompt '{path}' has 'text' and 'label', and perhaps 'pair'.")
    return Shot(**{name: str(value) for name, value in given.items()})


_KINDS: Mapping[str, tuple[type, str]] = {
    "answers": (dict, "a table"),
    "shots": (list, "a list of tables"),
    "chat": (bool, "true or false"),
    "features": (list, "a list of names"),
    "length": (int, "a whole number"),
}
"""What entries of a file are, where they are no texts."""


def _check_types(found: Mapping[str, Any], path: Path) -> None:
    """Refuse an entry of another kind than the prompt's own, before it is used."""
    for name, value in found.items():
        wanted, called = _KINDS.get(name, (str, "a text"))
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise InputError(f"'{name}' of the prompt '{path}' must be {called}.")
    for label, answer in found.get("answers", {}).items():
        if not isinstance(answer, str):
            raise InputError(f"the answer for '{label}' of the prompt '{path}' must be a text.")
