"""Long work in the background: where every document stands is found out one after the other, by one thread.

Progress is a number that pages may follow while the job runs. A document that cannot be explained is counted, and the
first reason is told; it never stops the others. Stopping ends it between two steps of the model, and keeps nothing of
the document that was on its way: it is looked at again when the server starts.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from whylight.core.errors import WhylightError
from whylight.core.progress import listening


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is.

    Attributes:
        total: Documents to look at.
        done: Those that were looked at.
        failed: Those that could not be.
        reason: Why the first of them could not.
        running: Whether the job goes on.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    reason: str = ""
    running: bool = False


class Stopped(Exception):  # noqa: N818  it is no failure
    """Nobody waits for the work any more."""


class Job:
    """One job at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._progress = Progress()
        self._thread: threading.Thread | None = None
        self._stopping = False

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._progress

    def start(self, items: Iterable[Any], work: Callable[[Any], None], *, total: int) -> bool:
        """Start to work on items; False if the last job is still running.

        Args:
            items: What to work on.
            work: Does one of them.
            total: How many there are.
        """
        with self._changed:
            if self._progress.running or self._stopping:
                return False
            self._progress = Progress(total=total, running=True)
            self._thread = threading.Thread(target=self._run, args=(items, work), name="whylight job", daemon=True)
            self._thread.start()
        return True

    @property
    def stopping(self) -> bool:
        """Whether it is told to end."""
        return self._stopping

    def stop(self) -> None:
        """Tell it to end; there will be no other one."""
        self._stopping = True

    def close(self) -> None:
        """Stop, and wait until it has ended."""
        with self._changed:
            self._stopping = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def expect(self, steps: int) -> None:
        """Hear that the model has so many more steps to make."""

    def advance(self, steps: int) -> None:  # noqa: ARG002  of a listener
        """Hear that the model has made a step.

        Raises:
            Stopped: The job was told to end.
        """
        if self._stopping:
            raise Stopped

    def _run(self, items: Iterable[Any], work: Callable[[Any], None]) -> None:
        try:
            for item in items:
                if self._stopping:
                    break
                failed, reason = 0, ""
                try:
                    with listening(self):
                        work(item)
                except WhylightError as error:
                    failed, reason = 1, str(error)
                now = self._progress
                self._set(replace(now, done=now.done + 1, failed=now.failed + failed, reason=now.reason or reason))
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001  a job that dies must say so, and not look as if it went on
            self._set(replace(self._progress, reason=f"the job ended: {error}", failed=self._progress.failed + 1))
        finally:
            self._set(replace(self._progress, running=False))

    def _set(self, progress: Progress) -> None:
        with self._changed:
            self._progress = progress
            self._changed.notify_all()
