"""How evidence in a text is shown: passages on one line each."""

import re
from dataclasses import dataclass

import numpy as np

from whylight.core.evidence import Evidence, check_evidence, evidence
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.text import Text, text_of
from whylight.report.numbers import shown_score

ELLIPSIS = "\u2026"
LONGEST = 240
"""Characters of a span that are shown; sentences, merged, can be a whole page."""
_TAIL = " .,;:!?)]"
"""What ends a sentence or phrase whose words are cut off says nothing."""
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """An evidence span with the text around it, white space collapsed, and an ellipsis where more text follows.

    Attributes:
        part: 0 for the text, 1 for its pair.
        before: What leads up to the span.
        text: The span.
        after: What follows it.
        shown: Its score as shown.
    """

    part: int
    before: str
    text: str
    after: str
    shown: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The evidence for one label, strongest first, and how many weaker spans are left out."""

    passages: tuple[Passage, ...]
    more: int


def ranking(explanation: Explanation, target: Target, *, spans: int) -> Ranking | None:
    """Return the evidence for a target as it is shown, or None where nobody wants it.

    Args:
        explanation: The explanation.
        target: One of its targets.
        spans: How many spans are shown at most; 0 for no evidence.
    """
    check_evidence(spans=spans)
    if not spans:
        return None
    found = evidence(explanation, target, spans=len(explanation.spans))
    peak, signed = float(np.abs(explanation.row(target)).max(initial=0.0)), explanation.provenance.signed
    passages = tuple(
        _passage(text_of(explanation.example), one, shown=shown_score(one.score, peak=peak, signed=signed))
        for one in found[:spans]
    )
    return Ranking(passages, len(found) - len(passages))


def _passage(example: Text, found: Evidence, *, shown: str) -> Passage:
    before, after = _collapsed(found.before).lstrip(), _collapsed(found.after).rstrip()
    whole = example.parts[found.part]
    if whole[: found.start - len(found.before)].strip():
        before = f"{ELLIPSIS} {before.lstrip(_TAIL)}"
    if whole[found.end + len(found.after) :].strip():
        after = f"{after} {ELLIPSIS}"
    return Passage(found.part, before, _shortened(_collapsed(example.show(found.span)).strip()), after, shown)


def _shortened(text: str) -> str:
    """Leave out the middle of a text that is too long, at white space if there is any."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half].rsplit(' ', 1)[0]} {ELLIPSIS} {text[-half:].split(' ', 1)[-1]}"


def _collapsed(text: str) -> str:
    return _SPACE.sub(" ", text)
