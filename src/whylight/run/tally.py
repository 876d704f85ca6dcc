"""How far a run of a corpus has come, told to whoever watches: texts, rate, time left, failures."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress

from whylight.core.estimate import duration
from whylight.core.inputs import Noun
from whylight.explaining.console import Console, complain, text_column
from whylight.run.driving import Count

MINUTE = 60.0
"""Seconds between two lines, where there is no terminal for a bar."""


@contextmanager
def shown(total: int | None, noun: Noun, *, shown: bool) -> Iterator[Callable[[Count], None]]:
    """Show how far a run has come, as a bar or as a line every minute.

    Args:
        total: How many inputs there are, if that is known.
        noun: What they are called.
        shown: False keeps the terminal untouched.
    """
    if not shown:
        yield lambda _: None
    elif sys.stderr.isatty():
        with Progress(
            BarColumn(), text_column("{task.description}"), console=Console(stderr=True), transient=True
        ) as bar:
            task = bar.add_task("", total=total)
            yield lambda count: bar.update(task, completed=count.texts, description=told(count, total, noun))
    else:
        last = [time.monotonic()]

        def write(count: Count) -> None:
            if time.monotonic() - last[0] >= MINUTE:
                last[0] = time.monotonic()
                complain(f"{told(count, total, noun)}.")

        yield write


def told(count: Count, total: int | None, noun: Noun) -> str:
    """Say in a line how far a run has come."""
    of = "" if total is None else f" of {total:,}"
    rate, left = "", ""
    if count.ready is None:
        rate = ", the model is being loaded"
    elif count.new:
        rate = f", {paced(count.rate)}"
        left = "" if total is None else f", {duration(max(0, total - count.texts) / count.rate)} left"
    failures = f", {count.failed:,} failed" if count.failed else ""
    deaths = f", {count.deaths:,} workers died" if count.deaths else ""
    return f"{count.texts:,}{of} {noun.many}{rate}{left}{failures}{deaths}"


def paced(rate: float) -> str:
    """Say how many there are per second, or per a longer time if that is less than one."""
    units = {"second": 1, "minute": 60, "hour": 3600}
    name, seconds = next(((name, one) for name, one in units.items() if rate * one >= 1), ("hour", units["hour"]))
    return f"{rate * seconds:,.1f} per {name}"
