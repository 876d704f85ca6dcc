"""Long work in the background: where every document stands is found out one after the other, by one thread.

Progress is a number that pages may follow while the job runs. A document that cannot be explained is counted, and the
first reason is told; it never stops the others. Closing stops after the document that is on its way.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from whylight.core.errors import WhylightError


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

    def close(self) -> None:
        """Stop after the item that is on its way."""
        with self._changed:
            self._stopping = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self, items: Iterable[Any], work: Callable[[Any], None]) -> None:
        try:
            for item in items:
                if self._stopping:
                    break
                failed, reason = 0, ""
                try:
                    work(item)
                except WhylightError as error:
                    failed, reason = 1, str(error)
                now = self._progress
                self._set(replace(now, done=now.done + 1, failed=now.failed + failed, reason=now.reason or reason))
        except Exception as error:  # noqa: BLE001  a job that dies must say so, and not look as if it went on
            self._set(replace(self._progress, reason=f"the job ended: {error}", failed=self._progress.failed + 1))
        finally:
            self._set(replace(self._progress, running=False))

    def _set(self, progress: Progress) -> None:
        with self._changed:
            self._progress = progress
            self._changed.notify_all()
