"""Several analyses within one budget of seconds: on as many texts as there is time for, or left out, and said to be.

First, every analysis is done on the fewest texts that a verdict takes (`run/compare.py`). Each may take a part of the
seconds that are left; from its first batches it is estimated how long it takes (`core/estimate.py`). One that does not
fit is tried without removers that draw several texts, which cost most; one that does not fit then is left out, with
what it would have taken. Then, as long as what it took so far says that there is time, each is done on twice the texts,
up to all of them. The texts are the first ones of one order: time decides which cells a table has and on how many texts
they are, and nothing else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from whylight.core.errors import IncompatibleError, InputError, LimitError
from whylight.core.estimate import duration
from whylight.core.limits import Clock, limited
from whylight.run.compare import FEWEST_TEXTS
from whylight.study.figures import FigureTable
from whylight.study.subject import Subject

PART = 2 / 3
"""Of the seconds that are left: what one analysis may take, if others follow."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis.

    Attributes:
        run: What it does.
        cheaper: Whether it makes sense without removers that draw several texts.
        kept: Whether what the model answered is kept, so that more texts cost only themselves.
    """

    run: Callable[[Subject], FigureTable]
    cheaper: bool = True
    kept: bool = True


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An analysis that was not done.

    Attributes:
        name: The analysis.
        reason: Why, in a sentence without its full stop.
        seconds: How long it would have taken on the fewest texts, by an early estimate that may be too low.
    """

    name: str
    reason: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Done:
    """What an analysis gave on the first texts of a subject, and the seconds that it took."""

    figures: FigureTable
    subject: Subject
    texts: int
    seconds: float


def analyse(
    subject: Subject, analyses: Mapping[str, Analysis], *, end: float, clock: Clock, strict: bool
) -> tuple[dict[str, FigureTable], tuple[LeftOut, ...]]:
    """Do the analyses that can be done in time.

    Args:
        subject: What they look at.
        analyses: By name, in the order in which they are done.
        end: When the time is over, by the clock.
        clock: Where the time comes from.
        strict: Whether one that cannot be done at all is refused rather than left out.
    """
    fewest, *more = rungs(len(subject.cases))
    found: dict[str, _Done] = {}
    left_out: list[LeftOut] = []
    for number, (name, one) in enumerate(analyses.items(), start=1):
        part = PART if number < len(analyses) else 1.0
        try:
            found[name] = _first(subject, one, fewest, seconds=part * (end - clock()), clock=clock)
        except LimitError as error:
            left_out.append(LeftOut(name, _too_long(error, fewest), error.seconds))
        except (IncompatibleError, InputError) as error:
            if strict:
                raise
            left_out.append(LeftOut(name, str(error).rstrip(".")))
    for texts in more:
        for name, done in found.items():
            found[name] = _again(done, analyses[name], texts, end=end, clock=clock)
    return {name: _with_note(done, subject) for name, done in found.items()}, tuple(left_out)


def rungs(texts: int) -> list[int]:
    """Return the numbers of texts to try: all, half of them, and so on while that is enough; the fewest first."""
    found = [texts]
    while found[0] // 2 >= FEWEST_TEXTS:
        found.insert(0, found[0] // 2)
    return found


def _first(subject: Subject, analysis: Analysis, texts: int, *, seconds: float, clock: Clock) -> _Done:
    """Do an analysis on the first texts, with as many removers as there is time for."""
    end, first = clock() + seconds, None
    for own in subject.cheaper() if analysis.cheaper else (subject,):
        started = clock()
        try:
            figures = _within_time(analysis, own.first(texts), end=end, clock=clock)
        except LimitError as error:
            first = first or error
        else:
            return _Done(figures, own, texts, clock() - started)
    raise first or LimitError("no time was left.")


def _again(done: _Done, analysis: Analysis, texts: int, *, end: float, clock: Clock) -> _Done:
    """Do an analysis on more texts, if there is time; else it stays as it is."""
    started = clock()
    fresh = texts - done.texts if analysis.kept else texts
    if done.seconds * fresh / done.texts > end - started:
        return done
    try:
        figures = _within_time(analysis, done.subject.first(texts), end=end, clock=clock)
    except LimitError:
        return done
    spent = clock() - started
    return _Done(figures, done.subject, texts, done.seconds + spent if analysis.kept else spent)


def _within_time(analysis: Analysis, subject: Subject, *, end: float, clock: Clock) -> FigureTable:
    left = end - clock()
    if left <= 0:
        raise LimitError("no time was left.")
    with limited(budget=left, clock=clock):
        return analysis.run(subject)


def _with_note(done: _Done, subject: Subject) -> FigureTable:
    """Say which removers are not in a table for lack of time."""
    without = [name for name in subject.removals if name not in done.subject.removals]
    notes = [f"without {', '.join(without)}, for which there was no time"] if without else []
    return replace(done.figures, notes=(*done.figures.notes, *notes))


def _too_long(error: LimitError, texts: int) -> str:
    if error.seconds is None:
        return str(error).rstrip(".")
    return f"{texts} text{'' if texts == 1 else 's'} would take {duration(error.seconds)} or more"
