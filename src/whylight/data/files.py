"""Files of one's own: JSON lines, CSV, TSV or Parquet.

Layout: one record a line (row), with

- `text`, and `pair` for a second text;
- `label`, and `rationale` as `[[start, end], ...]`; or, multi-label, `labels` as a list, and `rationales` as
  `{label: [[start, end], ...]}`. A span `[part, start, end]` says which text it is in (0 the text, 1 the pair);
- `id` (else the line number), and `split`: where it is there, only rows of the split asked for are read.

In CSV and TSV (quotes as in CSV), lists and objects are cells of JSON; an empty cell is an absent one. A path is a file
(.jsonl, .jsonl.gz, .csv, .tsv, .parquet), or a folder with one a split, `train.jsonl` and so on.

Offsets are Python character indices. A span that is empty, or lies outside its text, is an error that names the line;
`invalid=drop` drops the span and counts it into the notes. Labels are all that the file has, in order.
"""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from whylight.core.errors import InputError, unknown
from whylight.core.example import Example, Span
from whylight.core.rationale import Rationale
from whylight.data import _reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

ENDINGS = (".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet")
SPLIT_FILES = {"dev": ("dev", "val", "validation", "valid")}
_OPTIONAL = ("pair", "rationale", "rationales", "labels", "label", "id", "split")
_PLAIN_SPAN = 2
Row = Mapping[str, Any]


@corpus(cite="")
def files(path: Path, split: str, *, invalid: Literal["error", "drop"] = "error") -> Dataset:
    """A file of one's own: JSON lines, CSV, TSV or Parquet."""
    names = SPLIT_FILES.get(split, (split,))
    file = path if path.is_file() else _file_of_split(path, names)
    splits: set[str] = set()
    records: dict[str, Record] = {}
    kinds: set[bool] = set()
    dropped = 0
    for line, row in rows(file):
        splits |= {str(row["split"])} if "split" in row else set()
        if row.get("split", split) not in names:
            continue
        try:
            found, lost = record(row, name=str(row.get("id", line)), invalid=invalid)
            kinds.add("labels" in row)
            _check_new(found, records, kinds)
        except InputError as error:
            raise _reading.broken(file, line, str(error)) from None
        records[found.id] = found
        dropped += lost
    if not records:
        raise unknown(f"split of '{file}'", split, sorted(splits))
    notes = [f"{dropped} spans that are empty or outside their text are dropped"] if dropped else []
    if file == path and not splits:
        notes.append(f"the file is read whole; the split '{split}' is only its name")
    title = file.name.removesuffix(".gz").rpartition(".")[0] if file == path else path.name
    return Dataset(title, split, label_order(records.values()), tuple(records.values()), True in kinds, tuple(notes))


def _file_of_split(folder: Path, names: tuple[str, ...]) -> Path:
    """Return the file of a split in a folder that has one file a split."""
    if not folder.is_dir():
        raise InputError(f"there is no file or folder '{folder}'.")
    there = {file.name.partition(".")[0]: file for file in sorted(folder.iterdir()) if file.name.endswith(ENDINGS)}
    if not there:
        raise InputError(f"the folder '{folder}' holds no data file; one ends in {', '.join(ENDINGS)}.")
    chosen = next((there[name] for name in names if name in there), None)
    if chosen is None:
        raise unknown(f"split of '{folder}'", names[0], there)
    return chosen


def rows(file: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file with their line numbers, without what is absent in them."""
    if file.name.endswith((".jsonl", ".jsonl.gz")):
        found: Iterator[tuple[int, Row]] = _reading.json_lines(file)
    elif file.suffix in (".csv", ".tsv"):
        found = _table(file, delimiter="," if file.suffix == ".csv" else "\t")
    elif file.suffix == ".parquet":
        found = _parquet(file)
    else:
        raise InputError(f"'{file.name}' is of no kind that can be read; a data file ends in {', '.join(ENDINGS)}.")
    empty = True
    for line, row in found:
        empty = False
        yield line, {key: value for key, value in row.items() if value is not None and (value != "" or key == "text")}
    if empty:
        raise InputError(f"'{file}' holds no record.")


def record(row: Row, *, name: str, invalid: str) -> tuple[Record, int]:
    """Build one record; return it and how many spans were dropped.

    Raises:
        InputError: What is wrong, to be put after "line 3 of ...".
    """
    example = example_of(row)
    labels, marked = _many(row) if "labels" in row else _one(row)
    rationales: dict[str, Rationale] = {}
    dropped = 0
    for label, spans in marked.items():
        kept = [span for value in _listed(spans, "a rationale") if (span := _span(value, example, invalid)) is not None]
        dropped += len(_listed(spans, "a rationale")) - len(kept)
        if label not in labels:
            raise InputError(f"has a rationale for '{label}', which is not among its labels")
        if kept:
            rationales[label] = Rationale(tuple(dict.fromkeys(kept)))
    return Record(name, example, labels, rationales), dropped


def example_of(row: Row) -> Example:
    """Return the text and pair of a row, or say what is wrong with them."""
    for key in ("text", "pair") if "pair" in row else ("text",):
        text = row.get(key)
        if not isinstance(text, str):
            raise InputError(f"has no '{key}' that is a string; a record needs 'text' and 'label' (or 'labels')")
        if not text.strip():
            raise InputError(f"has an empty '{key}'")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(f"has half a character (a lone surrogate) in its '{key}'")
    return Example(row["text"], row.get("pair"))


def label_order(records: Iterable[Record]) -> tuple[str, ...]:
    """Return all labels of some records: by value if they are whole numbers, else by the alphabet."""
    names = {label for one in records for label in (*one.labels, *one.rationales)}
    return tuple(sorted(names, key=int if all(name.isdecimal() for name in names) else str))


def _check_new(found: Record, records: Mapping[str, Record], kinds: set[bool]) -> None:
    if found.id in records:
        raise InputError(f"has the id '{found.id}' of an earlier line; leave 'id' out or make it unique")
    if len(kinds) > 1:
        raise InputError("mixes 'label' and 'labels'; use one of them in the whole file")


def _one(row: Row) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    if "label" not in row:
        raise InputError("has no 'label' (or 'labels')")
    label = _label(row["label"])
    return (label,), {label: row["rationale"]} if "rationale" in row else {}


def _many(row: Row) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    labels = tuple(dict.fromkeys(map(_label, _listed(row["labels"], "'labels'"))))
    marked = _unpacked(row.get("rationales", {}))
    if isinstance(marked, list):  # how Parquet hands over a map
        marked = dict(marked)
    if not isinstance(marked, dict):
        raise InputError("has 'rationales' that are not {label: [[start, end], ...]}")
    return labels, {_label(label): spans for label, spans in marked.items() if spans is not None}


def _label(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise InputError(f"has the label {value!r}; a label is a name or a whole number")
    if isinstance(value, float) and not value.is_integer():
        raise InputError(f"has the label {value}; a label is a name or a whole number")
    return str(int(value)) if isinstance(value, float) else str(value)


def _span(value: object, example: Example, invalid: str) -> Span | None:
    numbers = list(value) if isinstance(value, list | tuple) else []
    if len(numbers) == _PLAIN_SPAN:
        numbers = [0, *numbers]
    if len(numbers) != _PLAIN_SPAN + 1 or any(type(number) is not int for number in numbers):
        raise InputError(f"has the span {value!r}; a span is [start, end] or [part, start, end]")
    span = Span(*numbers)
    inside = 0 <= span.part < len(example.parts) and 0 <= span.start < span.end <= len(example.parts[span.part])
    if inside and example.slice(span).strip():
        return span
    if invalid == "drop":
        return None
    raise InputError(f"has the span {value!r}, which is empty or outside its text (invalid=drop leaves such spans out)")


def _listed(value: object, what: str) -> list[Any]:
    found = _unpacked(value)
    if not isinstance(found, list):
        raise InputError(f"has {what} that is not a list")
    return found


def _unpacked(value: object) -> Any:  # noqa: ANN401  whatever the JSON of a cell is
    """Return a value, read as JSON where a table could only hold it as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        raise InputError(f"has the cell '{value[:40]}', which should be JSON such as [[0, 4]]") from None


def _table(file: Path, *, delimiter: str) -> Iterator[tuple[int, Row]]:
    limit = csv.field_size_limit(sys.maxsize)  # the usual limit is shorter than a long document
    try:
        reader = csv.reader((line for _, line in _reading.raw_lines(file)), delimiter=delimiter, strict=True)
        lines = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise InputError(f"'{file}' is not a table: {error} at line {reader.line_num}.") from None
    finally:
        csv.field_size_limit(limit)
    header = lines[0][1] if lines else []
    if lines and "text" not in header:
        raise InputError(f"'{file}' has no column 'text'; its header is {', '.join(header)}.")
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise _reading.broken(file, number, f"has {len(cells)} columns; the header has {len(header)}")
        yield number, dict(zip(header, cells, strict=True))


def _parquet(file: Path) -> Iterator[tuple[int, Row]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("Parquet is read with pyarrow, which is not installed: pip install pyarrow.") from None
    try:
        table = parquet.read_table(file)
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise InputError(
            f"'{file}' cannot be read as Parquet: {str(error).partition(chr(10))[0].rstrip('.')}."
        ) from None
    if "text" not in table.column_names:
        raise InputError(f"'{file}' has no column 'text'; it has {', '.join(table.column_names)}.")
    known = [name for name in table.column_names if name in ("text", *_OPTIONAL)]
    yield from enumerate(table.select(known).to_pylist(), start=1)
