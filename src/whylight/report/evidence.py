"""How evidence in a text is shown: passages on one line each."""

import re
from dataclasses import dataclass

import numpy as np

from whylight.core.evidence import Evidence, check_evidence, evidence, speaks
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
        start: Where in it the span starts.
        end: One past its last character.
        before: What leads up to the span.
        text: The span.
        after: What follows it.
        shown: Its score as shown.
    """

    part: int
    start: int
    end: int
    before: str
    text: str
    after: str
    shown: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The evidence for one label, strongest first.

    Attributes:
        passages: The spans.
        more: How many weaker spans are left out.
        speaks: Whether they speak for the label; else they matter, one way or the other.
        sign: The method that lends a sign to scores that have none, or "".
    """

    passages: tuple[Passage, ...]
    more: int
    speaks: bool
    sign: str

    @property
    def name(self) -> str:
        """What the spans are called."""
        return "evidence" if self.speaks else "mattered"

    @property
    def remark(self) -> str:
        """What a reader has to know about the sign, or "" where it is the method's own."""
        if not self.speaks:
            return "for a label or against it"
        return f"sign by {self.sign}" if self.sign else ""

    @property
    def lack(self) -> str:
        """Why there is no span."""
        return "no word that matters speaks for the label" if self.sign else "no word has a positive score"


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
    sign = "" if explanation.signs is None or signed else explanation.signs.method
    return Ranking(passages, len(found) - len(passages), speaks(explanation), sign)


def _passage(example: Text, found: Evidence, *, shown: str) -> Passage:
    before, after = _collapsed(found.before).lstrip(), _collapsed(found.after).rstrip()
    whole = example.parts[found.part]
    if whole[: found.start - len(found.before)].strip():
        before = f"{ELLIPSIS} {before.lstrip(_TAIL)}"
    if whole[found.end + len(found.after) :].strip():
        after = f"{after} {ELLIPSIS}"
    shortened = _shortened(_collapsed(example.show(found.span)).strip())
    return Passage(found.part, found.start, found.end, before, shortened, after, shown)


def _shortened(text: str) -> str:
    """Leave out the middle of a text that is too long, at white space if there is any."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half].rsplit(' ', 1)[0]} {ELLIPSIS} {text[-half:].split(' ', 1)[-1]}"


def _collapsed(text: str) -> str:
    return _SPACE.sub(" ", text)
