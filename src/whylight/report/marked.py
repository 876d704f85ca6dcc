"""Marked texts in the forms of tools that people annotate with: what a method named, or what people marked.

    brat         a folder with `N.txt` and `N.ann` for each text: marks as entities, scores as notes
    conll        one word per line: word, start, end, score, and B-, I- or O of the marks; a blank line ends a text
    labelstudio  tasks as Label Studio imports them: of a method with predictions, of people with annotations

Offsets are characters of Python, as those of brat and CoNLL readers; Label Studio counts as JavaScript does, in UTF-16,
and gets that. A score that nobody gave is `_` in CoNLL, and missing elsewhere. Texts come one after the other, all
labels of one text together, and are written as they come. These forms have one text, and no pairs.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from whylight.core.text import Span
from whylight.store import files

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where some reader ends a line, as `str.splitlines` does."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with the marks of one label.

    Attributes:
        id: What the data call the text.
        text: The text.
        label: The label.
        by: Who marked it: a method, or people.
        words: Its words.
        scores: The score of each, where there are any.
        spans: The marks in reading order, each with its score, if it has one.
        probability: That of the label, where a model gave one.
        people: Whether people marked.
        note: What a reader must know of the marks.
    """

    id: str
    text: str
    label: str
    by: str
    words: Sequence[Span]
    scores: Sequence[float] | None
    spans: Sequence[tuple[Span, float | None]]
    probability: float | None = None
    people: bool = False
    note: str = ""


def write_brat(every: Iterable[Marked], out: Path) -> int:
    """Write a folder for brat; return how many pairs of text and label there were."""
    count = 0
    with files.said(out):
        out.mkdir(parents=True, exist_ok=True)
    for number, (_, own) in enumerate(groupby(every, key=lambda one: one.id)):
        lines, named, text = list[str](), 0, ""
        for one in own:
            count, text = count + 1, one.text
            for span, score in one.spans:
                named += 1
                places = [*_lines_of(text, span)]
                stretches = ";".join(f"{start} {end}" for start, end in places)
                shown = " ".join(text[start:end] for start, end in places)
                lines.append(f"T{named}\t{_entity(one.label)} {stretches}\t{shown}")
                if score is not None:
                    remark = f"; {one.note}" if one.note else ""
                    lines.append(f"#{named}\tAnnotatorNotes T{named}\tscore {score:.6g} by {one.by}{remark}")
        files.write(out / f"{number:08d}.txt", text.encode(errors="replace"))
        files.write(out / f"{number:08d}.ann", "".join(f"{line}\n" for line in lines).encode(errors="replace"))
    return count


def write_conll(every: Iterable[Marked], out: Path) -> int:
    """Write lines of words; return how many pairs of text and label there were."""
    count = 0
    with opened(out) as file:
        for one in every:
            count += 1
            head = {"id": one.id, "label": one.label, "method": one.by, "note": one.note}
            known = {name: " ".join(value.split()) for name, value in head.items() if value or name != "note"}
            file.write("".join(f"# {name} = {value}\n" for name, value in known.items()))
            last = None
            for place, word in enumerate(one.words):
                inside = next((span for span, _ in one.spans if span.start < word.end and word.start < span.end), None)
                tag = "O" if inside is None else f"{'I' if inside == last else 'B'}-{_entity(one.label)}"
                score = "_" if one.scores is None else f"{one.scores[place]:.9g}"
                shown = "".join(one.text[word.start : word.end].split()) or "_"
                file.write(f"{shown}\t{word.start}\t{word.end}\t{score}\t{tag}\n")
                last = inside
            file.write("\n")
    return count


def write_labelstudio(every: Iterable[Marked], out: Path) -> int:
    """Write tasks of Label Studio; return how many pairs of text and label there were."""
    count = 0
    with opened(out) as file:
        file.write("[")
        for number, (name, group) in enumerate(groupby(every, key=lambda one: one.id)):
            own = list(group)
            count += len(own)
            regions = [(one, span, score) for one in own for span, score in one.spans]
            results = [_region(*region, place) for place, region in enumerate(regions)]
            task: dict[str, Any] = {"data": {"text": own[-1].text, "id": name}}
            if own[-1].people:
                task["annotations"] = [{"result": results}]
            else:
                guess = {"model_version": own[-1].by, "score": own[-1].probability, "result": results}
                task["predictions"] = [guess]
            file.write((",\n" if number else "\n") + json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")
    return count


def _region(one: Marked, span: Span, score: float | None, number: int) -> dict[str, Any]:
    start, end = (len(one.text[:edge].encode("utf-16-le", "surrogatepass")) // 2 for edge in (span.start, span.end))
    shown = one.text[span.start : span.end]
    value = {"start": start, "end": end, "text": shown, "labels": [one.label]}
    named = {"id": f"e{number}", "from_name": "label", "to_name": "text", "type": "labels"}
    told = {"meta": {"text": [one.note]}} if one.note else {}  # which Label Studio shows beside a region
    return {**named, **told, **({} if score is None else {"score": score}), "value": value}


def _lines_of(text: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a span that lie on one line each, which is what brat can show."""
    start = span.start
    for end in (*(place for place in range(span.start, span.end) if text[place] in BREAKS), span.end):
        if end > start:
            yield start, end
        start = end + 1


def _entity(label: str) -> str:
    """Return a label as a name that a format of columns can hold."""
    return "".join(one if one.isalnum() or one in "-_" else "_" for one in label) or "_"


@contextmanager
def opened(out: Path) -> Iterator[TextIO]:
    """Open a text file that is there when all of it is written."""
    with beside(out) as place, place.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        yield file


@contextmanager
def beside(out: Path) -> Iterator[Path]:
    """Give a name beside a file, which takes its place when the block is done."""
    files.check_place(out)
    place = out.with_name(f".{out.name[:40]}{files.PART}")
    try:
        with files.said(out):
            yield place
            place.replace(out)
    finally:
        place.unlink(missing_ok=True)


MARKED_FORMS: dict[str, Callable[[Iterable[Marked], Path], int]] = {
    "brat": write_brat,
    "conll": write_conll,
    "labelstudio": write_labelstudio,
}
