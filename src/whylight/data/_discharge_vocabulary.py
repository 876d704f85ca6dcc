"""The words of the corpus `discharge`: codes with their phrases, contexts, and sentences that say nothing.

All of it stands in `discharge.toml`; here it becomes types. A phrase is a run of pieces, of which some are evidence:
`[diabetes], {since}, of [type 1]` has two. A template is a run of literal text and slots, written `{slot}`.

Reference: none; the wording is our own.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

SOURCE = Path(__file__).with_name("discharge.toml")
AFFIRMED = "affirmed"
"""The one status that counts."""
RESOLVED = "resolved"
"""The status that only a condition that can pass may have."""
AGAIN = ("family", "hypothetical", RESOLVED)
"""The statuses that do not count, and in which a code that counts elsewhere may be mentioned as well."""
OTHERS = ("negated", *AGAIN)
"""The statuses that do not count."""
KINDS = {"condition": "conditions", "finding": "findings", "treatment": "treatments"}
"""What a phrase may be, and under what name the file lists it."""
SHORT = 3
"""Words of the longest phrase that shares its clause: the clause's status must stay within sight."""
T = TypeVar("T")
_PIECE = re.compile(r"\[([^\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """Literal text, or the name of a slot."""

    text: str
    is_slot: bool = False
    gold: bool = False


Slots = Mapping[str, Sequence[Sequence[TemplatePart]]]
"""What each slot may be filled with; fillings may hold slots."""


@dataclass(frozen=True, slots=True)
class NotePiece:
    """Text of a note, the code that it is evidence for, and the number of its clause, if any."""

    text: str
    label: str | None = None
    clause: int | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """One wording of a code.

    Attributes:
        kind: `condition`, `finding` or `treatment`: which contexts it fits.
        parts: The evidence, and what lies between its pieces.
    """

    kind: str
    parts: tuple[TemplatePart, ...]

    @property
    def is_short(self) -> bool:
        """Whether it is so short that another may stand in the same clause."""
        return len("".join(part.text for part in self.parts).split()) <= SHORT and not any(
            part.is_slot for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Code:
    """A label.

    Attributes:
        name: The code.
        title: What it stands for.
        group: Codes of one group exclude each other.
        resolves: Whether it can be a thing of the past.
        phrases: Its wordings.
    """

    name: str
    title: str
    group: str
    resolves: bool
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """A clause around one phrase, or around two.

    Attributes:
        status: `affirmed`, or why the phrase does not count.
        section: Where in a note it may stand.
        parts: The clause; the slots `x` and `y` are phrases.
    """

    status: str
    section: str
    parts: tuple[TemplatePart, ...]

    @property
    def takes_two(self) -> bool:
        """Whether it is about two phrases."""
        return any(part.is_slot and part.text == "y" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything that notes are written from.

    Attributes:
        codes: The labels, in the order of the alphabet.
        contexts: Clauses by the kind of phrase that they take.
        neutral: Clauses without a phrase, by section.
        headings: Headings by section, in the order of a note.
        slots: What a slot may be filled with; fillings may hold slots.
    """

    codes: tuple[Code, ...]
    contexts: Mapping[str, tuple[Context, ...]]
    neutral: Mapping[str, tuple[tuple[TemplatePart, ...], ...]]
    headings: Mapping[str, str]
    slots: Slots


@cache
def vocabulary() -> Vocabulary:
    """Read the vocabulary, once."""
    with SOURCE.open("rb") as file:
        raw = tomllib.load(file)
    return Vocabulary(
        codes=tuple(sorted((_code(entry) for entry in raw["codes"]), key=lambda code: code.name)),
        contexts={kind: _contexts(raw["contexts"][kind]) for kind in KINDS},
        neutral={section: tuple(map(template_parts, texts)) for section, texts in raw["neutral"].items()},
        headings=raw["headings"],
        slots={name: tuple(map(template_parts, texts)) for name, texts in raw["slots"].items()},
    )


def template_parts(text: str, *, gold: bool = False) -> tuple[TemplatePart, ...]:
    """Cut a template into literal text and slots."""
    pieces = _SLOT.split(text)  # literal text and names of slots take turns
    cut = (TemplatePart(piece, is_slot=i % 2 == 1, gold=gold and i % 2 == 0) for i, piece in enumerate(pieces))
    return tuple(part for part in cut if part.text)


def fill(
    template: Sequence[TemplatePart],
    slots: Slots,
    random: np.random.Generator,
    *,
    phrases: Mapping[str, Sequence[NotePiece]] = MappingProxyType({}),
    label: str | None = None,
) -> Iterator[NotePiece]:
    """Yield the text of a template.

    Args:
        template: Literal text and slots.
        slots: What a slot may be filled with.
        random: Draws the fillings.
        phrases: Fillings that are settled, by slot.
        label: What the evidence in the template is for, if it counts.
    """
    for part in template:
        if part.is_slot and part.text in phrases:
            yield from phrases[part.text]
        elif part.is_slot:
            yield from fill(one_of(slots[part.text], random), slots, random)
        else:
            yield NotePiece(part.text, label if part.gold else None)


def one_of(options: Sequence[T], random: np.random.Generator) -> T:
    """Take one of several."""
    return options[int(random.integers(len(options)))]


def _phrase(text: str, kind: str) -> Phrase:
    if "[" not in text:
        return Phrase(kind, template_parts(text, gold=True))
    pieces = _PIECE.split(text)  # what is outside and inside of brackets takes turns
    return Phrase(
        kind, tuple(part for i, piece in enumerate(pieces) for part in template_parts(piece, gold=i % 2 == 1))
    )


def _code(entry: Mapping[str, Any]) -> Code:
    phrases = (_phrase(text, kind) for kind, listed in KINDS.items() for text in entry.get(listed, ()))
    return Code(
        name=entry["code"],
        title=entry["title"],
        group=entry.get("group", entry["code"]),
        resolves=entry.get("resolves", False),
        phrases=tuple(phrases),
    )


def _contexts(by_status: Mapping[str, Mapping[str, list[str]]]) -> tuple[Context, ...]:
    return tuple(
        Context(status, section, template_parts(text))
        for status, by_section in by_status.items()
        for section, texts in by_section.items()
        for text in texts
    )
