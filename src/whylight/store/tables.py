"""The tables of a run: their columns, and files of them with checksums by which damage is noticed.

`explanations` has one row per example, method and target, `scores` one per example, method, target and metric, `curves`
one per example, method, target and remover; `tuning` holds the explanations that boundaries are tuned on, and `texts`
has one row per text that is done. What was measured while a text was done stands in `timings`, so that the other files
are the same whenever and wherever the work is done. Earlier versions had no `texts`, but `runs` with one row: what was
asked, and which texts are done.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
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
_TEXT_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("number", pa.int64()),
    ("example_id", pa.string()),
    ("tuning", pa.bool_()),
    ("explanations", pa.int64()),
    ("scores", pa.int64()),
    ("curves", pa.int64()),
    ("rows_run", pa.int64()),
    ("seconds", pa.float64()),
    ("peak_megabytes", pa.float64()),
    ("holds", pa.string()),
    ("record", pa.string()),
    ("digest", pa.string()),
    ("status", pa.string()),
    ("reason", pa.string()),
]
"""The same, one row per text: its place in the data, which cells its rows are (`store/columns.py`), a hash of the
record and one of its rows, and whether it failed and why; a text of a run that was asked for more later has several
rows. What was measured stands in `timings`: the time since the text before it, the most memory so far."""
_TIMING_FIELDS: list[tuple[str, pa.DataType]] = [
    ("number", pa.int64()),
    ("rows_run", pa.int64()),
    ("seconds", pa.float64()),
    ("peak_megabytes", pa.float64()),
    ("host", pa.string()),
    ("explained", pa.list_(pa.float64())),
]
"""What each text took, and each of its explanations, in their order."""
_RUN_FIELDS: list[tuple[str, pa.DataType]] = [
    ("run", pa.string()),
    ("asked", pa.string()),
    ("rows_run", pa.int64()),
    ("seconds", pa.float64()),
    ("peak_megabytes", pa.float64()),
    ("done", pa.list_(_DONE)),
]
EXPLANATIONS, SCORES, CURVES, TEXTS, TIMINGS, RUNS = map(
    pa.schema, (_EXPLANATION_FIELDS, _SCORE_FIELDS, _CURVE_FIELDS, _TEXT_FIELDS, _TIMING_FIELDS, _RUN_FIELDS)
)

_ABSENT = {
    *("text", "pair", "input", "remover", "remover_settings", "score_space", "correct", "completeness_gap"),
    *("value", "peak_megabytes", "done", "notes", "holds", "seconds", "rows_run"),
    *("record", "digest", "status", "reason"),
}
"""Columns in which a value may be missing."""
_ADDED = {
    *("done", "kind", "input", "model", "remover_settings", "prediction", "probabilities", "places"),
    *("completeness_gap", "holds", "record", "digest", "status", "reason"),
}
"""Columns that tables of earlier versions lack."""


def write(path: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    """Write rows as a table in one step.

    Raises:
        InputError: It cannot be written there.
    """
    write_table(path, pa.Table.from_pylist(list(rows), schema=schema))


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table in one step, with checksums.

    Raises:
        InputError: It cannot be written there.
    """
    write_summed(path, table)


def write_summed(path: Path, table: pa.Table) -> str:
    """Write a table as `write_table` does, and return the SHA-256 of the file."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, write_page_checksum=True)
    content = buffer.getvalue().to_pybytes()
    files.write(path, content)
    return hashlib.sha256(content).hexdigest()


def read(path: Path, schema: pa.Schema) -> list[Row]:
    """Read a table, of this version or an earlier one, as rows; none if it does not exist.

    Raises:
        InputError: It cannot be read, or is not such a table.
    """
    with files.said(path, doing="read"):
        if not path.exists():
            return []
    rows: list[Row] = read_table(path, schema, earlier=True).to_pylist()
    return rows


def read_table(path: Path, schema: pa.Schema, *, earlier: bool = False) -> pa.Table:
    """Read a table and check all of it.

    Args:
        path: The file.
        schema: Columns that it must have.
        earlier: Whether it may be of an earlier version, which lacks some of them.

    Raises:
        InputError: It cannot be read, or is not such a table: bytes are wrong, columns or values are missing.
    """
    with files.said(path, doing="read"):
        content = path.read_bytes()
    try:
        table = pq.read_table(pa.BufferReader(content), page_checksum_verification=True)
        fault = _fault(table, schema, earlier=earlier) or _uneven(table)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:  # whatever damage leads to
        raise damaged(path, _first_line(error)) from None
    if fault:
        raise damaged(path, fault)
    return table


def row_count(path: Path) -> int:
    """Return how many rows a table has, by what it says of itself.

    Raises:
        InputError: It cannot be read.
    """
    with files.said(path, doing="read"), path.open("rb") as file:
        try:
            return int(pq.read_metadata(file).num_rows)
        except (pa.ArrowException, ValueError, OverflowError, MemoryError) as error:
            raise damaged(path, _first_line(error)) from None


def damaged(path: Path, fault: str) -> InputError:
    """Build the one sentence about a table that is no table."""
    return InputError(
        f"'{path}' is damaged or not a table of a run ({fault}); remove it, and run the same command again."
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")[:SHOWN] or type(error).__name__


def _fault(table: pa.Table, schema: pa.Schema, *, earlier: bool) -> str | None:
    """Say what is wrong with the columns of a table, if anything is."""
    may_lack = _ADDED - (set() if "parts" in table.column_names else {"places"}) if earlier else set()
    for field in schema:
        if field.name not in table.column_names:
            if field.name in may_lack:
                continue
            return f"there is no column '{field.name}'"
        column = table.column(field.name)
        if column.type != field.type:
            return f"the column '{field.name}' holds {column.type}, not {field.type}"
        if column.null_count and field.name not in _ABSENT:
            return f"the column '{field.name}' lacks a value"
    return None


def _uneven(table: pa.Table) -> str | None:
    """Say whether lists that belong together have different lengths, or lack a value."""
    for names in _TOGETHER:
        if names[0] in table.column_names:
            lists = [table.column(name).combine_chunks() for name in names]
            lengths = [pc.list_value_length(one) for one in lists]
            if names[0] == "places":  # none are written where they follow from the input
                lengths[0] = pc.if_else(pc.equal(lengths[0], pa.scalar(0)), lengths[1], lengths[0])
            if not all(one.equals(lengths[0]) for one in lengths) or any(
                pc.list_flatten(one).null_count for one in lists
            ):
                return f"the columns {', '.join(names)} do not fit together"
    return None
