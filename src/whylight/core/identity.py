"""What a folder of results is of: the contents of data and models that went into it, and the settings.

Names and paths tell people what was used. They do not tell one content from another (a file is edited, a model trained
on, a function changed), and so they are written down but are no part of an identity.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError
from whylight.core.inputs import JsonValue, Settings

LENGTH = 12
"""Digits of a name: that two questions share one is a chance of 1 in 10^14."""
MODEL_FILES = (".safetensors", ".json", ".txt", ".model")
RECEIPT = "training.json"
CALL = "call"
"""Where `asked` says how the question was put, for whoever puts it again."""
LOADED = "loaded"
"""Where `asked` says how the model was loaded, likewise."""
GIVEN = "given"
"""Where `asked` says which contents belong to some columns alone."""


def digest(parts: Iterable[JsonValue]) -> str:
    """Return a hash of values, the same for the same values in the same order."""
    found = hashlib.sha256()
    for part in parts:
        # lone surrogates are hashed as they are, so that two different texts never meet
        found.update(_canonical(part).encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()


def folder_digest(folder: Path) -> str:
    """Return a hash of weights, configuration and tokenizer in a folder; receipts are no part of them."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in MODEL_FILES and path.name != RECEIPT:
            found.update(f"{path.name}\n".encode("utf-8", "surrogateescape"))
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose results a folder holds.

    Results may come in columns, of which a folder can get more later: what belongs to one is then only compared with
    what the folder has of the same one.

    Attributes:
        contents: A hash of everything that went in, by what it is of, e.g. `{"weights": ..., "data": ...}`.
        settings: Everything that was asked for.
        names: What people call the data and the model.
        columns: Settings by column, by kind of column, e.g. `{"methods": {"lime": {...}}}`.
        given: Hashes of what went into some columns alone.
    """

    contents: Mapping[str, str]
    settings: Settings
    names: Mapping[str, JsonValue]
    columns: Mapping[str, Mapping[str, Settings]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A short name, the same for the same contents and settings."""
        return digest([{**self.contents, **self.given}, {**self.settings, **self._asked_columns}])[:LENGTH]

    @property
    def asked(self) -> dict[str, JsonValue]:
        """All of it as one JSON object, for the folder."""
        contents = {**self.contents, **self.given}
        whole = {**self.names, **self.settings, **self._asked_columns, "contents": contents, GIVEN: sorted(self.given)}
        whole = whole if self.given else {name: one for name, one in whole.items() if name != GIVEN}
        found: dict[str, JsonValue] = json.loads(_canonical(whole))
        return found

    @property
    def _asked_columns(self) -> dict[str, JsonValue]:
        return {kind: {name: dict(one) for name, one in own.items()} for kind, own in self.columns.items() if own}

    def refusal(self, folder: Path, known: object, *, kind: str, advice: str = "name another folder") -> InputError:
        """Build the one sentence that says how the results in a folder differ from these.

        Args:
            folder: The folder.
            known: What its results say was asked, as `asked` wrote it; anything else is not to be relied on.
            kind: What it holds: a run, a training or a search.
            advice: What to do.
        """
        if not isinstance(known, Mapping):
            return InputError(f"'{folder}' holds another {kind}; {advice}.")
        if not isinstance(known.get("contents"), Mapping):
            return InputError(
                f"'{folder}' holds a {kind}, made by whylight 0.1, which did not note what its data and weights were; "
                "name another folder."
            )
        others = self.differences(known)
        how = f", differing in {' and '.join(others)}" if others else ""
        return InputError(f"'{folder}' holds another {kind}{how}; {advice}.")

    def differences(self, known: Mapping[str, Any]) -> list[str]:
        """Say what differs from what a folder says was asked; columns of which there is one alone do not."""
        contents, settings = self.common_differences(known) or ([], [])
        settings = [*settings, *(f"{name}.{setting}" for _, name, setting in self.changed(known))]
        return [*contents, *([f"settings ({', '.join(settings)})"] if settings else [])]

    def common_differences(self, known: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
        """Return the contents and the settings that differ, those of columns aside; None if none does."""
        every = known["contents"]
        theirs = {name: one for name, one in every.items() if name not in (*known.get(GIVEN, ()), *self.given)}
        contents = _differing(self.contents, theirs)
        contents += _differing(self.given, every, only=[name for name in self.given if name in every])
        left_out = {*self.names, *self.columns, "contents", GIVEN, CALL, LOADED}
        settings = _differing(
            self.settings, known, only=[*self.settings, *(name for name in known if name not in left_out)]
        )
        return (contents, settings) if contents or settings else None

    def changed(self, known: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """Return the settings that a column has otherwise in a folder: kind and name of the column, and setting."""
        shared = [(kind, name) for kind, own in self.columns.items() for name in own if name in known.get(kind, {})]
        return [
            (kind, name, setting)
            for kind, name in shared
            for setting in _differing(self.columns[kind][name], known[kind][name])
        ]

    def joined(self, known: Mapping[str, Any]) -> "Identity":
        """Return these results and those that a folder says it has, as if all had been asked for at once."""
        columns = {kind: {**known.get(kind, {}), **own} for kind, own in self.columns.items()}
        given = {name: known["contents"][name] for name in known.get(GIVEN, ())}
        names = {name: known[name] for name in (CALL, LOADED) if name in known}
        names |= {name: known.get(name) if one is None else one for name, one in self.names.items()}
        return replace(self, columns=columns, given={**given, **self.given}, names=names)


def _differing(
    own: Mapping[str, object], other: Mapping[str, object], *, only: Iterable[str] | None = None
) -> list[str]:
    keys = dict.fromkeys([*own, *other] if only is None else only)
    return [key for key in keys if _canonical(own.get(key)) != _canonical(other.get(key))]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
