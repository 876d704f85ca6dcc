"""What a folder of results is of: the contents of data and models that went into it, and the settings.

Names and paths tell people what was used. They do not tell one content from another (a file is edited, a model trained
on, a function changed), and so they are written down but are no part of an identity.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.inputs import JsonValue, Settings

LENGTH = 12
"""Digits of a name: that two questions share one is a chance of 1 in 10^14."""
MODEL_FILES = (".safetensors", ".json", ".txt", ".model")
RECEIPT = "training.json"


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

    Attributes:
        contents: A hash of everything that went in, by what it is of, e.g. `{"weights": ..., "data": ...}`.
        settings: Everything that was asked for.
        names: What people call the data and the model.
    """

    contents: Mapping[str, str]
    settings: Settings
    names: Mapping[str, JsonValue]

    @property
    def name(self) -> str:
        """A short name, the same for the same contents and settings."""
        return digest([dict(self.contents), dict(self.settings)])[:LENGTH]

    @property
    def asked(self) -> dict[str, JsonValue]:
        """All of it as one JSON object, for the folder."""
        found: dict[str, JsonValue] = json.loads(_canonical({**self.names, **self.settings, "contents": self.contents}))
        return found

    def refusal(self, folder: Path, known: object, *, kind: str) -> InputError:
        """Build the one sentence that says how the results in a folder differ from these.

        Args:
            folder: The folder.
            known: What its results say was asked, as `asked` wrote it; anything else is not to be relied on.
            kind: What it holds: a run, a training or a search.
        """
        if not isinstance(known, Mapping):
            return InputError(f"'{folder}' holds another {kind}; name another folder.")
        contents = known.get("contents")
        if not isinstance(contents, Mapping):
            return InputError(
                f"'{folder}' holds a {kind}, made by whylight 0.1, which did not note what its data and weights were; "
                "name another folder."
            )
        others = _differing(self.contents, contents)
        theirs = (key for key in known if key not in self.names and key != "contents")
        settings = _differing(self.settings, known, only=[*self.settings, *theirs])
        if settings:
            others.append(f"settings ({', '.join(settings)})")
        return InputError(f"'{folder}' holds another {kind}, differing in {' and '.join(others)}; name another folder.")


def _differing(
    own: Mapping[str, object], other: Mapping[str, object], *, only: Iterable[str] | None = None
) -> list[str]:
    keys = dict.fromkeys([*own, *other] if only is None else only)
    return [key for key in keys if _canonical(own.get(key)) != _canonical(other.get(key))]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
