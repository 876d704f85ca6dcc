"""Discharge notes: generated English hospital letters with diagnosis codes and the exact phrases that they rest on.

No path: `discharge:`. Fifty ICD-10-CM-like codes, 3 to 8 per note, in notes of about `length` words (165 words are some
260 word pieces, 5,000 words some 6,000; notes with many codes are longer than asked, up to 400 pieces). Every code has
six wordings or more: names, abbreviations, results, drugs. All are our own; no patient's record is in them.
Deterministic in the settings; no note of one split is in another (the checksum of its text names its split).

What counts. A clause ends at a full stop, a semicolon, a colon or ", but". A phrase counts, unless its clause has

- a negation: no, not, never, denies, negative for, ruled out, declined, allergic to;
- a relative: mother, father, sister, brother, aunt, grandfather;
- a possibility: if, should;
- an end: resolved in.

Two clauses affirm in spite of their negation, as the letters of doctors do: "no change in X" and "X has not improved".
"Without" belongs to the phrase ("COPD without exacerbation"). A history of X counts unless it is resolved. Of two
phrases that overlap, the longer one is meant. A code is a label if one of its mentions counts, whatever the others
say; so one clause tells each label, its cue is at most six words from the phrase, and nothing is left to chance.

Why bags of words fail. About as many mentions do not count as do. Both stand in the same sections and beside the same
words ("found evidence of X", "found no evidence of X"), even in one sentence ("denies X, but has Y"), and the cues are
also in sentences without a phrase ("his mother called the ambulance"). Codes of a group differ by a modifier (type,
side, stage, course, with or without) that may stand apart from its noun, and siblings of a code that is true are often
said not to be true. Codes that count have mentions that do not, too, which a good explanation leaves out.

`evidence=phrase`: the rationale of a code is the phrases of all its mentions that count, modifiers included, without
the words between the pieces. `evidence=clause`: their whole clauses.

Reference: none; the contexts are those of Chapman et al. 2001 (NegEx) and Harkema et al. 2009 (ConText).
"""

import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from whylight.core.errors import SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data import _discharge_vocabulary as words
from whylight.data._discharge_vocabulary import (
    AFFIRMED,
    AGAIN,
    OTHERS,
    RESOLVED,
    Code,
    Context,
    NotePiece,
    Phrase,
    Slots,
)
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

SIZES = {"train": 1500, "dev": 300, "test": 500}
TRUE, FALSE = (3, 8), (1, 5)
"""Fewest and most codes of a note that count, and that are mentioned but do not."""
MENTIONS, FALSE_MENTIONS = (1, 2), (1, 2)
"""Fewest and most mentions of each of them: such that about half of all mentions count."""
SIBLING = 0.5
"""How often a code that does not count is a sibling of one that does, where there is one."""
ALSO = 0.6
"""How often a code that counts is mentioned once more in a way that does not: a relative's, a possibility, the past."""
JOINED = 0.4
"""How often a clause goes on from the one before it, in one sentence."""
BUT = 0.7
"""How often it does so with "but", if one of the two counts and the other does not."""
BARE = "complaint"
"""The section of single words, which make no sentence together."""
SHORTEST = 100
"""Fewest words that may be asked for; notes with many codes have more."""
HEADINGS = 20
"""Words of the first line and of the headings."""
Extent = Literal["phrase", "clause"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mention:
    """A code in one of its wordings, and the statuses that it may have."""

    code: Code
    phrase: Phrase
    statuses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, where it stands, and whether its phrases count; `None` if it has none."""

    section: str
    pieces: tuple[NotePiece, ...]
    counts: bool | None = None

    def __len__(self) -> int:
        return len("".join(piece.text for piece in self.pieces).split())


@corpus(cite="", splits=tuple(SIZES), needs_path=False)
def discharge(
    path: Path,  # noqa: ARG001  every corpus has one
    split: str,
    *,
    size: int | None = None,
    length: int = 165,
    evidence: Extent = "phrase",
    seed: int = 0,
) -> Dataset:
    """Generated hospital letters with 50 diagnosis codes that need context; the rationale is exact."""
    count = SIZES[split] if size is None else size
    if count < 1:
        raise SettingError(f"the setting 'size' must be at least 1, not {size}.")
    if length < SHORTEST:
        raise SettingError(f"the setting 'length' must be at least {SHORTEST} words, not {length}.")
    number = list(SIZES).index(split)
    random = np.random.default_rng([seed, number])
    records = tuple(
        _record(f"{split}-{i}", length=length, evidence=evidence, split=number, random=random) for i in range(count)
    )
    codes = {code.name: code.title for code in words.vocabulary().codes}
    note = f"generated: about {length} words, evidence is the {evidence}, seed {seed}"
    return Dataset("discharge", split, tuple(codes), records, multi_label=True, notes=(note,), label_descriptions=codes)


def _record(name: str, *, length: int, evidence: Extent, split: int, random: np.random.Generator) -> Record:
    """Write a note, and number it so that the checksum of its text is that of the split."""
    woman = bool(random.random() < 0.5)  # noqa: PLR2004  half of them
    age = int(random.integers(24, 93))
    pronouns = {"he": "she", "his": "her", "him": "her"} if woman else {"he": "he", "his": "his", "him": "him"}
    slots = {**words.vocabulary().slots, **{slot: [words.template_parts(text)] for slot, text in pronouns.items()}}
    clauses = list(_mentioned(_drawn_mentions(random), slots, random))
    clauses += _neutral(clauses, slots, random, length=length)
    body = list(_body(clauses, random))
    rest = "".join(piece.text for piece in body)
    while True:
        head = f"Discharge summary {random.integers(10**5)}: {age}-year-old {'woman' if woman else 'man'}."
        text = head + rest
        if zlib.crc32(text.encode()) % len(SIZES) == split:
            break
    found = _evidence_spans(text, body, start=len(head), whole=evidence == "clause")
    rationales = {label: Rationale(tuple(sorted(spans))) for label, spans in sorted(found.items())}
    return Record(name, Text(text), tuple(rationales), rationales)


def _drawn_mentions(random: np.random.Generator) -> list[Mention]:
    """Draw the codes that count and those that do not, and the wordings of each, in any order."""
    codes = _shuffled(words.vocabulary().codes, random)
    true: dict[str, Code] = {}
    wanted = int(random.integers(*TRUE, endpoint=True))
    for code in codes:
        if len(true) < wanted:
            true.setdefault(code.group, code)
    false = [code for code in codes if true.get(code.group) != code]
    siblings = [code for code in false if code.group in true]
    chosen: list[Code] = []
    for _ in range(int(random.integers(*FALSE, endpoint=True))):
        pool = siblings if siblings and random.random() < SIBLING else false
        code = next(code for code in pool if code not in chosen)
        chosen.append(code)
        siblings = [sibling for sibling in siblings if sibling != code]
    also = [code for code in true.values() if random.random() < ALSO]
    mentions = [
        *_mentions([*true.values()], (AFFIRMED,), random, times=MENTIONS),
        *_mentions(chosen, OTHERS, random, times=FALSE_MENTIONS),
        *_mentions(also, AGAIN, random, times=(1, 1)),
    ]
    return _shuffled(mentions, random)


def _mentions(
    codes: Sequence[Code], statuses: tuple[str, ...], random: np.random.Generator, *, times: tuple[int, int]
) -> Iterator[Mention]:
    """Yield some mentions of each code; what cannot pass is never resolved."""
    for code in codes:
        possible = tuple(status for status in statuses if code.resolves or status != RESOLVED)
        for _ in range(int(random.integers(*times, endpoint=True))):
            yield Mention(code, words.one_of(code.phrases, random), possible)


def _mentioned(mentions: Sequence[Mention], slots: Slots, random: np.random.Generator) -> Iterator[Clause]:
    """Put every mention into a clause of a status that it may have; some clauses take two."""
    waiting = list(mentions)
    while waiting:
        first = waiting.pop()
        fitting: list[tuple[Context, Mention | None]] = []
        for context in words.vocabulary().contexts[first.phrase.kind]:
            second = _partner(first, waiting, context) if context.takes_two else None
            if context.status in first.statuses and (second is not None or not context.takes_two):
                fitting.append((context, second))
        context, second = words.one_of(fitting, random)
        phrases = {"x": _worded(first, context, slots, random)}
        if second is not None:
            waiting.remove(second)
            phrases["y"] = _worded(second, context, slots, random)
        pieces = tuple(words.fill(context.parts, slots, random, phrases=phrases))
        yield Clause(context.section, pieces, counts=context.status == AFFIRMED)


def _partner(first: Mention, waiting: Sequence[Mention], context: Context) -> Mention | None:
    """Find a second phrase for a clause that takes two."""
    for other in waiting:
        alike = other.phrase.kind == first.phrase.kind and context.status in other.statuses
        if alike and other.code != first.code and other.phrase.is_short and first.phrase.is_short:
            return other
    return None


def _worded(mention: Mention, context: Context, slots: Slots, random: np.random.Generator) -> list[NotePiece]:
    label = mention.code.name if context.status == AFFIRMED else None
    return list(words.fill(mention.phrase.parts, slots, random, label=label))


def _neutral(clauses: Sequence[Clause], slots: Slots, random: np.random.Generator, *, length: int) -> list[Clause]:
    """Return what makes the note as long as asked and leaves no section empty."""
    listed = words.vocabulary().neutral
    pool = _shuffled([(section, parts) for section, texts in listed.items() for parts in texts], random)
    missing = set(listed) - {clause.section for clause in clauses}
    first = [next(item for item in pool if item[0] == section) for section in listed if section in missing]
    rest = [item for item in pool if item not in first]
    added: list[Clause] = []
    total = HEADINGS + sum(map(len, clauses))
    for section, parts in itertools.chain(first, rest, itertools.cycle(pool)):
        if len(added) >= len(first) and total >= length:
            break
        added.append(Clause(section, tuple(words.fill(parts, slots, random))))
        total += len(added[-1])
    return added


def _body(clauses: Sequence[Clause], random: np.random.Generator) -> Iterator[NotePiece]:
    """Yield the sections: clauses in any order, some of them two to a sentence."""
    numbers = itertools.count()
    for section, heading in words.vocabulary().headings.items():
        yield NotePiece(f"\n{heading}:")
        waiting = _shuffled([clause for clause in clauses if clause.section == section], random)
        while waiting:
            first = waiting.pop()
            yield NotePiece(" ")
            yield from _numbered(first, next(numbers), capital=True)
            if waiting and section != BARE and random.random() < JOINED:
                second = waiting.pop()
                differs = second.counts is not None and first.counts != second.counts
                yield NotePiece(", but " if differs and random.random() < BUT else "; ")
                yield from _numbered(second, next(numbers))
            yield NotePiece(".")


def _numbered(clause: Clause, number: int, *, capital: bool = False) -> Iterator[NotePiece]:
    for i, piece in enumerate(clause.pieces):
        text = piece.text[0].upper() + piece.text[1:] if capital and not i else piece.text
        yield replace(piece, text=text, clause=number)


def _evidence_spans(text: str, body: Sequence[NotePiece], *, start: int, whole: bool) -> dict[str, set[Span]]:
    """Find the evidence of every label in the text, where the body starts at a character; or the `whole` clauses."""
    spans: dict[str, set[Span]] = {}
    clauses: dict[int | None, tuple[int, int]] = {}
    placed: list[tuple[NotePiece, Span]] = []
    for piece in body:
        end = start + len(piece.text)
        if text[start:end] != piece.text:
            raise AssertionError(f"evidence is not where it was planted: {piece}")
        clauses[piece.clause] = (clauses.get(piece.clause, (start, end))[0], end)
        placed.append((piece, Span(0, start, end)))
        start = end
    for piece, span in placed:
        if piece.label is not None:
            spans.setdefault(piece.label, set()).add(Span(0, *clauses[piece.clause]) if whole else span)
    return spans


def _shuffled(items: Sequence[T], random: np.random.Generator) -> list[T]:
    return [items[i] for i in random.permutation(len(items))]
