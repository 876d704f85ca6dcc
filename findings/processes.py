"""Two processes with one thread each: on two cores that does more than one process with two."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Thread
from typing import TypeVar

import torch

from whylight.engines.local import end_with_parent

JOBS = 2
Task = TypeVar("Task")
Result = TypeVar("Result")


def in_processes(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Do tasks in processes of their own, and yield what comes of them, in their order."""
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn"), initializer=_begin) as pool:
        yield from pool.map(work, tasks)


def _begin() -> None:
    Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
