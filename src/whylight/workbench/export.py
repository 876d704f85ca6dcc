"""Reviews as training data: JSON lines that `whylight train` and `wl.dataset` read, without loss; and for other tools.

One line per finished document. Its labels are those that the review says apply, its rationales what was marked for
them. Of several reviewers the adjudicated decision counts where there is one, with the evidence that was decided on, be
it none; else what more than half of them say, and of the evidence of a label the characters that more than half marked
(of two people: both). A finished review that left a label undecided says that it does not apply. A label on which they
are split, and nobody has adjudicated, makes the document wait: it is counted, and not exported.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whylight.core.errors import InputError
from whylight.core.printable import to_json
from whylight.core.rationale import Rationale, joined
from whylight.core.segment import words
from whylight.core.text import Span, Text
from whylight.report.marked import Marked
from whylight.workbench.journal import Document
from whylight.workbench.reviewing import Review


@dataclass(frozen=True, slots=True)
class Agreed:
    """What all that was said about a document comes to.

    Attributes:
        labels: The labels that apply.
        marked: What was marked for each.
        split: Labels on which reviewers are split, and which nobody has adjudicated.
    """

    labels: tuple[str, ...]
    marked: Mapping[str, tuple[Span, ...]]
    split: tuple[str, ...]


def agreed(reviews: Mapping[str, Review], adjudicated: Review) -> Agreed:
    """Put finished reviews of a document together.

    Args:
        reviews: By reviewer.
        adjudicated: What was decided about their disagreements.
    """
    labels, marked, split = [], dict[str, tuple[Span, ...]](), []
    for label in dict.fromkeys((*adjudicated.decisions, *(name for one in reviews.values() for name in one.decisions))):
        votes = [one.applies(label) for one in reviews.values()]
        decided = label in adjudicated.decisions
        if not decided and votes.count(True) == votes.count(False):
            split.append(label)
        elif adjudicated.applies(label) if decided else votes.count(True) > votes.count(False):
            labels.append(label)
            own = adjudicated.marked.get(label, ()) if decided else _voted(reviews, label)
            if own:
                marked[label] = own
    return Agreed(tuple(labels), marked, tuple(split))


def _voted(reviews: Mapping[str, Review], label: str) -> tuple[Span, ...]:
    """Return what more than half of those marked who say that the label applies."""
    each = [Rationale(one.marked.get(label, ())) for one in reviews.values() if label in one.labels]
    if len(each) == 1:
        return each[0].places
    return joined(each, "majority").places


def line_of(document: Document, found: Agreed, *, several: bool) -> str:
    """Return a document with what was agreed on as one line of JSON.

    Args:
        document: The document.
        found: What was agreed on.
        several: Whether a document may have several labels.
    """
    row: dict[str, Any] = {"id": document.name, **record_of(document.text)}
    pair = document.text.pair is not None
    spans = {label: [_numbers(span, document, pair=pair) for span in own] for label, own in found.marked.items()}
    if several:
        row |= {"labels": list(found.labels), **({"rationales": spans} if spans else {})}
    else:
        (label,) = found.labels
        row |= {"label": label, **({"rationale": spans[label]} if label in spans else {})}
    return to_json(json.loads(json.dumps(row)))


def marked_of(document: Document, found: Agreed, people: Sequence[str]) -> Iterator[Marked]:
    """Yield a document with its marks, label by label, as tools for annotating have it.

    Args:
        document: The document.
        found: What was agreed on.
        people: Who reviewed it.

    Raises:
        InputError: It is a pair.
    """
    text = document.text
    if text.pair is not None:
        raise InputError("this form is of single texts, and there are pairs; take JSON lines.")
    own = text.words or [Span(0, start, end) for start, end in words(text.text)]
    for label in found.labels:
        yield Marked(
            id=document.name,
            text=text.text,
            label=label,
            by=", ".join(people),
            words=own,
            scores=None,
            spans=[(span, None) for span in found.marked.get(label, ())],
            people=True,
        )


def record_of(text: Text) -> dict[str, Any]:
    """Return a text, or pair, as a record of a file has it, with the words that it came with."""
    row: dict[str, Any] = {"text": text.text} | ({} if text.pair is None else {"pair": text.pair})
    if text.words is not None:
        for part, name in enumerate(("words", "pair_words")[: len(text.texts)]):
            row[name] = [text.show(one) for one in text.words if one.part == part]
    return row


def _numbers(span: Span, document: Document, *, pair: bool) -> dict[str, Any]:
    part = {"part": span.part} if pair else {}
    return {**part, "start": span.start, "end": span.end, "text": document.text.show(span)}
