"""Evidence: the stretches of text that carry a decision, ranked, each with the text around it.

1. Evidence words are the smallest set of top features (by score, ties in reading order) whose positive scores together
   hold at least `share` of all positive score. Where no score is positive there is no evidence. Scores without a sign
   say how much a word matters, and not which way: there, only words that speak for the label by a method with a sign
   (`Explanation.signs`) have a score. Without such a method, the spans are what mattered, and not evidence.
2. Adjacent ones, consecutive features of the same part, are one span from the first start to the last end. Features
   that share characters are adjacent too, so that no two spans overlap.
3. A span's score is the sum of its evidence words' scores. Spans are ranked by score, ties in reading order.

The context is up to `around` characters on each side as they stand in the text, cut at a word boundary.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.segment import words
from whylight.core.text import Span, text_of

SHARE = 0.5
SPANS = 5
AROUND = 60
_SLACK = 1e-12
"""Relative error that a sum of scores may have: five words of 0.1 do hold half of ten."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A stretch of text that carries a decision.

    Attributes:
        part: 0 for the text, 1 for its pair.
        start: First character.
        end: One past the last character.
        score: Sum of its words' scores.
        before: The text that leads up to it.
        after: The text that follows it.
    """

    part: int
    start: int
    end: int
    score: float
    before: str
    after: str

    @property
    def span(self) -> Span:
        """The characters that it covers."""
        return Span(self.part, self.start, self.end)


def evidence(
    explanation: Explanation, target: Target, *, share: float = SHARE, spans: int = SPANS, around: int = AROUND
) -> tuple[Evidence, ...]:
    """Return the spans that carry the decision for a target, strongest first; none where no score is positive.

    Where `speaks` is False they are the spans that mattered, for the target or against it.

    Args:
        explanation: The explanation.
        target: One of its targets.
        share: Share of all positive score that evidence words hold together, above 0 and at most 1.
        spans: How many spans are returned at most.
        around: Characters of context on each side at most.
    """
    check_evidence(share=share, spans=spans, around=around)
    example = text_of(explanation.example)
    places = [(one.part, one.start, one.end) for one in explanation.spans]
    order = sorted(range(len(places)), key=places.__getitem__)
    read = [explanation.spans[i] for i in order]
    scores = _supporting(explanation, target)[order]
    found = [(math.fsum(scores[group]), _cover(read, group)) for group in _groups(read, _carriers(scores, share))]
    ranked = sorted(found, key=lambda pair: (-pair[0], pair[1]))[:spans]
    return tuple(
        Evidence(span.part, span.start, span.end, score, *_sides(example.parts[span.part], span, around))
        for score, span in ranked
    )


def speaks(explanation: Explanation) -> bool:
    """Say whether evidence speaks for its label: scores have a sign, or another method lends them one."""
    return explanation.provenance.signed or explanation.signs is not None


def evidence_as_dicts(explanation: Explanation, found: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Return evidence as JSON-ready objects, each with the text that it covers."""
    return [{**asdict(one), "text": explanation.example.show(one.span)} for one in found]


def check_evidence(*, share: float = SHARE, spans: int = SPANS, around: int = AROUND) -> None:
    """Refuse settings that mean nothing."""
    if not 0 < share <= 1:
        raise SettingError(f"the share of evidence is above 0 and at most 1, not {share:g}.")
    if spans < 0:
        raise SettingError(f"the number of evidence spans is 0 (none) or more, not {spans}.")
    if around < 0:
        raise SettingError(f"the context of evidence is 0 characters or more, not {around}.")


def _supporting(explanation: Explanation, target: Target) -> Floats:
    """Return scores for a target, `[features]`; 0 where another method says that a feature does not speak for it."""
    scores, signs = explanation.row(target), explanation.signs
    if explanation.provenance.signed or signs is None:
        return scores
    return np.where(signs.supports[explanation.targets.index(target)], scores, 0.0)


def _carriers(scores: Floats, share: float) -> list[int]:
    """Return the evidence words among features in reading order, in reading order."""
    ranked = np.argsort(-scores, kind="stable")
    ranked = ranked[scores[ranked] > 0]
    if not len(ranked):
        return []
    held = np.cumsum(scores[ranked])
    enough = int(np.searchsorted(held, share * held[-1] * (1 - _SLACK))) + 1
    return sorted(int(i) for i in ranked[:enough])


def _groups(read: list[Span], carriers: list[int]) -> list[list[int]]:
    """Put adjacent evidence words together."""
    groups: list[list[int]] = []
    end = 0
    for i in carriers:
        last = groups[-1][-1] if groups else None
        if last is not None and read[last].part == read[i].part and (last + 1 == i or read[i].start < end):
            groups[-1].append(i)
            end = max(end, read[i].end)
        else:
            groups.append([i])
            end = read[i].end
    return groups


def _cover(read: list[Span], group: list[int]) -> Span:
    return Span(read[group[0]].part, read[group[0]].start, max(read[i].end for i in group))


def _sides(text: str, span: Span, around: int) -> tuple[str, str]:
    """Return what stands before and after a span: whole words, and everything up to an end of the text that is near."""
    starts, ends = _word_bounds(text)
    first, last = 0, len(text)
    if span.start > around:
        place = bisect_left(starts, span.start - around)
        first = min(span.start, starts[place]) if place < len(starts) else span.start
    if span.end + around < len(text):
        place = bisect_right(ends, span.end + around)
        last = max(span.end, ends[place - 1]) if place else span.end
    return text[first : span.start], text[span.end : last]


@lru_cache(maxsize=4)
def _word_bounds(text: str) -> tuple[list[int], list[int]]:
    """Return where words start and end; kept, because all labels and methods ask about the same long note."""
    offsets = words(text)
    return [start for start, _ in offsets], [end for _, end in offsets]
