"""How far reviewers agree, what they come to, and what waits: by hand on reviews of a line."""

import math

import pytest
from hypothesis import given, strategies as st

from whylight.core.text import Span
from whylight.workbench.agreement import agreements, disagreements, kappa
from whylight.workbench.export import agreed
from whylight.workbench.reviewing import Review

FIRST, SECOND = Span(0, 0, 4), Span(0, 4, 8)


def review(marked: dict[str, tuple[Span, ...]] | None = None, **decisions: str) -> Review:
    return Review(decisions=decisions, marked=marked or {}, done=True)


YES, NO, NOTHING = review(a="accepted"), review(a="rejected"), review()


def test_kappa_is_cohens() -> None:
    """50 votes, 20 and 15 alike, chance 0.5 (Cohen 1960's own layout)."""
    votes = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(votes) == pytest.approx(0.4)
    assert math.isnan(kappa([]))
    assert math.isnan(kappa([(True, True)] * 3))


@pytest.mark.parametrize("other", [NO, NOTHING])
def test_who_leaves_a_label_undecided_says_that_it_does_not_apply(other: Review) -> None:
    """It does so everywhere: in the figures, in the list of disagreements and in what is exported."""
    own = {"Ada": YES, "Bob": other}
    (found,) = agreements([own])
    assert (found.pairs, found.same) == (1, 0.0)
    assert [(one.label, one.about) for one in disagreements(own)] == [("a", "label")]
    assert (agreed(own, Review()).split, agreed(own, Review()).labels) == (("a",), ())


def test_more_than_half_decide_and_a_single_review_stands() -> None:
    assert agreed({"Ada": YES}, Review()).labels == ("a",)
    assert agreed({"Ada": NOTHING}, Review()).labels == ()
    assert agreed({"Ada": YES, "Bob": YES, "Eve": NO}, Review()).labels == ("a",)
    assert agreed({"Ada": YES, "Bob": NOTHING, "Eve": NOTHING}, Review()) == agreed({"Ada": NOTHING}, Review())


def test_of_two_the_evidence_is_what_both_marked() -> None:
    own = {
        "Ada": review({"a": (FIRST, SECOND)}, a="accepted"),
        "Bob": review({"a": (SECOND,)}, a="added"),
        "Eve": review({"a": (FIRST,)}, a="rejected"),
    }
    assert agreed(own, Review()).marked == {"a": (SECOND,)}


@pytest.mark.parametrize("marked", [(), (FIRST,), (SECOND,)])
def test_what_was_adjudicated_is_what_comes_out(marked: tuple[Span, ...]) -> None:
    """Also evidence that is none: what others marked does not come back."""
    own = dict.fromkeys(("Ada", "Bob"), review({"a": (FIRST,)}, a="accepted")) | {"Eve": YES}
    decided = review({"a": marked} if marked else {}, a="accepted")
    assert agreed(own, decided).marked == ({"a": marked} if marked else {})
    assert agreed(own, NO).labels == ()


def test_an_adjudication_that_ended_half_way_decides_nothing() -> None:
    """Marks come before the decision: until that is there, the label waits."""
    own = {"Ada": review({"a": (FIRST,)}, a="accepted"), "Bob": NO}
    assert agreed(own, review({"a": (FIRST,)})).split == ("a",)


DECISIONS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["accepted", "rejected", "added"]))


@given(st.lists(DECISIONS, min_size=2, max_size=2))
def test_two_who_are_split_are_those_who_disagree_about_a_label(decisions: list[dict[str, str]]) -> None:
    own = {name: review(**each) for name, each in zip(("Ada", "Bob"), decisions, strict=True)}
    split = {one.label for one in disagreements(own) if one.about == "label"}
    assert set(agreed(own, Review()).split) == split
    (found,) = agreements([own])
    assert round(found.pairs * (1 - found.same)) == len(split) if found.pairs else not split
