"""How far reviewers agree, and where they do not, so that somebody can decide.

    labels    Cohen's kappa over (document, label) pairs that one of them decided: whether the label applies
    evidence  F1 of characters, one reviewer against the other, over labels that both say apply

Reviews are finished ones, so that a label which somebody left undecided does not apply, by that review: what one adds
and the other misses is a disagreement here, in the list of these, and in what is exported. Of several reviewers, every
two are compared. Kappa is nan where one of them always says the same: there is no chance agreement to beat. A
disagreement is a label that one accepts and another rejects, or evidence that differs in more than `SLACK` of its
characters.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from whylight.core.text import Span
from whylight.workbench.reviewing import Review, characters

SLACK = 0.2


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two reviewers agree.

    Attributes:
        first: One.
        second: The other.
        documents: Documents that both finished.
        pairs: Labels of these that one of them decided about, or both.
        same: Share of them on which they decided alike.
        kappa: The same, beyond chance; nan where there is none.
        evidence: F1 of the characters that they marked; nan where nothing was marked by both.
    """

    first: str
    second: str
    documents: int
    pairs: int
    same: float
    kappa: float
    evidence: float


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What reviewers of one document see differently.

    Attributes:
        label: The label.
        decisions: What each decided, by reviewer; None where nothing.
        marked: What each marked, by reviewer.
        about: `label` or `evidence`.
    """

    label: str
    decisions: Mapping[str, str | None]
    marked: Mapping[str, tuple[Span, ...]]
    about: str


def disagreements(reviews: Mapping[str, Review]) -> list[Disagreement]:
    """Return what finished reviews of one document see differently.

    Args:
        reviews: Reviews of one document, by reviewer.
    """
    labels = list(dict.fromkeys(label for one in reviews.values() for label in one.decisions))
    found = []
    for label in labels:
        decisions = {name: one.decisions.get(label) for name, one in reviews.items()}
        marked = {name: one.marked.get(label, ()) for name, one in reviews.items()}
        applies = {one.applies(label) for one in reviews.values()}
        if len(applies) > 1:
            found.append(Disagreement(label, decisions, marked, "label"))
        elif applies == {True} and any(
            1 - f1(marked[one], marked[other]) > SLACK for one, other in combinations(marked, 2)
        ):
            found.append(Disagreement(label, decisions, marked, "evidence"))
    return found


def agreements(reviews: Sequence[Mapping[str, Review]]) -> list[Agreement]:
    """Compare every two reviewers over the documents that both finished.

    Args:
        reviews: Of each document, finished reviews by reviewer.
    """
    names = sorted({name for one in reviews for name in one})
    return [
        _compared(first, second, [(one[first], one[second]) for one in reviews if first in one and second in one])
        for first, second in combinations(names, 2)
        if any(first in one and second in one for one in reviews)
    ]


def _compared(first: str, second: str, both: Sequence[tuple[Review, Review]]) -> Agreement:
    votes: list[tuple[bool, bool]] = []
    shared = sizes = 0
    for one, other in both:
        for label in dict.fromkeys((*one.decisions, *other.decisions)):
            votes.append((one.applies(label), other.applies(label)))
            if votes[-1] == (True, True):
                own, others = (characters(review.marked.get(label, ())) for review in (one, other))
                shared += len(own & others)
                sizes += len(own) + len(others)
    same = sum(a == b for a, b in votes) / len(votes) if votes else math.nan
    evidence = 2 * shared / sizes if sizes else math.nan
    return Agreement(first, second, len(both), len(votes), same, kappa(votes), evidence)


def kappa(votes: Sequence[tuple[bool, bool]]) -> float:
    """Return Cohen's kappa of pairs of votes; nan where chance alone would agree always."""
    if not votes:
        return math.nan
    count = len(votes)
    yes = [sum(vote[side] for vote in votes) / count for side in (0, 1)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    same = sum(a == b for a, b in votes) / count
    return (same - chance) / (1 - chance) if chance < 1 else math.nan


def f1(one: Sequence[Span], other: Sequence[Span]) -> float:
    """Return the F1 of the characters of two sets of stretches; 1 where both are empty."""
    mine, theirs = characters(one), characters(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine or theirs else 1.0
