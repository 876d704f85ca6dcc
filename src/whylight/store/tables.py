"""The tables of a run, and writing them so that a killed run leaves readable files.

`runs.parquet` has one row: what was asked, and which texts are done. `explanations.parquet` has one row for each
example, method and target, `scores.parquet` one for each example, method, target and metric, `curves.parquet` one for
each example, method, target and remover; `tuning.parquet` holds the explanations that boundaries are tuned on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whylight.core.errors import InputError
from whylight.store import files

Row = dict[str, Any]
RANDOM, HUMAN = "random", "human"
"""Rows that methods are held against: chance, and what people marked."""
SHOWN = 200
"""Characters of another library's complaint that are repeated."""
_TOGETHER = (("places", "scores"), ("parts", "starts", "ends", "scores"), ("shares", "without_top", "top_alone"))
_EXPLANATION_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("example_id", pa.string()),
    ("kind", pa.string()),
    ("text", pa.string()),
    ("pair", pa.string()),
    ("input", pa.string()),
    ("model", pa.string()),
    ("method", pa.string()),
    ("settings", pa.string()),
    ("unit", pa.string()),
    ("remover", pa.string()),
    ("remover_settings", pa.string()),
    ("score_space", pa.string()),
    ("target", pa.int64()),
    ("label", pa.string()),
    ("correct", pa.bool_()),
    ("probability", pa.float64()),
    ("prediction", pa.string()),
    ("probabilities", pa.list_(pa.float64())),
    ("signed", pa.bool_()),
    ("class_specific", pa.bool_()),
    ("places", pa.list_(pa.list_(pa.int64()))),
    ("scores", pa.list_(pa.float64())),
    ("completeness_gap", pa.float64()),
    ("seconds", pa.float64()),
    ("forward_passes", pa.int64()),
    ("backward_passes", pa.int64()),
    ("notes", pa.list_(pa.string())),
]
_SCORE_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("example_id", pa.string()),
    ("method", pa.string()),
    ("target", pa.int64()),
    ("label", pa.string()),
    ("correct", pa.bool_()),
    ("metric", pa.string()),
    ("settings", pa.string()),
    ("remover", pa.string()),
    ("score_space", pa.string()),
    ("value", pa.float64()),
]
_CURVE_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("example_id", pa.string()),
    ("method", pa.string()),
    ("target", pa.int64()),
    ("label", pa.string()),
    ("correct", pa.bool_()),
    ("remover", pa.string()),
    ("score_space", pa.string()),
    ("shares", pa.list_(pa.float64())),
    ("without_top", pa.list_(pa.float64())),
    ("top_alone", pa.list_(pa.float64())),
]
_DONE = pa.struct(
    [
        ("example_id", pa.string()),
        ("tuning", pa.bool_()),
        ("explanations", pa.int64()),
        ("scores", pa.int64()),
        ("curves", pa.int64()),
        ("rows_run", pa.int64()),
    ]
)
"""A text that is done, how many rows of each table are its, and how many inputs the model was given for it."""
_RUN_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("asked", pa.string()),
    ("rows_run", pa.int64()),
    ("seconds", pa.float64()),
    ("peak_megabytes", pa.float64()),
    ("done", pa.list_(_DONE)),
]
EXPLANATIONS, SCORES, CURVES, RUNS = (
    pa.schema(fields) for fields in (_EXPLANATION_FIELDS, _SCORE_FIELDS, _CURVE_FIELDS, _RUN_FIELDS)
)


_ABSENT = {
    *("text", "pair", "input", "remover", "remover_settings", "score_space", "correct", "completeness_gap"),
    *("value", "peak_megabytes", "done", "notes"),
}
"""Columns in which a value may be missing."""
_ADDED = {
    *("done", "kind", "input", "model", "remover_settings", "prediction", "probabilities", "places"),
    "completeness_gap",
}
"""Columns that tables of version 0.1 lack."""


def write(path: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    """Write a table in one step, with checksums by which damage is noticed.

    Raises:
        InputError: It cannot be written there.
    """
    content = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), content, write_page_checksum=True)
    files.write(path, content.getvalue().to_pybytes())


def read(path: Path, schema: pa.Schema) -> list[Row]:
    """Read a table as rows; none if it does not exist.

    Raises:
        InputError: It cannot be read, or is not such a table: bytes are wrong, columns or values are missing.
    """
    with files.said(path, doing="read"):
        if not path.exists():
            return []
        content = path.read_bytes()
    try:
        table = pq.read_table(pa.BufferReader(content), page_checksum_verification=True)
        fault = _fault(table, schema)
        rows: list[Row] = [] if fault else table.to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:  # whatever damage leads to
        fault = str(error).strip().partition("\n")[0].rstrip(".")[:SHOWN] or type(error).__name__
        rows = []
    fault = fault or _uneven(rows)
    if fault:
        raise InputError(f"'{path}' is damaged or not a table of a run ({fault}); remove it, and evaluate again.")
    return rows


def _fault(table: pa.Table, schema: pa.Schema) -> str | None:
    """Say what is wrong with the columns of a table, if anything is."""
    for field in schema:
        if field.name not in table.column_names:
            if field.name in _ADDED:
                continue
            return f"there is no column '{field.name}'"
        column = table.column(field.name)
        if column.type != field.type:
            return f"the column '{field.name}' holds {column.type}, not {field.type}"
        if column.null_count and field.name not in _ABSENT:
            return f"the column '{field.name}' lacks a value"
    return None


def _uneven(rows: Sequence[Row]) -> str | None:
    """Say whether lists that belong together have different lengths, or lack a value."""
    for names in _TOGETHER:
        for row in rows if rows and names[0] in rows[0] else ():
            values = [row[name] for name in names]
            if len({len(one) for one in values}) > 1 or any(None in one for one in values):
                return f"the columns {', '.join(names)} do not fit together"
    return None
