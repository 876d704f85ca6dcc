"""Reading files within bounds, so that every failure is one sentence with file and line.

Lines end at a line feed only: `str.splitlines` would also cut at characters that occur inside texts (U+0085, U+2028).

A corpus that takes a `Reading` after its path and split reads through it. What is wrong with one record goes to
`Reading.drop`, which raises, or counts it where the user asked for that; what is wrong with a whole file is raised.
"""

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError
from whylight.data._checks import Flaw, quotable

RawRow = Mapping[str, Any]
"""A row as it stands in a file, by column; nothing in it is checked yet."""

MAX_RECORD_BYTES = 64 * 2**20
"""Longest line, and largest document of its own file: ten million words."""
MAX_FILE_BYTES = 4 * 2**30
"""Largest file, unpacked."""
MAX_EXPANSION = 100
"""How many times its own size a packed file may unpack to; texts pack to a third or a tenth."""
ALWAYS_UNPACKED = 4 * 2**20
"""Bytes that a packed file may hold whatever its own size."""
NAMED = 3
"""Dropped records that are named in the notes."""
_BLOCK = 2**20


def broken(path: Path, line: int, problem: object, *, unit: str = "line") -> InputError:
    """Build the error for one line of a file; `problem` continues the sentence."""
    return InputError(f"{unit} {line} of '{quotable(path)}' {problem}.")


def find_file(folder: Path, *names: str, or_file: bool = False) -> Path:
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
        raise InputError(f"'{quotable(folder)}' {what}; give the folder that holds {' or '.join(names)}.")
    for name in names:
        for found in sorted(folder.glob(name)):
            if found.is_file():
                return found
    raise InputError(f"the folder '{quotable(folder)}' holds no {' or '.join(names)}; give the folder that does.")


def inside(folder: Path, name: str) -> Path | None:
    """Return the file of a folder that a record names, or None; a name or link that leads out of it is refused."""
    try:
        file, root = (folder / name).resolve(), folder.resolve()
        is_file = file.is_file()
    except (OSError, ValueError, RuntimeError):  # no name of a file: too long, with a zero byte, a link to itself
        return None
    if not file.is_relative_to(root):
        raise Flaw(f"names '{quotable(name)}', which leads out of the folder '{quotable(folder)}'")
    return file if is_file else None


def parsed(text: str) -> Any:  # noqa: ANN401  whatever the JSON is
    """Return what JSON stands for; a key that stands twice is refused, since one of its values would be lost."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except Flaw:
        raise
    except json.JSONDecodeError as error:
        raise Flaw(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise Flaw("is JSON that is nested too deeply") from None
    except ValueError:  # the one that is no error of JSON
        raise Flaw("holds a number of more digits than can be read") from None


@dataclass(slots=True)
class Reading:
    """How files are read: what to do about broken records, how much to take, and what was dropped.

    Attributes:
        drop_broken: Whether records that cannot be read are left out and counted, instead of refused.
        max_record_bytes: Longest line, and largest document of its own file.
        max_file_bytes: Largest file, unpacked.
        max_expansion: How many times its own size a packed file may unpack to.
        dropped: How many records were dropped.
        named: The first few of them, as sentences without a full stop.
    """

    drop_broken: bool = False
    max_record_bytes: int = MAX_RECORD_BYTES
    max_file_bytes: int = MAX_FILE_BYTES
    max_expansion: int = MAX_EXPANSION
    dropped: int = 0
    named: list[str] = field(default_factory=list)

    def drop(self, path: Path, line: int, flaw: InputError, *, unit: str = "line") -> None:
        """Leave out a record and count it, if broken ones are to be dropped; else raise what is wrong with it."""
        error = broken(path, line, flaw, unit=unit) if isinstance(flaw, Flaw) else flaw
        if not self.drop_broken:
            raise error from None
        self.dropped += 1
        if len(self.named) < NAMED:
            self.named.append(str(error).rstrip("."))

    @property
    def left_out(self) -> str:
        """What was dropped, as a sentence without a full stop; empty if nothing was."""
        if not self.dropped:
            return ""
        more = f"; and {self.dropped - len(self.named)} more" if self.dropped > len(self.named) else ""
        return f"{self.dropped} that cannot be read ({'; '.join(self.named)}{more})"

    def aside(self, *, strict: bool = False) -> "Reading":
        """Return the same way of reading with a count of its own, or (`strict`) one that drops nothing."""
        return replace(self, drop_broken=self.drop_broken and not strict, dropped=0, named=[])

    def raw_lines(self, path: Path, *, encoding: str = "utf-8", errors: str = "strict") -> Iterator[tuple[int, str]]:
        """Yield the lines of a file, plain or gzip, with their numbers and line ends."""
        with self._opened(path) as stream:
            for number in count(1):
                line = stream.readline(self.max_record_bytes + 1)
                if not line:
                    return
                try:
                    self._check_length(stream, line)
                    text = _decoded(line, number, encoding, errors)
                except Flaw as flaw:
                    self.drop(path, number, flaw)
                else:
                    yield number, text

    def lines(self, path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
        """Yield the lines of a file that are not blank, with their numbers, without line ends."""
        for number, line in self.raw_lines(path, encoding=encoding):
            if line.strip():
                yield number, line.rstrip("\r\n")

    def json_lines(self, path: Path) -> Iterator[tuple[int, RawRow]]:
        """Yield the objects of a JSON-lines file, plain or gzip, with their line numbers."""
        for number, line in self.lines(path):
            try:
                value = _record(line)
            except Flaw as flaw:
                self.drop(path, number, flaw)
            else:
                yield number, value

    def whole(self, path: Path) -> str:
        """Return a UTF-8 file as one text, line ends untouched, so that character offsets hold."""
        with self._opened(path) as stream:
            content = stream.read(self.max_record_bytes + 1)
        if len(content) > self.max_record_bytes:
            raise InputError(f"'{quotable(path)}' {self.too_long()}.")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise broken(path, line, "is not UTF-8; convert the file") from None

    def too_long(self) -> str:
        """Say that a record is too long, as the end of a sentence."""
        return f"is longer than {self.max_record_bytes:,} bytes; 'max_record_bytes' is the setting for more"

    def too_large(self) -> str:
        """Say that a file is too large, as the end of a sentence."""
        return f"holds more than {self.max_file_bytes:,} bytes; 'max_file_bytes' is the setting for more"

    def too_packed(self) -> str:
        """Say that a file unpacks to too much, as the end of a sentence."""
        return f"unpacks to more than {self.max_expansion:,} times its size; 'max_expansion' is the setting for more"

    def _check_length(self, stream: io.BufferedIOBase, line: bytes) -> None:
        """Refuse a line that is too long, of which `line` is the beginning; if it is dropped, go on behind it."""
        if len(line) <= self.max_record_bytes:
            return
        while self.drop_broken and line and not line.endswith(b"\n"):
            line = stream.readline(_BLOCK)
        raise Flaw(self.too_long())

    @contextmanager
    def _opened(self, path: Path) -> Iterator[io.BufferedIOBase]:
        try:
            if not path.is_file():  # a pipe or a device would be read for ever
                raise InputError(f"'{quotable(path)}' is not a file.")
            with io.BufferedReader(_Bounded(path, self), _BLOCK) as stream:
                yield stream
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"'{quotable(path)}' cannot be read: {quotable(str(reason))}.") from None


class _Bounded(io.RawIOBase):
    """The bytes of a file, unpacked if need be, as long as there are not too many."""

    def __init__(self, path: Path, limits: Reading) -> None:
        self._path, self._limits, self._total = path, limits, 0
        self._file = path.open("rb")
        self._packed = path.suffix.lower() == ".gz"
        self._source: Any = gzip.GzipFile(fileobj=self._file) if self._packed else self._file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  what the reader above hands over
        found = int(self._source.readinto(buffer))
        self._total += found
        limits = self._limits
        if self._total > limits.max_file_bytes:
            raise InputError(f"'{quotable(self._path)}' {limits.too_large()}.")
        if self._packed and self._total > max(ALWAYS_UNPACKED, limits.max_expansion * self._file.tell()):
            raise InputError(f"'{quotable(self._path)}' {limits.too_packed()}.")
        return found

    def close(self) -> None:
        self._file.close()
        super().close()


def _record(line: str) -> dict[str, Any]:
    value = parsed(line)
    if not isinstance(value, dict):
        raise Flaw("is not a JSON object such as {'text': ..., 'label': ...}")
    return value


def _decoded(line: bytes, number: int, encoding: str, errors: str) -> str:
    # only the first line may start with a byte-order mark
    codec = "utf-8-sig" if encoding == "utf-8" and number == 1 else encoding
    try:
        return line.decode(codec, errors)
    except UnicodeDecodeError as error:
        raise Flaw(f"is not {encoding.upper()} at byte {error.start}; convert the file") from None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Flaw(f"has the key '{quotable(key)}' twice")
        found[key] = value
    return found
