"""Does occlusion notice that the model has forgotten its labels? The sanity check of the head, under each remover.

    usual      the whole head is drawn anew as the library does, and the label stays that of the untouched model
    published  the last matrix is drawn anew (Xavier), and the label is that of the randomised model

`sign_change` is the share of words whose score changes sign, `mean_change` how far scores move; more is better. The
published way counts another label as a change of the explanation. A word that infill puts back scores near 0 before and
after, and so hides the change.
Reference: Pham et al. 2022, table A5. Cost: occlusion, `draws` + 1 times a text, remover and way.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from whylight.core.arrays import Floats
from whylight.core.errors import LimitError
from whylight.core.limits import current, limited
from whylight.explaining.options import Options
from whylight.models.randomise import Initialiser
from whylight.study.figures import FigureTable, Place
from whylight.study.sanity import Explained, sanity_check
from whylight.study.subject import SCORE, Subject

CHANGES = ("sign_change", "mean_change")
LEAST = 1e-3
"""Seconds that are allowed where none are left: a bound of none would be an error of another kind."""
USUAL, PUBLISHED = "", ", as published"
WAYS: Mapping[str, tuple[Initialiser, Explained]] = {
    USUAL: ("library", "untouched"),
    PUBLISHED: ("xavier", "randomised"),
}


def head_randomised(subject: Subject, *, draws: int = 3, seed: int = 0) -> FigureTable:
    """Measure how far occlusion changes with a new head, by remover.

    Args:
        subject: The model, texts and removers.
        draws: How often weights are drawn.
        seed: Of the first draw.
    """
    values = dict[Place, Floats]()
    several = subject.classifier.labels.head == "sigmoid"
    ways = [USUAL] if several else [USUAL, PUBLISHED]
    slow_first = sorted(subject.removals, key=lambda one: not subject.removals[one].draws)
    todo = [(name, way) for name in slow_first for way in ways]
    for number, (name, way) in enumerate(todo):
        slow = sum(subject.removals[one].draws for one, _ in todo[number:])
        with _part_of_time(slow or len(todo) - number):
            found = _checked(subject, name, way, draws=draws, seed=seed)
        values |= {(name, f"{change}{way}"): found[change] for change in CHANGES}
    ordered = {(name, column): own for name in subject.removals for (row, column), own in values.items() if row == name}
    notes = ("as published needs one label a text, which this model does not give",) if several else ()
    return FigureTable(ordered, len(subject.cases), notes)


def _checked(subject: Subject, remover: str, way: str, *, draws: int, seed: int) -> dict[str, Floats]:
    """Return how far occlusion under one remover changes on each text, by measure."""
    initialiser, explained = WAYS[way]
    found = sanity_check(
        subject.classifier,
        subject.data,
        methods=["occlusion"],
        levels="head",
        draws=draws,
        seed=seed,
        initialiser=initialiser,
        explained=explained,
        options=Options(remover=remover, remover_settings=subject.removals[remover].settings, score=SCORE),
    )
    (line,) = (one for one in found.lines if one.method == "occlusion")
    return line.values


@contextmanager
def _part_of_time(parts: int) -> Iterator[None]:
    """Bound work by its part of the time that is left; what is refused is told as the time of all parts."""
    limits = current()
    if limits.seconds is None:
        yield
        return
    left = limits.started + limits.seconds - limits.clock()
    try:
        with limited(budget=max(left, LEAST) / parts, clock=limits.clock):
            yield
    except LimitError as error:
        raise LimitError(str(error), seconds=None if error.seconds is None else parts * error.seconds) from None
