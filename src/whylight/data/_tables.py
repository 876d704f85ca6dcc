"""The rows of a data file: JSON lines, CSV, TSV or Parquet, a few at a time."""

import csv
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, WhylightError
from whylight.data._checks import Flaw, is_whole, quotable
from whylight.data._columns import KNOWN, PLAIN, TEXTS, Named, meant_by
from whylight.data._reading import ALWAYS_UNPACKED, RawRow, Reading

ENDINGS = (".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet")
LINES = ".txt"
"""How a file ends that holds one text per line, and no label."""
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}
"""What may stand between columns; of CSV commas do, of TSV tabs."""
STRINGS = ("string", "large_string")
"""Types of columns whose values can be kept once each."""
_BATCH_ROWS = 1024
_MOST_SHOWN = 50
"""Columns that a message lists."""


def ends_in(name: str, *endings: str) -> bool:
    """Say whether the name of a file ends so; `.CSV` is `.csv`."""
    return name.lower().endswith(endings)


def unit(file: Path) -> str:
    """Return what a record of a file is called in a sentence."""
    return "row" if ends_in(file.name, ".parquet") else "line"


def table_rows(file: Path, reading: Reading, named: Named) -> Iterator[tuple[int, RawRow]]:
    """Yield the rows of a file with their numbers.

    Args:
        file: The file.
        reading: How much is read, and what happens to broken rows.
        named: Columns that the user calls by name; where the file has a header, they must be in it.
    """
    if ends_in(file.name, ".jsonl", ".jsonl.gz"):
        found: Iterator[tuple[int, RawRow]] = reading.json_lines(file)
    elif ends_in(file.name, ".csv", ".tsv"):
        found = _table(file, reading, named, delimiter="," if ends_in(file.name, ".csv") else "\t")
    elif ends_in(file.name, ".parquet"):
        found = _parquet(file, reading, named)
    elif ends_in(file.name, LINES):
        named.check(["text"], file)
        found = ((number, {"text": line}) for number, line in reading.lines(file))
    else:
        endings = ", ".join(ENDINGS)
        raise InputError(
            f"'{quotable(file)}' is of no kind that can be read; a data file ends in {endings}, or in {LINES} where "
            "each line is a text without a label."
        )
    empty = True
    for line, row in found:
        empty = False
        yield line, row
    if empty and not reading.dropped:
        raise InputError(f"'{quotable(file)}' holds no record.")


def _check_columns(file: Path, names: list[str], named: Named) -> None:
    """Refuse columns without a text, or two of one name."""
    named.check(names, file)
    if named.text is None and not any(name in TEXTS for name in names):
        close = next((name for name in names if meant_by(name) == "text"), "NAME")
        listed = ", ".join(quotable(name) for name in names[:_MOST_SHOWN])
        raise InputError(
            f"'{quotable(file)}' has no column 'text'; its header is {listed}. Say which column holds the texts: "
            f"--text-column {quotable(close)}, in Python text_column='{quotable(close)}'."
        )
    twice = next((one for one, other in pairwise(sorted(names)) if one == other), None)
    if twice is not None:
        raise InputError(f"'{quotable(file)}' has two columns '{quotable(twice)}'; each needs a name of its own.")


def _table(file: Path, reading: Reading, named: Named, *, delimiter: str) -> Iterator[tuple[int, RawRow]]:
    header: list[str] | None = None
    _check_first_line(file, reading, named, delimiter)
    for number, cells in delimited_cells(file, reading, delimiter):
        if header is None:
            header = cells
            _check_columns(file, header, named)
            continue
        if len(cells) != len(header):
            reading.drop(file, number, Flaw(f"has {len(cells)} columns; the header has {len(header)}"))
        elif not all(map(is_whole, cells)):
            reading.drop(file, number, Flaw("is not UTF-8; convert the file"))
        else:
            yield number, dict(zip(header, cells, strict=True))


def _check_first_line(file: Path, reading: Reading, named: Named, delimiter: str) -> None:
    """Refuse a file of another encoding, or of another kind of table, before it is taken apart as what it is not."""
    lines = reading.aside(strict=True).raw_lines(file, errors="surrogateescape")
    line = next((line.strip() for _, line in lines if line.strip()), "")
    if not is_whole(line) or "\0" in line:
        raise InputError(f"'{quotable(file)}' is not UTF-8; convert it first, e.g. with iconv.")
    other = next((mark for mark in DELIMITERS if mark != delimiter and mark in line), None)
    if other is None or delimiter in line or line in named.roles or _is_one_name(line):
        return
    raise InputError(
        f"the columns of '{quotable(file)}' stand between {DELIMITERS[other]}, and those of a {file.suffix} file "
        f"between {DELIMITERS[delimiter]}; write it so, e.g. with to_csv of pandas."
    )


def _is_one_name(line: str) -> bool:
    """Say whether a header is one name in quotes, or the first line of one."""
    inside = line[1:].replace('""', "").rstrip()
    return line[:1] == '"' and '"' not in inside.removesuffix('"')


def delimited_cells(file: Path, reading: Reading, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row; a row whose quotes are broken ends the file, since nobody knows where it ends.

    Bytes that are not UTF-8 come out as half characters, so that the row can be refused rather than a line inside it.
    """
    lines = (line for _, line in reading.aside(strict=True).raw_lines(file, errors="surrogateescape"))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        limit = csv.field_size_limit(reading.max_record_bytes)  # the usual limit is shorter than a long document
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"'{quotable(file)}' is not a table: {quotable(str(error))} at line {reader.line_num}."
            ) from None
        finally:
            csv.field_size_limit(limit)
        if cells is None:
            return
        if cells:
            yield reader.line_num, cells


def _parquet(file: Path, reading: Reading, named: Named) -> Iterator[tuple[int, RawRow]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("Parquet is read with pyarrow, which is not installed: pip install pyarrow.") from None
    try:
        with parquet.ParquetFile(file) as opened:
            names = list(opened.schema_arrow.names)
            _check_columns(file, names, named)
            _check_unpacked_size(file, opened.metadata, reading)
            texts = [one.name for one in opened.schema_arrow if str(one.type) in STRINGS]
        # a value that is repeated a million times is kept once
        plain = [name for name in texts if name in {*PLAIN, *named.roles}]
        with parquet.ParquetFile(file, read_dictionary=plain) as opened:
            yield from _parquet_rows(file, opened, reading, {*KNOWN, *named.roles})
    except WhylightError:
        raise
    except (OSError, ValueError, NotImplementedError, OverflowError, KeyError, TypeError) as error:  # pyarrow's own
        reason = quotable(str(error).partition("\n")[0].rstrip("."))
        raise InputError(f"'{quotable(file)}' cannot be read as Parquet: {reason}.") from None


def _check_unpacked_size(file: Path, metadata: Any, reading: Reading) -> None:  # noqa: ANN401  an optional library
    """Refuse a file whose pages unpack to too much; columns are not asked, since damaged ones end the process."""
    total = sum(int(metadata.row_group(i).total_byte_size) for i in range(metadata.num_row_groups))
    if total > reading.max_file_bytes:
        raise InputError(f"'{quotable(file)}' {reading.too_large()}.")
    if total > max(ALWAYS_UNPACKED, reading.max_expansion * file.stat().st_size):
        raise InputError(f"'{quotable(file)}' {reading.too_packed()}.")


def _parquet_rows(
    file: Path,
    opened: Any,  # noqa: ANN401  as above
    reading: Reading,
    wanted: set[str],
) -> Iterator[tuple[int, RawRow]]:
    """Yield rows; columns that are not read are there by name alone."""
    names = list(opened.schema_arrow.names)
    others = dict.fromkeys(name for name in names if name not in wanted)
    known = [name for name in names if name in wanted]
    total, number = 0, 0
    for batch in opened.iter_batches(batch_size=_BATCH_ROWS, columns=known):
        for i in range(batch.num_rows):
            number += 1
            row = {name: column[i].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            sizes = [len(value) for value in row.values() if isinstance(value, str)]
            total += sum(sizes)
            if total > reading.max_file_bytes:
                raise InputError(f"'{quotable(file)}' {reading.too_large()}.")
            if max(sizes, default=0) > reading.max_record_bytes:
                reading.drop(file, number, Flaw(reading.too_long()), unit="row")
            else:
                yield number, {**row, **others}
