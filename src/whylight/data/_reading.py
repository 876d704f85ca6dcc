"""Reading files so that every failure is one sentence with file and line.

Lines end at a line feed only: `str.splitlines` would also cut at characters that occur inside texts (U+0085, U+2028).
"""

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError


def broken(path: Path, line: int, problem: str) -> InputError:
    """Build the error for one line of a file; `problem` continues the sentence."""
    return InputError(f"line {line} of '{path}' {problem}.")


def find(folder: Path, *names: str, or_file: bool = False) -> Path:
    """Return the first of several files (names or patterns) that a folder holds.

    Args:
        folder: Where to look.
        *names: The files that would do, the best first.
        or_file: Whether the path may also be the file itself; False where a split would then be read for another.
    """
    if folder.is_file() and or_file:
        return folder
    if not folder.is_dir():
        what = "is a file" if folder.is_file() else "does not exist"
        raise InputError(f"'{folder}' {what}; give the folder that holds {' or '.join(names)}.")
    for name in names:
        for found in sorted(folder.glob(name)):
            if found.is_file():
                return found
    raise InputError(f"the folder '{folder}' holds no {' or '.join(names)}; give the folder that does.")


def raw_lines(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, plain or gzip, with their numbers and line ends."""
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                yield number, _decode(path, number, line, encoding)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"'{path}' cannot be read: {reason}.") from None


def lines(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers, without line ends."""
    for number, line in raw_lines(path, encoding=encoding):
        if line.strip():
            yield number, line.rstrip("\r\n")


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON-lines file, plain or gzip, with their line numbers."""
    for number, line in lines(path):
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise broken(path, number, f"is not JSON: {getattr(error, 'msg', error)}") from None
        if not isinstance(value, dict):
            raise broken(path, number, "is not a JSON object such as {'text': ..., 'label': ...}")
        yield number, value


def whole(path: Path) -> str:
    """Return a UTF-8 file as one text, line ends untouched, so that character offsets hold."""
    return "".join(line for _, line in raw_lines(path))


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _decode(path: Path, number: int, line: bytes, encoding: str) -> str:
    # only the first line may start with a byte-order mark
    codec = "utf-8-sig" if encoding == "utf-8" and number == 1 else encoding
    try:
        return line.decode(codec)
    except UnicodeDecodeError as error:
        raise broken(path, number, f"is not {encoding.upper()} at byte {error.start}; convert the file") from None
