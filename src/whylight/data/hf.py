"""Data sets of the Hugging Face hub, through the optional `datasets` library.

Path: a name on the hub, or a folder (one that `save_to_disk` wrote, or one with data files). Columns are named by
settings, as for files; the text column is the first of `text`, `sentence`, `premise`, `review` and `content` that there
is, the label column `label`; with `unlabelled=true` no label is read unless its column is named. A label
column with class names uses these; the label -1 stands for "unlabelled", as in GLUE. No rationale: convert to JSON
lines for that.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, unknown
from whylight.data._checks import Flaw, label_of, quotable
from whylight.data._columns import Named
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.files import example_of, label_order
from whylight.data.registry import corpus

TEXT_COLUMNS = ("text", "sentence", "premise", "review", "content")
_SPLITS = {"dev": ("validation", "dev", "val", "valid")}
_UNLABELLED = -1


@corpus(cite="lhoest2021")
def hf(  # noqa: PLR0913  settings
    path: Path,
    split: str,
    reading: Reading,
    *,
    subset: str | None = None,
    unlabelled: bool = False,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
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
    text = text_column or next((column for column in TEXT_COLUMNS if column in columns), TEXT_COLUMNS[0])
    label = label_column or (None if unlabelled else "label")
    Named(text, pair_column, label).check(columns, f"hf:{name}")
    names = None if label is None else getattr(rows.features[label], "names", None)
    chosen_columns = (text, pair_column, label)
    records = tuple(_hub_records(rows, reading, name=Path(f"hf:{name}"), columns=chosen_columns, names=names))
    return Dataset(name, split, tuple(names) if names else label_order(records), records)


def _loaded(library: Any, name: str, subset: str | None) -> Mapping[str, Any]:  # noqa: ANN401  an optional library
    on_disk = Path(name) / "dataset_dict.json"
    try:
        found = library.load_from_disk(name) if on_disk.is_file() else library.load_dataset(name, subset)
    except (OSError, ValueError, RuntimeError) as error:
        reason = quotable((str(error).splitlines() or [type(error).__name__])[0].rstrip("."))
        raise InputError(f"'hf:{name}' cannot be loaded: {reason}.") from None
    return dict(found)


def _hub_records(
    rows: Iterable[Mapping[str, Any]],
    reading: Reading,
    *,
    name: Path,
    columns: tuple[str, str | None, str | None],
    names: list[str] | None,
) -> Iterable[Record]:
    text, pair, label = columns
    for number, row in enumerate(rows):
        try:
            example = example_of({"text": row[text], **({"pair": row[pair]} if pair else {})})
            record = Record(str(number), example, () if label is None else _gold(row[label], names))
        except Flaw as flaw:
            reading.drop(name, number, flaw, unit="row")
        else:
            yield record


def _gold(value: object, names: list[str] | None) -> tuple[str, ...]:
    if value is None or value == _UNLABELLED:
        return ()
    if names is None:
        return (str(value) if isinstance(value, bool) else label_of(value),)
    if type(value) is not int or not 0 <= value < len(names):
        raise Flaw(f"has the label {quotable(value)}, which is none of {len(names)} classes")
    return (names[value],)
