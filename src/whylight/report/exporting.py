"""Explanations of a run in the forms of other tools, each with the characters that scores are about.

    jsonl        one explanation per line: text, label, and `[{part, start, end, text, score}]`
    parquet      the same as one table, with lists `parts`, `starts`, `ends`, `scores`
    datasets     the same as a data set of Hugging Face (`datasets.load_from_disk`)
    brat, conll, labelstudio        evidence (`core/evidence.py`) of one method, as `report/marked.py` writes it;
                                    a method without a sign says what mattered, and is called so

Offsets are characters of Python, where the other tool does not count otherwise.

Rows are read one part at a time, and written as they come.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.evidence import evidence, speaks
from whylight.core.inputs import noun_of
from whylight.core.text import Span, text_of
from whylight.report.marked import MARKED_FORMS, Marked, beside, opened
from whylight.store import files, runs
from whylight.store.explanations import explanation_of
from whylight.store.tables import HUMAN, RANDOM, Row

Record = dict[str, Any]
MATTERED = "what mattered, for the label or against it"
MANY = 1000
"""Rows that are written at once."""
_FIELDS: list[tuple[str, pa.DataType]] = [
    *((name, pa.string()) for name in ("id", "text", "pair", "model", "method", "label")),
    ("target", pa.int64()),
    ("probability", pa.float64()),
    *((name, pa.list_(pa.int64())) for name in ("parts", "starts", "ends")),
    ("scores", pa.list_(pa.float64())),
]
_SCHEMA = pa.schema(_FIELDS)


def export(folder: Path | str, out: Path | str, *, form: str, method: str | None = None) -> int:
    """Write the explanations of a run in another form.

    Args:
        folder: The folder of a run.
        out: The file to write, or for `datasets` and `brat` the folder.
        form: One of `FORMS`.
        method: Only this method; forms that show evidence need one where there are several.

    Returns:
        How many explanations were written.

    Raises:
        InputError: The folder holds no run of texts, or a library is missing.
    """
    if form not in FORMS:
        raise unknown("form", form, list(FORMS))
    stored = runs.read(Path(folder))
    methods = dict.fromkeys(row["method"] for row in stored.explanations)
    if not methods:
        raise InputError(f"'{folder}' holds no explanation; `whylight run --out` makes some.")
    if method is not None and method not in methods:
        raise unknown("method of the run", method, list(methods))
    own = [name for name in methods if name not in (RANDOM, HUMAN)]
    if form in EVIDENCE and method is None:
        if len(own) > 1:
            raise SettingError(f"the form '{form}' shows one method; name it: --method {own[0]}, of {', '.join(own)}.")
        method = own[0]
    rows = (row for row in stored.explanations if method in (None, row["method"]))
    return FORMS[form](map(_text_row, rows), Path(out))


def _text_row(row: Row) -> Row:
    if row["kind"] != "text":
        raise InputError(
            f"an export holds characters of texts, and the run is of {noun_of(row['kind']).many}; "
            "`whylight query` reads it."
        )
    return row


def _flat(row: Row) -> Record:
    """Return an explanation with its places in lists of their own."""
    named = {name: row[name] for name in ("text", "pair", "model", "method", "label", "target", "probability")}
    columns = [list(column) for column in zip(*row["places"], strict=True)] or [[], [], []]
    parts, starts, ends = columns
    return {"id": row["example_id"], **named, "parts": parts, "starts": starts, "ends": ends, "scores": row["scores"]}


def _jsonl(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with opened(out) as file:
        for row in rows:
            count += 1
            flat = _flat(row)
            places = zip(flat.pop("parts"), flat.pop("starts"), flat.pop("ends"), flat.pop("scores"), strict=True)
            texts = (row["text"], row["pair"])
            words = [
                {"part": part, "start": start, "end": end, "text": (texts[part] or "")[start:end], "score": score}
                for part, start, end, score in places
            ]
            file.write(json.dumps({**flat, "words": words}, ensure_ascii=False) + "\n")
    return count


def _parquet(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with beside(out) as place, pq.ParquetWriter(place, _SCHEMA) as writer:
        for batch in _batches(map(_flat, rows)):
            count += len(batch)
            writer.write_table(pa.Table.from_pylist(batch, schema=_SCHEMA))
    return count


def _datasets(rows: Iterable[Row], out: Path) -> int:
    try:
        library = import_module("datasets")
    except ImportError:
        raise InputError("the form 'datasets' needs that library: pip install 'whylight[hub]'.") from None
    if out.exists():
        raise InputError(f"there is a '{out}' already; name another folder.")
    table = out.with_name(f"{out.name}{files.PART}.parquet")
    try:
        count = _parquet(rows, table)
        with files.said(out):
            library.Dataset(pa.Table.from_batches(pq.ParquetFile(table).iter_batches(), schema=_SCHEMA)).save_to_disk(
                out
            )
    finally:
        table.unlink(missing_ok=True)
    return count


def _marked(row: Row) -> Marked:
    """Return an explanation as a text with marks: the stretches that carry its label, in reading order."""
    found = explanation_of(row)
    if text_of(found.example).pair is not None:
        raise InputError("this form is of single texts, and the run is of pairs; export it as jsonl or parquet.")
    spans = evidence(found, found.targets[0], spans=len(row["scores"]))
    return Marked(
        id=row["example_id"],
        text=row["text"],
        label=row["label"],
        by=row["method"],
        note="" if row["method"] == HUMAN or speaks(found) else f"no sign: {MATTERED}",
        words=[Span(*place) for place in row["places"]],
        scores=row["scores"],
        spans=[(one.span, one.score) for one in sorted(spans, key=lambda own: own.start)],
        probability=row["probability"],
    )


def _of_rows(write: Callable[[Iterable[Marked], Path], int]) -> Callable[[Iterable[Row], Path], int]:
    return lambda rows, out: write(map(_marked, rows), out)


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    held: list[Record] = []
    for record in records:
        held.append(record)
        if len(held) >= MANY:
            yield held
            held = []
    if held:
        yield held


FORMS: dict[str, Callable[[Iterable[Row], Path], int]] = {
    "jsonl": _jsonl,
    "parquet": _parquet,
    "datasets": _datasets,
    **{name: _of_rows(write) for name, write in MARKED_FORMS.items()},
}
EVIDENCE = tuple(MARKED_FORMS)
"""Forms that show evidence, of one method."""
