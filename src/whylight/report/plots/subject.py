"""What a picture is of: explanations that fit together, words to be known by, and what to refuse."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.printable import one_line
from whylight.core.text import Text
from whylight.report.numbers import shown_score
from whylight.report.renderers import renderer_of
from whylight.report.terminal import word_entry
from whylight.run.evaluation import Evaluation

FIRST_MARK, MARKS = 0x2460, 20
"""Numbers in circles: marks of words of the first text of a pair, of the second, of what a prompt shows."""
WIDEST = 24
"""Characters of a word that is beside a bar or above a column."""
SPOKEN = 5
"""Words that an alternative text names on each side."""


def one_explanation(given: object, *, several: str) -> Explanation:
    """Return what must be one explanation.

    Args:
        given: What a user gave.
        several: What takes several of them.
    """
    if isinstance(given, Explanation):
        return given
    if is_list_of_explanations(given):
        raise InputError(f"this picture is of one explanation, not of a list; take one of it, e.g. [0]; {several}.")
    raise InputError(f"this picture is of an explanation, not of {type(given).__name__}; wl.explain makes one.")


def is_list_of_explanations(given: object) -> TypeGuard[Sequence[Explanation]]:
    """Say whether it is a list of explanations, with one at least."""
    return isinstance(given, Sequence) and bool(given) and all(isinstance(one, Explanation) for one in given)


def evaluated(given: object) -> Evaluation:
    """Return what must be an evaluation."""
    if not isinstance(given, Evaluation):
        raise InputError(f"this picture is of what wl.evaluate returns, not of {type(given).__name__}.")
    return given


def several_explanations(given: object, *, least: int) -> list[Explanation]:
    """Return what must be several explanations of the same input and features."""
    if isinstance(given, Explanation) or not isinstance(given, Sequence):
        raise InputError(f"this picture is of several explanations, in a list, not of {type(given).__name__}.")
    strange = next((one for one in given if not isinstance(one, Explanation)), None)
    if strange is not None:
        raise InputError(f"this picture is of explanations, not of {type(strange).__name__}.")
    if len(given) < least:
        raise InputError(f"this picture is of {least} explanations or more, not of {len(given)}.")
    known = list(given)
    if any((one.example, one.places) != (known[0].example, known[0].places) for one in known):
        raise InputError(
            "this picture is of explanations of one input in the same units; wl.plot.summary takes several texts."
        )
    return known


def common_target(explanations: Sequence[Explanation], target: str | int | None) -> Target:
    """Return the label that is drawn: the one that all explain, or the one that is asked for."""
    if target is not None:
        found = [one.the_target(target) for one in explanations]  # each must explain it
        return found[0]
    shared = [one for one in explanations[0].targets if all(one in other.targets for other in explanations)]
    if len(shared) == 1:
        return shared[0]
    if not shared:
        raise InputError("these explanations are of different labels; compare those of one label.")
    raise InputError(
        f"this picture is of one label, and these explanations are of {len(shared):,}; say which, e.g. with wl.plot: "
        f"target='{one_line(shared[0].label)}'."
    )


def alt_text_of(figure: object) -> str:
    """Return what a figure shows, in words; "" if nobody said it."""
    return str(getattr(figure, "alt_text", ""))


def named_scores(explanation: Explanation, target: Target) -> tuple[list[str], Floats]:
    """Return names of what lists name, features or larger parts, and a score of each."""
    places, scores = renderer_of(explanation.example.kind).listed(explanation, target)
    return word_names(explanation, places), scores


def word_names(explanation: Explanation, places: Sequence[Any] | None = None) -> list[str]:
    """Name features that stand by themselves: a bare sign in quotes, which of several alike it is, of which text."""
    places = explanation.places if places is None else places
    shown = [word_entry(explanation.example.show(place), longest=WIDEST) for place in places]
    counts, seen, names = Counter(shown), Counter[str](), []
    several = isinstance(explanation.example, Text) and len(explanation.example.parts) > 1
    for place, word in zip(places, shown, strict=True):
        seen[word] += 1
        name = f"{word} ({seen[word]})" if counts[word] > 1 and not several else word
        names.append(f"{part_mark(place.part)} {name}" if several else name)
    return names


def part_mark(number: int) -> str:
    """Return the mark of a part of a text."""
    return chr(FIRST_MARK + number) if number < MARKS else f"({number + 1})"


def marked_parts(explanation: Explanation) -> list[str]:
    """Say what the marks of parts mean, where there are several."""
    names = explanation.example.part_names if isinstance(explanation.example, Text) else ()
    return [", ".join(f"{part_mark(n)} {name}" for n, name in enumerate(names))] if len(names) > 1 else []


def said_words(names: Sequence[str], scores: Floats, *, signed: bool, most: int = SPOKEN) -> str:
    """Say in words which features are strongest, and what they score; so many on each side."""
    peak = float(np.abs(scores).max(initial=0.0))
    if peak == 0:
        return "Every score is 0."
    order = [int(i) for i in np.argsort(-np.abs(scores), kind="stable") if scores[i]]

    def side(places: Sequence[int]) -> str:
        return ", ".join(f"{names[i]} {shown_score(float(scores[i]), peak=peak, signed=signed)}" for i in places[:most])

    if not signed:
        return f"Most important: {side(order)}."
    sides = {"For": [i for i in order if scores[i] > 0], "Against": [i for i in order if scores[i] < 0]}
    return " ".join(f"{name}: {side(places)}." for name, places in sides.items() if places)
