"""Explanations of a run in the forms of other tools, each with the characters that scores are about.

    jsonl        one explanation per line: text, label, and `[{part, start, end, text, score}]`
    parquet      the same as one table, with lists `parts`, `starts`, `ends`, `scores`
    datasets     the same as a data set of Hugging Face (`datasets.load_from_disk`)
    brat         a folder with `N.txt` and `N.ann` for each text: evidence as entities, scores as notes
    conll        one word per line: word, start, end, score, and B-, I- or O of the evidence; a blank line ends a text
    labelstudio  tasks with predictions, as Label Studio imports them

Offsets are characters of Python, as those of brat, CoNLL readers and `datasets`; Label Studio counts as JavaScript
does, in UTF-16, and gets that. The last three forms show evidence (`core/evidence.py`) of one method, and of single
texts: a pair is refused.

Rows are read one part at a time, and written as they come.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.evidence import evidence
from whylight.core.printable import one_line
from whylight.core.text import Span, text_of
from whylight.store import files, runs
from whylight.store.explanations import explanation_of
from whylight.store.tables import HUMAN, RANDOM, Row

Record = dict[str, Any]
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
        raise InputError(f"exports have characters, and the run is of the kind '{row['kind']}'.")
    return row


def _flat(row: Row) -> Record:
    """Return an explanation with its places in lists of their own."""
    named = {name: row[name] for name in ("text", "pair", "model", "method", "label", "target", "probability")}
    columns = [list(column) for column in zip(*row["places"], strict=True)] or [[], [], []]
    parts, starts, ends = columns
    return {"id": row["example_id"], **named, "parts": parts, "starts": starts, "ends": ends, "scores": row["scores"]}


def _jsonl(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with _opened(out) as file:
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
    with _beside(out) as place, pq.ParquetWriter(place, _SCHEMA) as writer:
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


def _brat(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with files.said(out):
        out.mkdir(parents=True, exist_ok=True)
    for number, (_, own) in enumerate(groupby(rows, key=lambda row: row["example_id"])):
        lines, named = list[str](), 0
        for row in own:
            count += 1
            for span, score in _evidence(row):
                named += 1
                shown = row["text"][span.start : span.end]
                stretches = ";".join(f"{start} {end}" for start, end in _lines_of(row["text"], span))
                lines.append(f"T{named}\t{_entity(row['label'])} {stretches}\t{' '.join(shown.splitlines())}")
                lines.append(f"#{named}\tAnnotatorNotes T{named}\tscore {score:.6g} by {row['method']}")
            text = row["text"]
        files.write(out / f"{number:08d}.txt", text.encode())
        files.write(out / f"{number:08d}.ann", "".join(f"{line}\n" for line in lines).encode())
    return count


def _conll(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with _opened(out) as file:
        for row in rows:
            count += 1
            found = [span for span, _ in _evidence(row)]
            named = {"id": row["example_id"], "label": row["label"], "method": row["method"]}
            file.writelines(f"# {name} = {one_line(value)}\n" for name, value in named.items())
            for (_, start, end), score in zip(row["places"], row["scores"], strict=True):
                inside = next((span for span in found if span.start <= start < span.end), None)
                tag = "O" if inside is None else f"{'B' if inside.start == start else 'I'}-{_entity(row['label'])}"
                word = "".join(row["text"][start:end].split()) or "_"
                file.write(f"{word}\t{start}\t{end}\t{score:.9g}\t{tag}\n")
            file.write("\n")
    return count


def _labelstudio(rows: Iterable[Row], out: Path) -> int:
    count = 0
    with _opened(out) as file:
        file.write("[")
        for number, (name, own) in enumerate(groupby(rows, key=lambda row: row["example_id"])):
            results, rated, text, method = list[Record](), 0.0, "", ""
            for row in own:
                count += 1
                text, method, rated = row["text"], row["method"], row["probability"]
                results += [
                    _region(row, span, score, len(results) + place)
                    for place, (span, score) in enumerate(_evidence(row))
                ]
            guess = {"model_version": method, "score": rated, "result": results}
            task = {"data": {"text": text, "id": name}, "predictions": [guess]}
            file.write((",\n" if number else "\n") + json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")
    return count


def _region(row: Row, span: Span, score: float, number: int) -> Record:
    start, end = (len(row["text"][:edge].encode("utf-16-le", "surrogatepass")) // 2 for edge in (span.start, span.end))
    shown = row["text"][span.start : span.end]
    value = {"start": start, "end": end, "text": shown, "labels": [row["label"]]}
    return {
        "id": f"e{number}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "score": score,
        "value": value,
    }


def _evidence(row: Row) -> Iterator[tuple[Span, float]]:
    """Yield the stretches of a text that carry its label, in reading order."""
    found = explanation_of(row)
    if text_of(found.example).pair is not None:
        raise InputError("this form is of single texts, and the run is of pairs; export it as jsonl or parquet.")
    spans = evidence(found, found.targets[0], spans=len(row["scores"]))
    for one in sorted(spans, key=lambda own: own.start):
        yield Span(one.part, one.start, one.end), one.score


def _lines_of(text: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a span that lie on one line each, which is what brat can show."""
    start = span.start
    for end in (*(place for place in range(span.start, span.end) if text[place] in "\r\n"), span.end):
        if end > start:
            yield start, end
        start = end + 1


def _entity(label: str) -> str:
    """Return a label as a name that a format of columns can hold."""
    return "".join(one if one.isalnum() or one in "-_" else "_" for one in label) or "_"


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    held: list[Record] = []
    for record in records:
        held.append(record)
        if len(held) >= MANY:
            yield held
            held = []
    if held:
        yield held


@contextmanager
def _opened(out: Path) -> Iterator[TextIO]:
    """Open a text file that is there when all of it is written."""
    with _beside(out) as place, place.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        yield file


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """Give a name beside a file, which takes its place when the block is done."""
    files.check_place(out)
    place = out.with_name(f".{out.name[:40]}{files.PART}")
    try:
        with files.said(out):
            yield place
            place.replace(out)
    finally:
        place.unlink(missing_ok=True)


FORMS: dict[str, Callable[[Iterable[Row], Path], int]] = {
    "jsonl": _jsonl,
    "parquet": _parquet,
    "datasets": _datasets,
    "brat": _brat,
    "conll": _conll,
    "labelstudio": _labelstudio,
}
EVIDENCE = ("brat", "conll", "labelstudio")
"""Forms that show evidence, of one method."""
