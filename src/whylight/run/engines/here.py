"""The engine without processes: one worker, here, with a model that is loaded already."""

from collections.abc import Collection, Hashable, Sequence

from whylight.run.engines.engine import Event
from whylight.run.worker import Job, Order, Worker
from whylight.views.classifier import Classifier


class Here:
    """One worker in this process."""

    def __init__(self, job: Job, classifier: Classifier) -> None:
        self._worker = Worker(job, classifier=classifier)
        self._events: list[Event] = []

    def start(self, count: int) -> Sequence[Hashable]:  # noqa: ARG002  there is one model
        """Return the one worker that there is."""
        self._events.append(Event(0, ready=True))
        return [0]

    def send(self, worker: Hashable, order: Order) -> None:
        """Work on an order at once."""
        self._events.append(Event(worker, self._worker.work(order)))

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:  # noqa: ARG002
        """Return what is done."""
        found, self._events = self._events, []
        return found

    def stop(self, *, kindly: bool) -> None:
        """Do nothing: the model belongs to somebody else."""
