"""The tables of a run, and writing them so that a killed run leaves readable files.

`runs.parquet` has one row: what was asked. `explanations.parquet` has one row for each example, method and target,
`scores.parquet` one for each example, method, target and metric, `curves.parquet` one for each example, method, target
and remover; `tuning.parquet` holds the explanations that boundaries are tuned on. A file is written beside its place
and moved there.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whylight.core.errors import InputError

Row = dict[str, Any]
RANDOM, HUMAN = "random", "human"
"""Rows that methods are held against: chance, and what people marked."""
_EXPLANATION_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("example_id", pa.string()),
    ("text", pa.string()),
    ("pair", pa.string()),
    ("method", pa.string()),
    ("settings", pa.string()),
    ("unit", pa.string()),
    ("remover", pa.string()),
    ("score_space", pa.string()),
    ("target", pa.int64()),
    ("label", pa.string()),
    ("correct", pa.bool_()),
    ("probability", pa.float64()),
    ("signed", pa.bool_()),
    ("class_specific", pa.bool_()),
    ("parts", pa.list_(pa.int64())),
    ("starts", pa.list_(pa.int64())),
    ("ends", pa.list_(pa.int64())),
    ("scores", pa.list_(pa.float64())),
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
_RUN_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("asked", pa.string()),
    ("rows_run", pa.int64()),
    ("seconds", pa.float64()),
    ("peak_megabytes", pa.float64()),
]
EXPLANATIONS, SCORES, CURVES, RUNS = (
    pa.schema(fields) for fields in (_EXPLANATION_FIELDS, _SCORE_FIELDS, _CURVE_FIELDS, _RUN_FIELDS)
)


def write(path: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    """Write a table atomically."""
    table = pa.Table.from_pylist(list(rows), schema=schema)
    beside = path.with_name(f".{path.name}-{os.getpid()}")  # not mkstemp, whose files nobody else may read
    try:
        with beside.open("wb") as file:  # pyarrow itself cannot open every name that a file may have
            pq.write_table(table, file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path) -> list[Row]:
    """Read a table as rows; none if it does not exist."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            rows: list[Row] = pq.read_table(file).to_pylist()
    except pa.ArrowInvalid:
        raise InputError(f"'{path}' is not a Parquet table.") from None
    return rows
