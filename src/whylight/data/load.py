"""From what a user types to a data set: `sst:/path/to/trees`, a file of one's own, or `hf:NAME`."""

import re
from dataclasses import replace
from pathlib import Path
from textwrap import shorten

from whylight.core.errors import InputError, unknown
from whylight.data.dataset import Dataset
from whylight.data.registry import CORPORA

ALIASES = {"val": "dev", "valid": "dev", "validation": "dev"}
"""Other names of the split that is called `dev` here, whatever a corpus's own files call it."""
_NAME = re.compile(r"[\w-]{2,}")
"""What a corpus might be called: one letter before a colon is a drive, and a name has neither separator nor ending."""


def dataset(spec: str | Path, *, split: str = "test", **settings: object) -> Dataset:
    """Load one split of a corpus.

    Args:
        spec: `"CORPUS:PATH"`, where a known corpus name before the first colon decides; or the path of a .jsonl,
            .jsonl.gz, .csv, .tsv or .parquet file, or of a folder with one of these a split; or `"hf:NAME_OR_FOLDER"`.
        split: `train`, `dev` (also `val`, `validation`), `test`, or what else the corpus has.
        **settings: Settings of the corpus, e.g. `rationale="phrases"`.
    """
    name, path = _which(spec)
    chosen = CORPORA[name]
    split = ALIASES.get(split, split)
    splits = chosen.facts["splits"]
    if splits and split not in splits:
        raise unknown(f"split of '{name}'", split, splits)
    loaded: Dataset = chosen.function(path, split, **chosen.complete_settings(settings))
    if not loaded.records:
        raise InputError(f"there is no record in the split '{split}' of '{spec}'.")
    return _noted(loaded)


def _which(spec: str | Path) -> tuple[str, Path]:
    """Tell the corpus and its path; whatever is not a known name and a colon is a path."""
    text = str(spec)
    there = _exists(text)
    if isinstance(spec, str):
        name, colon, path = text.partition(":")
        known = CORPORA.names()
        if name in known and (colon or not there):
            if not path and CORPORA[name].facts["needs_path"]:
                raise InputError(f"the corpus '{name}' is read from a path: give '{name}:/path/to/it'.")
            return name, Path(path)
        if _NAME.fullmatch(name) and not there:
            raise unknown("corpus", name, known)
    if not there:
        raise InputError(f"there is no file or folder '{shorten(text, 200)}'.")
    return "files", Path(text)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no path at all: too long, or with a zero byte
        return False


def _noted(loaded: Dataset) -> Dataset:
    """Add the notes that hold for every corpus: no labels, or one class only."""
    classes = {label for record in loaded for label in record.labels}
    if not classes:
        note = "the records have no gold label"
    elif len(classes) == 1 and not loaded.multi_label:
        note = f"every labelled record has the label '{min(classes)}'"
    else:
        return loaded
    return replace(loaded, notes=(*loaded.notes, note))
