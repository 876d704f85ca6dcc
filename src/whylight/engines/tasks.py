"""Tasks whose results are files: trainings of several seeds, trials of a search, retrainings.

    with crew_of(opening, where) as crew:
        do_tasks(crew, seeds, called=str, done=take)

A task that is done again finds what it has left in its folder, and goes on from there. Receipts say no more than what
became of it. So results depend on how the work is opened, and not on how many workers there are, who died, or who came
first.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic

from whylight.core.errors import ModelError
from whylight.engines.crew import MOST_DEATHS, Crew, Task
from whylight.engines.engine import Died, Opening
from whylight.engines.here import Here
from whylight.engines.where import Where


def crew_of(opening: Opening, where: Where | None) -> Crew:
    """Return the workers: processes with one thread each, or this one as it is.

    Args:
        opening: Makes a worker; it is sent to its process.
        where: Where they are; None for one worker here.
    """
    return Crew(Here(opening()), 1) if where is None else Crew(where.workers_of(opening), where.workers)


def do_tasks(
    crew: Crew,
    tasks: Iterable[Task],
    *,
    called: Callable[[Task], str],
    done: Callable[[Task, Any], None],
    told: Callable[[float], None] = lambda _: None,
) -> None:
    """Have all tasks done; each is the order that its worker gets.

    Args:
        crew: The workers.
        tasks: What is to be done, made when a worker is about to be free.
        called: What people call a task.
        done: Is called with each task that is done and its receipt, in the order in which they end.
        told: Is called with how many are done, every second.

    Raises:
        Exception: What a task has raised; the others are stopped.
        ModelError: Three processes died of the same task.
    """
    crew.do(tasks, _Tasks(called, done, told))


@dataclass(slots=True)
class _Tasks(Generic[Task]):
    """The duty of whoever has tasks done."""

    called: Callable[[Task], str]
    taken: Callable[[Task, Any], None]
    told: Callable[[float], None]
    count: int = 0
    deaths: Counter[str] = field(default_factory=Counter)

    def order(self, task: Task) -> Task:
        return task

    def ready(self) -> None:
        """Nothing depends on it."""

    def done(self, task: Task, receipt: Any) -> None:  # noqa: ANN401  whatever the workers say
        self.count += 1
        self.taken(task, receipt)

    def died(self, task: Task | None, death: Died) -> None:
        if task is None or death.of_node:
            return
        name = self.called(task)
        self.deaths[name] += 1
        if self.deaths[name] >= MOST_DEATHS:
            raise ModelError(
                f"{MOST_DEATHS} processes died while they worked on {name}, perhaps for lack of memory; ask for fewer "
                "workers, or leave out --workers."
            )

    def looked(self) -> None:
        self.told(self.count)
