"""Which labels a report draws: of very many, the most probable ones, and a sentence about the others.

A text is shown once for each label and method, if it does not stand above all of them. With thousands of labels that is
a page which no browser opens and nobody reads; all scores are in the JSON.
"""

from collections.abc import Sequence

from whylight.core.explanation import Explanation
from whylight.core.labels import Target

MOST, FEWEST = 100, 10
"""Labels that are drawn at most, and, however long the text, at least."""
PIECES = 100_000
"""Words that are drawn for one text, counted once for each label and method."""


def drawn_targets(group: Sequence[Explanation], *, once: bool = False) -> list[Target]:
    """Return the labels of one text that are drawn, in the order in which they were explained.

    Args:
        group: The explanations of the text.
        once: Whether the text is shown once for all of them, so that its length does not matter.
    """
    targets = asked_targets(group)
    pieces = 0 if once else sum(len(one.places) for one in group if one.provenance.class_specific)
    room = max(FEWEST, min(MOST, PIECES // max(1, pieces)))
    if len(targets) <= room:
        return targets
    probabilities = group[0].prediction.answers
    ranked = sorted(targets, key=lambda target: -probabilities[target.index])
    chosen = set(ranked[:room])
    return [target for target in targets if target in chosen]


def left_out(group: Sequence[Explanation], *, once: bool = False) -> list[str]:
    """Return the sentence about labels that are not drawn, if there are any."""
    asked, drawn = len(asked_targets(group)), len(drawn_targets(group, once=once))
    if drawn == asked:
        return []
    sentence = (
        f"{drawn:,} of {asked:,} labels are drawn, the most probable ones; "
        "name others with --target, or take all of them with --format json"
    )
    return [sentence]


def asked_targets(group: Sequence[Explanation]) -> list[Target]:
    """Return the labels of one text, in the order in which they were explained."""
    return list(dict.fromkeys(target for one in group for target in one.targets))
