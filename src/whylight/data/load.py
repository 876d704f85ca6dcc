"""From what a user types to a data set: `sst:/path/to/trees`, a file of one's own, or `hf:NAME`."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.setting import Setting
from whylight.data import _reading as bounds
from whylight.data._checks import Flaw, label_of, quotable
from whylight.data._reading import Reading
from whylight.data._tables import ENDINGS, ends_in
from whylight.data.dataset import LOST, Dataset
from whylight.data.registry import CORPORA

ALIASES = {"val": "dev", "valid": "dev", "validation": "dev"}
"""Other names of the split that is called `dev` here, whatever a corpus's own files call it."""
TABLES = ENDINGS
"""How files end whose rows are records."""
BOUNDS = {
    "max_record_bytes": bounds.MAX_RECORD_BYTES,
    "max_file_bytes": bounds.MAX_FILE_BYTES,
    "max_expansion": bounds.MAX_EXPANSION,
}
"""How much is read at most, where the user says nothing else."""
_NAME = re.compile(r"[\w-]{2,}")
"""What a corpus might be called: one letter before a colon is a drive, and a name has neither separator nor ending."""


def dataset(
    spec: str | Path,
    /,
    *,
    split: str = "test",
    drop_broken: bool = False,
    labels: Mapping[Any, str] | None = None,
    **settings: object,
) -> Dataset:
    """Load one split of a corpus.

    Args:
        spec: `"CORPUS:PATH"`, where a known corpus name before the first colon decides; or the path of a .jsonl,
            .jsonl.gz, .csv, .tsv or .parquet file, or of a folder with one of these per split, or with parts of one
            table; or `"hf:NAME_OR_FOLDER"`.
        split: `train`, `dev` (also `val`, `validation`), `test`, or what else the corpus has.
        drop_broken: Leave out records that cannot be read, instead of refusing the data; a note counts and names them.
        labels: What labels are called in the model, e.g. `{0: "sadness", 1: "joy"}`: a name for every label of the
            data; one that is missing is refused.
        **settings: Settings of the corpus, e.g. `rationale="phrases"`, or for a file of one's own
            `text_column="review"`; and, for whatever is read from files, the bounds `max_record_bytes`,
            `max_file_bytes` and `max_expansion` (of packed files).

    Example:
        >>> import whylight as wl
        >>> data = wl.dataset("planted:", split="dev", labels={"negative": "bad", "positive": "good"})
        >>> data.label_names
        ('bad', 'good')
    """
    names = None if labels is None else label_map(labels)
    reading = reading_rules({"drop_broken": drop_broken, **{n: settings.pop(n) for n in BOUNDS if n in settings}})
    loaded = read_corpus(spec, split, reading, settings)
    return _noted(loaded if names is None else loaded.relabelled(names), reading)


def read_corpus(spec: str | Path, split: str, reading: Reading, settings: Mapping[str, object]) -> Dataset:
    """Load one split of a corpus, with labels as its files have them.

    Args:
        spec: What the user names.
        split: The split.
        reading: How files are read; what is dropped is counted there.
        settings: Settings of the corpus.
    """
    name, path = which_corpus(spec)
    chosen = CORPORA[name]
    _check_columns_are_named(name, settings)
    split = ALIASES.get(split, split)
    splits = chosen.facts["splits"]
    if splits and split not in splits:
        raise unknown(f"split of '{name}'", split, splits)
    takes = (path, split, reading) if Reading in chosen.consumes else (path, split)
    if reading.drop_broken and chosen.facts["needs_path"] and Reading not in chosen.consumes:
        raise SettingError(f"the corpus '{name}' cannot leave out broken records.")
    try:
        loaded: Dataset = chosen.function(*takes, **chosen.complete_settings(settings))
    except OSError as error:
        where = quotable(Path(str(error.filename or path)))
        raise InputError(f"'{where}' cannot be read: {error.strerror or quotable(str(error))}.") from None
    if not loaded.records:
        why = f": {reading.named[0]}" if reading.named else ""
        raise InputError(f"there is no record in the split '{quotable(split)}' of '{quotable(str(spec))}'{why}.")
    return loaded


def has_setting(spec: str | Path, setting: str) -> bool:
    """Say whether the corpus that a user names has a setting."""
    return setting in CORPORA[which_corpus(spec)[0]].settings


def is_table(file: Path) -> bool:
    """Say whether the rows of a file are records."""
    return ends_in(file.name, *TABLES)


def label_map(labels: Mapping[Any, str]) -> dict[str, str]:
    """Return what each label is to be called, as labels of data are written: numbers by their digits."""
    found: dict[str, str] = {}
    for old, new in labels.items() if isinstance(labels, Mapping) else [(labels, None)]:
        try:
            key, value = label_of(old), label_of(new)
        except Flaw:
            raise SettingError(
                f"a map of labels says what each is called, e.g. {{2: 'joy'}}, not {quotable(old)}: {quotable(new)}."
            ) from None
        if found.setdefault(key, value) != value:
            raise SettingError(f"the map of labels has two names for '{quotable(key)}': {found[key]}, {value}.")
    return found


def _check_columns_are_named(corpus: str, settings: Mapping[str, object]) -> None:
    """Refuse names of columns where a corpus has a layout of its own."""
    named = [one for one in settings if one.endswith("_column") and one not in CORPORA[corpus].settings]
    if named:
        takers = ", ".join(name for name in CORPORA.names() if named[0] in CORPORA[name].settings)
        raise SettingError(
            f"the corpus '{corpus}' has columns of its own; '{quotable(named[0])}' is for {takers or 'no corpus'}."
        )


def reading_rules(given: Mapping[str, object]) -> Reading:
    """Return how files are read, from what the user said."""
    kinds: dict[str, Setting] = {"drop_broken": Setting("drop_broken", bool, default=False)}
    kinds |= {name: Setting(name, int, default) for name, default in BOUNDS.items()}
    values: dict[str, Any] = {name: kinds[name].parse(value) for name, value in given.items()}
    for name in BOUNDS:
        if values.get(name, 1) < 1:
            raise SettingError(f"the setting '{name}' must be at least 1, not {values[name]}.")
    return Reading(**values)


def which_corpus(spec: str | Path) -> tuple[str, Path]:
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
        raise InputError(f"there is no file or folder '{quotable(text)}'.")
    return "files", Path(text)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no path at all: too long, or with a zero byte
        return False


def _noted(loaded: Dataset, reading: Reading) -> Dataset:
    """Add the notes that hold for every corpus: what was dropped, no labels, or one class only."""
    twice = [name for name, count in Counter(record.id for record in loaded).items() if count > 1]
    if twice:
        raise InputError(
            f"two records of '{quotable(loaded.name)}' have the id '{quotable(twice[0])}'; ids are unique."
        )
    notes = list(loaded.notes)
    if reading.dropped:
        notes.append(f"{LOST}{reading.left_out}")
    classes = {label for record in loaded for label in record.labels}
    if not classes:
        notes.append("the records have no gold label")
    elif len(classes) == 1 and not loaded.multi_label:
        notes.append(f"every labelled record has the label '{quotable(min(classes))}'")
    return replace(loaded, notes=tuple(notes))
