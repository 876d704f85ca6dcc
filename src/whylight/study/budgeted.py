"""Several analyses within one budget of seconds: on as many texts as there is time for, or left out, and said to be.

Analyses are done one after the other. Each may take its share of the seconds that are left; from its first batches it
is estimated how long it takes (`core/estimate.py`). One that does not fit is tried on half of the texts, a quarter and
so on, but on no fewer than a verdict takes (`run/compare.py`); then the same without removers that draw several texts,
which cost most. One that does not fit even then is left out, with what it would have taken. The texts are the first
ones of one order: time decides which cells a table has and on how many texts they are, and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from whylight.core.errors import IncompatibleError, InputError, LimitError
from whylight.core.estimate import duration
from whylight.core.limits import Clock, limited
from whylight.run.compare import FEWEST_TEXTS
from whylight.study.figures import Figures
from whylight.study.subject import Subject


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis.

    Attributes:
        share: Its share of the time, beside those of the analyses that follow.
        run: What it does.
        cheaper: Whether it makes sense without removers that draw several texts.
    """

    share: int
    run: Callable[[Subject], Figures]
    cheaper: bool = True


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An analysis that was not done.

    Attributes:
        name: The analysis.
        reason: Why, in a sentence without its full stop.
        seconds: How long it would have taken on all texts, by an early estimate that may be too low.
    """

    name: str
    reason: str
    seconds: float | None = None


def analyse(
    subject: Subject, analyses: Mapping[str, Analysis], *, end: float, clock: Clock, strict: bool
) -> tuple[dict[str, Figures], tuple[LeftOut, ...]]:
    """Do the analyses that can be done in time.

    Args:
        subject: What they look at.
        analyses: By name, in the order in which they are done.
        end: When the time is over, by the clock.
        clock: Where the time comes from.
        strict: Whether one that cannot be done at all is refused rather than left out.
    """
    found: dict[str, Figures] = {}
    left_out: list[LeftOut] = []
    shares = {name: one.share for name, one in analyses.items()}
    for name, one in analyses.items():
        seconds = (end - clock()) * one.share / sum(shares.values())
        del shares[name]
        try:
            found[name] = _within(subject, one, seconds=seconds, clock=clock)
        except LimitError as error:
            left_out.append(LeftOut(name, _too_long(error, len(subject.cases)), error.seconds))
        except (IncompatibleError, InputError) as error:
            if strict:
                raise
            left_out.append(LeftOut(name, str(error).rstrip(".")))
    return found, tuple(left_out)


def rungs(texts: int) -> list[int]:
    """Return the numbers of texts to try: all, half of them, and so on, while they are enough for a verdict."""
    found = [texts]
    while found[-1] // 2 >= FEWEST_TEXTS:
        found.append(found[-1] // 2)
    return found


def _within(subject: Subject, analysis: Analysis, *, seconds: float, clock: Clock) -> Figures:
    """Do an analysis on as many texts and removers as there is time for; what is raised is about all of them."""
    end, first = clock() + seconds, None
    for own in subject.cheaper() if analysis.cheaper else (subject,):
        for texts in rungs(len(subject.cases)):
            left = end - clock()
            if left <= 0:
                break
            try:
                with limited(budget=left, clock=clock):
                    return _noted(analysis.run(own.first(texts)), subject, own)
            except LimitError as error:
                first = first or error
    raise first or LimitError("no time was left.")


def _noted(figures: Figures, subject: Subject, own: Subject) -> Figures:
    """Say which removers are not in a table for lack of time."""
    without = [name for name in subject.removals if name not in own.removals]
    notes = [f"without {', '.join(without)}, for which there was no time"] if without else []
    return replace(figures, notes=(*figures.notes, *notes))


def _too_long(error: LimitError, texts: int) -> str:
    if error.seconds is None:
        return str(error).rstrip(".")
    return f"{texts} text{'' if texts == 1 else 's'} would take {duration(error.seconds)} or more"
