"""The forms in which a record of one's own may say what people marked; `files` describes them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from whylight.core.rationale import Rationale, Vote, joined
from whylight.core.text import Span, Text
from whylight.data import _tokens
from whylight.data._checks import Flaw, label_of, quotable
from whylight.data._reading import RawRow, parsed

A_SPAN = "a span is [start, end], [part, start, end] or {'start': ..., 'end': ...}"
SPELL = "words spell their text, or are left alone with ignore=words,tokens"
DROPPED = "spans that are empty or outside their text are dropped"
_PLAIN_SPAN = 2
_PARTS = (("words", "tokens"), ("pair_words", "pair_tokens"))


@dataclass(frozen=True, slots=True)
class Marks:
    """How marks are read.

    Attributes:
        vote: How several annotators are joined.
        keep_going: Whether a span that marks nothing is dropped and counted instead of refused.
        counts: What was dropped or joined, by the end of a sentence.
    """

    vote: Vote
    keep_going: bool
    counts: Counter[str]

    def rationales(self, row: RawRow, labels: tuple[str, ...], example: Text) -> dict[str, Rationale]:
        """Return the rationale of each label of a record that has one."""
        people = _annotators(row, labels)
        strange = next((label for one in people for label in one if label not in labels), None)
        if strange is not None:
            raise Flaw(f"has a rationale for '{quotable(strange)}', which is not among its labels")
        found: dict[str, Rationale] = {}
        for label in dict.fromkeys(label for one in people for label in one):
            each = [self._rationale(one.get(label, []), example) for one in people]
            whole = each[0] if len(each) == 1 else joined(each, self.vote)
            spans = tuple(span for span in whole.places if example.show(span).strip())
            if spans:
                found[label] = Rationale(spans)
        self.counts[f"records have several annotators, who are joined by {self.vote}"] += len(people) > 1
        return found

    def _rationale(self, value: object, example: Text) -> Rationale:
        """Return what one annotator marked for one label: a list of spans, or a mark for each word."""
        values = listed(value, "a rationale", "[[0, 4]]")
        if values and not any(isinstance(one, list | tuple | Mapping) for one in values):
            return Rationale(tuple(_marked_words(values, example)))
        found = [self._span(one, example) for one in values]
        return Rationale(tuple(dict.fromkeys(span for span in found if span is not None)))

    def _span(self, value: object, example: Text) -> Span | None:
        numbers = _numbers(value)
        span = Span(*numbers)
        inside = 0 <= span.part < len(example.parts) and 0 <= span.start < span.end <= len(example.parts[span.part])
        if inside and example.show(span).strip():
            said = value.get("text") if isinstance(value, Mapping) else None
            if said is not None and (not isinstance(said, str) or said.split() != example.show(span).split()):
                raise Flaw(f"has the span {quotable(value)}, but its text there is '{quotable(example.show(span))}'")
            return span
        if not self.keep_going:
            problem = "which is empty or outside its text (invalid=drop leaves such spans out)"
            raise Flaw(f"has the span {quotable(value)}, {problem}")
        self.counts[DROPPED] += 1
        return None


def listed(value: object, what: str, such_as: str) -> list[Any]:
    """Return a value that must be a list, or the JSON of one."""
    found = unpacked(value, such_as)
    if not isinstance(found, list | tuple):
        raise Flaw(f"has {what} that is not a list such as {such_as}")
    return list(found)


def unpacked(value: object, such_as: str) -> Any:  # noqa: ANN401  whatever the JSON of a cell is
    """Return a value, read as JSON where a table could only hold it as text."""
    if not isinstance(value, str):
        return value
    try:
        return parsed(value)
    except Flaw:
        raise Flaw(f"has the cell '{quotable(value)}', which should be JSON such as {such_as}") from None


def own_words(row: RawRow) -> tuple[list[str] | None, list[str] | None]:
    """Return the words that come with the text and with the pair of a record, if any."""
    found = [next((words for key in keys if (words := _strings(row.get(key)))), None) for keys in _PARTS]
    return found[0], found[1]


def located(words: list[str], text: str, *, part: int) -> tuple[Span, ...]:
    """Return where the words of a text are; they must spell it, white space aside."""
    spans: list[Span] = []
    place = 0
    for word in (word.strip() for word in words):
        while place < len(text) and text[place].isspace():
            place += 1
        if not word or not text.startswith(word, place):
            there = quotable(text[place : place + 20])
            raise Flaw(f"has the word '{quotable(word)}' where its text goes on with '{there}'; {SPELL}")
        spans.append(Span(part, place, place + len(word)))
        place += len(word)
    if rest := text[place:].strip():
        raise Flaw(f"has words that end before '{quotable(rest[:20])}' in its text; {SPELL}")
    return tuple(spans)


def _strings(value: object) -> list[str] | None:
    """Return a list of strings, also as the JSON of a cell; whatever else such a column holds is not for us."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parsed(value)
        except Flaw:
            return None
    return value if isinstance(value, list) and value and all(isinstance(one, str) for one in value) else None


def _annotators(row: RawRow, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what each annotator marked, by label."""
    if "rationale" in row and "rationales" in row:
        raise Flaw("has both 'rationale' and 'rationales'; use one of them")
    if "rationale" in row:
        if "labels" in row:
            raise Flaw("has 'rationale' beside 'labels'; give 'rationales' as {label: [[start, end], ...]}")
        if not labels:
            raise Flaw("has a 'rationale', but no label that it could be for; ignore=rationale leaves it alone")
        return [{labels[0]: row["rationale"]}]
    value = unpacked(row.get("rationales", {}), '{"label": [[0, 4]]}')
    people = [value] if isinstance(value, Mapping) or _is_map(value) else value
    if not isinstance(people, list):
        raise Flaw(_not_rationales(value))
    return [_by_label(one, labels, single="label" in row) for one in people if one is not None]


def _by_label(value: object, labels: tuple[str, ...], *, single: bool) -> dict[str, Any]:
    """Return what one annotator marked, by label; with one label, the list alone will do."""
    if single and isinstance(value, list) and not _is_map(value):
        return {labels[0]: value}
    if not isinstance(value, Mapping) and not _is_map(value):
        raise Flaw(_not_rationales(value))
    pairs: Any = value.items() if isinstance(value, Mapping) else value
    found: dict[str, Any] = {}
    for key, spans in pairs:
        if (label := label_of(key)) in found:
            raise Flaw(f"has two rationales for '{quotable(label)}'")
        if spans is not None:
            found[label] = spans
    return found


def _is_map(value: object) -> bool:
    """Say whether a value is a map as Parquet hands it over: a list of pairs."""
    return isinstance(value, list) and bool(value) and all(type(one) is tuple and len(one) == 2 for one in value)  # noqa: PLR2004


def _not_rationales(value: object) -> str:
    return (
        f"has 'rationales' with {quotable(value)}; they are {{label: [[start, end], ...]}}, or a list of what each "
        "annotator marked"
    )


def _marked_words(marks: list[Any], example: Text) -> list[Span]:
    """Return the runs of marked words; a run ends with its text."""
    if example.words is None:
        raise Flaw(f"has the rationale {quotable(marks)}; {A_SPAN}, and marks of words need 'words'")
    if len(marks) != len(example.words) or any(mark not in (0, 1) for mark in marks):
        raise Flaw(f"has the rationale {quotable(marks)} instead of one 0 or 1 for each of {len(example.words)} words")
    pairs = zip(example.words, marks, strict=True)
    parts = [list(group) for _, group in groupby(pairs, key=lambda pair: pair[0].part)]
    return [
        run for part in parts for run in _tokens.marked_spans([word for word, _ in part], [mark for _, mark in part])
    ]


def _numbers(value: object) -> tuple[int, int, int]:
    """Return part, start and end of a span."""
    numbers: list[Any] = list(value) if isinstance(value, list | tuple) else []
    if isinstance(value, Mapping):
        part = value.get("part")
        numbers = [0 if part is None else part, value.get("start"), value.get("end")]
    if len(numbers) == _PLAIN_SPAN:
        numbers = [0, *numbers]
    if len(numbers) != _PLAIN_SPAN + 1 or any(type(number) is not int for number in numbers):
        raise Flaw(f"has the span {quotable(value)}; {A_SPAN}")
    return numbers[0], numbers[1], numbers[2]
