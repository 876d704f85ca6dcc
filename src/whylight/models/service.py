"""Asking an endpoint: as many requests at a time as it may be asked, and again where that may help.

The wait before request number n is drawn between half of `wait` x 2^n and the whole of it, so that requests that failed
together do not come back together. Where a service says when to come back, all requests wait for that. No wait is
longer than a minute. Ctrl-C, and a failure, cut what is under way.

Cost: one request per text.
"""

import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from whylight.core.endpoint import Endpoint
from whylight.core.interruption import at_once, postponed
from whylight.models.failures import FAULTS, FailedError, UnansweredError, content_of, on_the_way
from whylight.models.line import Line, Reply

LONGEST_WAIT = 60.0
"""Seconds between two requests for the same text, whatever a service asks for."""
LOOK = 0.05
"""Seconds between two looks at whether a request is overdue."""


class Stopped(Exception):  # noqa: N818  nothing is wrong
    """The round that a request belongs to is over."""


class Pace:
    """When the next request may go out.

    Args:
        per_minute: Requests per minute; None for no bound.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 0.0 if per_minute is None else 60 / per_minute
        self._next = 0.0
        self._lock = threading.Lock()

    def turn(self) -> float:
        """Take the next turn, and return the seconds until then."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap if self._gap else self._next
            return turn - now

    def hold(self, seconds: float) -> None:
        """Let nobody have a turn for some time."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class Round:
    """Questions that are asked together; whoever ends it cuts those that are under way.

    Args:
        count: How many questions there are.
    """

    def __init__(self, count: int) -> None:
        self.over = threading.Event()
        self.lines: set[Line] = set()
        self.faults: list[BaseException] = []
        self._left: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(count):
            self._left.put(number)

    def work(self, answer: Callable[[int], None]) -> None:
        """Answer questions until there are none left, or one fails."""
        try:
            while not self.over.is_set():
                answer(self._left.get_nowait())
        except (queue.Empty, Stopped):
            pass
        except BaseException as error:  # noqa: BLE001  it is raised where the questions were asked
            self.faults.append(error)
            self.end()

    def wait(self, seconds: float = 0.0) -> None:
        """Wait, unless the round is over."""
        if self.over.wait(seconds):
            raise Stopped

    def cut_overdue(self) -> None:
        """Cut the requests that take too long."""
        for line in list(self.lines):
            if line.overdue:
                line.cut()

    def end(self) -> None:
        """Let no further request begin, and cut those that are under way."""
        self.over.set()
        for line in list(self.lines):
            line.cut()


class Service:
    """An endpoint that is asked; any number of threads may do so.

    Args:
        endpoint: The endpoint.
        path: Which of its pages.
    """

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        self.endpoint, self.path = endpoint, path
        self._pace = Pace(endpoint.per_minute)
        self._room = threading.BoundedSemaphore(endpoint.in_flight)
        self._idle: queue.LifoQueue[Line] = queue.LifoQueue()
        self._draw = random.Random()  # noqa: S311  of waits, which nobody has to guess
        self._has_answered = False

    def ask(self, bodies: Sequence[bytes], read: Callable[[Any], Any], received: Callable[[int, Any], None]) -> None:
        """Ask some questions.

        Args:
            bodies: The requests.
            read: Makes something of the JSON that came.
            received: Gets the number of a question, and what was made of its answer, as soon as it is there.

        Raises:
            UnansweredError: If a request has failed for good; what `read` raises is raised as well.
        """
        own = Round(len(bodies))

        def answer(number: int) -> None:
            received(number, read(self._post(bodies[number], own)))

        count = min(len(bodies), self.endpoint.in_flight)
        threads = [threading.Thread(target=own.work, args=(answer,), daemon=True) for _ in range(count)]
        try:
            with at_once():  # an answer may take long
                for thread in threads:
                    thread.start()
                while any(thread.is_alive() for thread in threads) and not own.over.is_set():
                    threads[0].join(LOOK)
                    threads = [thread for thread in threads if thread.is_alive()]
                    own.cut_overdue()
        finally:
            with postponed():  # a second Ctrl-C waits until all are cut
                own.end()
        if own.faults:
            raise own.faults[0]

    def _post(self, body: bytes, own: Round) -> Any:  # noqa: ANN401  JSON of any kind
        """Send one request, as often as it takes, and return the JSON that came."""
        endpoint, times = self.endpoint, 0
        while True:
            own.wait(self._pace.turn())
            try:
                return content_of(self._answered(body, own), endpoint)
            except FailedError as failure:
                times += 1
                if not failure.again or times > endpoint.retries:
                    often = f" ({times} times in a row)" if times > 1 else ""
                    raise UnansweredError(f"the endpoint {endpoint.url} {failure.what}{often}.") from None
                if failure.wait:
                    self._pace.hold(min(failure.wait, LONGEST_WAIT))
                own.wait(min(LONGEST_WAIT, endpoint.wait * 2 ** (times - 1)) * self._draw.uniform(0.5, 1))

    def _answered(self, body: bytes, own: Round) -> Reply:
        """Send one request once: through a connection that is open already, else through a new one."""
        key = self.endpoint.key()
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "whylight"}
        headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        while not self._room.acquire(timeout=LOOK):
            own.wait()
        try:
            known = self._used_line()
            if known is not None:
                with suppress(ConnectionError):  # a server may close what nobody has used for some time
                    return self._through(known, body, headers, own)
            return self._through(Line(self.endpoint), body, headers, own)
        except FAULTS as error:
            raise on_the_way(error, has_answered=self._has_answered) from None
        finally:
            self._room.release()

    def _through(self, line: Line, body: bytes, headers: dict[str, str], own: Round) -> Reply:
        """Send a request through a connection, which is kept if it can be used again."""
        line.deadline = time.monotonic() + self.endpoint.timeout
        own.lines.add(line)
        try:
            own.wait()
            reply = line.ask(self.path, body, headers)
            if line.is_cut:  # what was cut in the middle of its headers reads like an empty answer
                raise TimeoutError
        except FAULTS as error:
            line.close()
            own.wait()
            if line.overdue or isinstance(error, TimeoutError):
                raise FailedError(f"gave no whole answer within {self.endpoint.timeout:g} s", again=True) from None
            raise
        finally:
            own.lines.discard(line)
        self._has_answered = True
        line.deadline = None
        if line.used:
            self._idle.put(line)
        return reply

    def _used_line(self) -> Line | None:
        """Return a connection that is open already, if there is one."""
        while True:
            try:
                line = self._idle.get_nowait()
            except queue.Empty:
                return None
            if line.ready:
                return line
            line.close()
