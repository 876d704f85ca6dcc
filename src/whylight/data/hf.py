"""Data sets of the Hugging Face hub, through the optional `datasets` library.

Path: a name on the hub, or a folder (one that `save_to_disk` wrote, or one with data files). Columns are named by
settings; the text column is the first of `text`, `sentence`, `premise`, `review` and `content` that there is. A label
column with class names uses these; the label -1 stands for "unlabelled", as in GLUE. No rationale: convert to JSON
lines for that.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, unknown
from whylight.data.dataset import Dataset, Record
from whylight.data.files import example_of, label_order
from whylight.data.registry import corpus

TEXT_COLUMNS = ("text", "sentence", "premise", "review", "content")
_SPLITS = {"dev": ("validation", "dev", "val", "valid")}
_UNLABELLED = -1


@corpus(cite="lhoest2021")
def hf(
    path: Path,
    split: str,
    *,
    subset: str | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str = "label",
) -> Dataset:
    """A data set of the Hugging Face hub or in its format."""
    try:
        library = import_module("datasets")
    except ImportError:
        raise InputError(
            "'hf:' is read with the library datasets: pip install datasets, or give a .jsonl file."
        ) from None
    name = path.as_posix()
    parts = _loaded(library, name, subset)
    chosen = next((s for s in _SPLITS.get(split, (split,)) if s in parts), None)
    if chosen is None:
        raise unknown(f"split of 'hf:{name}'", split, parts)
    rows = parts[chosen]
    columns = list(rows.column_names)
    text = text or next((column for column in TEXT_COLUMNS if column in columns), TEXT_COLUMNS[0])
    for column in (text, label, *([pair] if pair else [])):
        if column not in columns:
            raise unknown(f"column of 'hf:{name}'", column, columns)
    names = getattr(rows.features[label], "names", None)
    records = tuple(_records(rows, columns=(text, pair, label), names=names))
    return Dataset(name, split, tuple(names) if names else label_order(records), records)


def _loaded(library: Any, name: str, subset: str | None) -> Mapping[str, Any]:  # noqa: ANN401  an optional library
    on_disk = Path(name) / "dataset_dict.json"
    try:
        found = library.load_from_disk(name) if on_disk.is_file() else library.load_dataset(name, subset)
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"'hf:{name}' cannot be loaded: {reason}.") from None
    return dict(found)


def _records(
    rows: Iterable[Mapping[str, Any]], *, columns: tuple[str, str | None, str], names: list[str] | None
) -> Iterable[Record]:
    text, pair, label = columns
    for number, row in enumerate(rows):
        value = row[label]
        gold = () if value is None or value == _UNLABELLED else (names[value] if names else str(value),)
        try:
            example = example_of({"text": row[text], **({"pair": row[pair]} if pair else {})})
        except InputError as error:
            raise InputError(f"row {number} of the data set {error}.") from None
        yield Record(str(number), example, gold)
