"""Data files of every format and layout, whole, hostile and damaged: read, or refused in one sentence.

Every file is read as it is and with `drop_broken`. A violation is an exception that is no `WhylightError`, a message of
several lines or with control characters, a reading that does not end or takes too much memory, text from outside the
data, a record that breaks its contract, and dropping that changes what could be read whole.
"""

import gzip
import json
import os
import random
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from cases import data_hostile
from cases.data_layouts import OUTSIDE, SECRET, Case, layouts
from outcome import Outcome

from whylight.core.errors import WhylightError
from whylight.data.dataset import Dataset, Record
from whylight.data.load import dataset

MUTANTS = 110
"""Damaged copies of each layout at scale 1."""
SECONDS = 60
MEGABYTES = 700
"""What one reading may take beyond what the process had."""
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 10**30, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        " ",
        "x",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "5",
        "null",
        "[",
        "[[0, 1]]",
        "../../etc/passwd",
        "a" * 9000,
    ),
    *([], [[]], [[[]]], [1, 2], [[1, 2, 3]], [[0, 1]], [[1, 0]], [[-1, 2]], [["0", "1"]], [[0.0, 1.0]], [None], ["a"]),
    *(
        {},
        {"start": 0, "end": 1},
        {"a": [[0, 1]]},
        [{"start": 0}],
        [{"start": 0, "end": 10**9}],
        {"": 1},
        [[[0, 1]], None],
    ),
)
"""What is put in the place of a value."""


def campaign(scale: float, seed: int) -> Outcome:
    """Read hand-made files and damaged ones."""
    draw = random.Random(seed)
    count = readings = 0
    violations: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        outside = Path(name) / OUTSIDE
        outside.write_text(SECRET, encoding="utf-8")
        for case in _cases(draw, scale):
            count += 1
            root = Path(name) / str(count)
            case.write(root)
            readings += 2
            violations += [f"{case.name}: {problem}" for problem in tried(case, root)]
    return Outcome({"data files": count, "readings": readings}, violations)


def _cases(draw: random.Random, scale: float) -> Iterator[Case]:
    yield from data_hostile.cases(scale)
    for layout in layouts():
        for number in range(max(1, round(MUTANTS * scale))):
            path = draw.choice(sorted(layout.files))
            damaged, how = damage(layout.files[path], path, draw)
            yield layout.but(f"{layout.name} {number} ({path}: {how})", {path: damaged})


def tried(case: Case, root: Path) -> list[str]:
    """Return what reading a case breaks, as it is and with `drop_broken`."""
    spec = f"{case.corpus}:{root / case.entry}" if case.corpus else root / case.entry
    whole, problems = _read(spec, case, drop_broken=False)
    rest, more = _read(spec, case, drop_broken=True)
    problems += [f"drop_broken: {problem}" for problem in more]
    if whole is not None and (rest is None or rest.records != whole.records):
        problems.append("drop_broken changes what can be read whole")
    return problems


def _read(spec: str | Path, case: Case, *, drop_broken: bool) -> tuple[Dataset | None, list[str]]:
    found: Dataset | None = None
    problems: list[str] = []
    before, peak = _resident(), _peak()
    try:
        with _watched():
            found = dataset(spec, split=case.split, drop_broken=drop_broken, **case.settings)
    except WhylightError as error:
        problems += wrong_with(str(error))
    except _HungError:
        problems.append(f"not read within {SECONDS} seconds")
    except Exception as error:  # noqa: BLE001  finding these is the point
        problems.append(f"{type(error).__name__}: {str(error)[:200]}")
    if _peak() > peak and _peak() - before > MEGABYTES:
        problems.append(f"took {_peak() - before:.0f} MB")
    if found is not None:
        problems += [problem for note in found.notes for problem in wrong_with(note)]
        problems += broken_contracts(found)
    return found, problems


def wrong_with(message: str) -> list[str]:
    """Return what is wrong with a message: it is one line that can be printed."""
    return [] if message and message.isprintable() and len(message) < 2000 else [f"the message {message[:300]!r}"]


def broken_contracts(data: Dataset) -> list[str]:
    """Return what is wrong with the records of a data set."""
    problems = [] if len({record.id for record in data}) == len(data) else ["ids are not unique"]
    for record in data:
        problems += [f"record {record.id!r}: {problem}" for problem in _wrong_record(record, data)]
    return problems


def _wrong_record(record: Record, data: Dataset) -> Iterator[str]:
    example = record.example
    yield from (f"the text {part[:50]!r}" for part in example.parts if not part.strip() or _halves(part))
    yield from ("text from outside the data" for part in example.parts if SECRET in part)
    if not all(isinstance(label, str) and label in data.label_names for label in record.labels):
        yield f"the labels {record.labels!r}"
    if not data.multi_label and len(record.labels) > 1:
        yield "several labels where there is one"
    spans = [span for one in record.rationales.values() for span in one.places]
    for span in (*spans, *(example.words or ())):
        inside = 0 <= span.part < len(example.parts) and 0 <= span.start < span.end <= len(example.parts[span.part])
        if not inside or not example.show(span).strip():
            yield f"the span {span}"
    if set(record.rationales) - set(record.labels) or not all(one.places for one in record.rationales.values()):
        yield "a rationale without its label, or without a span"


def _halves(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def damage(content: bytes, path: str, draw: random.Random) -> tuple[bytes, str]:
    """Return a damaged copy of a file, and how it was damaged."""
    ways: dict[str, Callable[[bytes, random.Random], bytes]] = {
        "bytes flipped": _flipped,
        "cut": _cut,
        "lines moved": _lines,
        "bytes put in": _put_in,
    }
    if path.endswith((".jsonl", ".jsonl.gz")):
        ways |= {"a value changed": _value, "another value changed": _value, "a key changed": _key}
    how = draw.choice(sorted(ways))
    packed = path.endswith(".gz") and draw.random() < 0.8  # what is inside is damaged more often than the packing
    inner = gzip.decompress(content) if packed else content
    changed = ways[how](inner, draw)
    return (gzip.compress(changed, mtime=0) if packed else changed), how


def _flipped(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:] if draw.random() < 0.5 else content[start:end]


def _lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    for _ in range(draw.randint(1, 3)):
        number = draw.randrange(len(lines))
        line = lines[number]
        lines[number : number + 1] = draw.choice([[], [line, line], [b"", line], [line[::-1]], [line + b"\r"]])
        lines = lines or [b""]
    return b"\n".join(lines)


def _put_in(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(data_hostile.BYTES) + content[place:]


def _value(content: bytes, draw: random.Random) -> bytes:
    return _changed_line(content, draw, lambda record: _replace_one(record, draw))


def _key(content: bytes, draw: random.Random) -> bytes:
    def change(record: Any) -> None:
        if isinstance(record, dict) and record:
            key = draw.choice(sorted(record))
            others = (key[:-1], f"{key}s", key.title(), f" {key}", draw.choice(data_hostile.KEYS))
            record[draw.choice(others)] = record.pop(key)

    return _changed_line(content, draw, change)


def _changed_line(content: bytes, draw: random.Random, change: Callable[[Any], None]) -> bytes:
    lines = content.split(b"\n")
    number = draw.randrange(len(lines))
    try:
        record = json.loads(lines[number])
    except ValueError:
        return content
    change(record)
    lines[number] = json.dumps(record).encode()
    return b"\n".join(lines)


def _replace_one(record: Any, draw: random.Random) -> None:
    """Put a strange value in the place of one, at a random depth."""
    place = record
    while isinstance(place, dict | list) and place:
        keys: list[Any] = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.4:
            place[key] = draw.choice(VALUES)
            return
        place = place[key]


class _HungError(BaseException):
    """A reading that did not end; no `except` on its way may take it for an error of the data."""


@contextmanager
def _watched() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
