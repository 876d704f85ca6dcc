"""Two processes with one thread each: on two cores that does more than one process with two."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import torch

JOBS = 2
Task = TypeVar("Task")
Result = TypeVar("Result")


def in_processes(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Do tasks in processes of their own, and yield what comes of them, in their order."""
    with ProcessPoolExecutor(JOBS, mp_context=get_context("spawn"), initializer=_take_one_thread) as pool:
        yield from pool.map(work, tasks)


def _take_one_thread() -> None:
    torch.set_num_threads(1)
