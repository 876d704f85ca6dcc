"""Work in the background: it goes on after failures, ends between two steps of the model, and says where it is."""

import threading
import time

from whylight.core.errors import InputError
from whylight.core.progress import advance
from whylight.workbench.jobs import Job, Progress


def waited(job: Job) -> Progress:
    end = time.monotonic() + 10
    while job.progress.running and time.monotonic() < end:
        time.sleep(0.005)
    return job.progress


def test_what_fails_is_counted_and_the_rest_goes_on() -> None:
    def work(item: int) -> None:
        if item % 2:
            raise InputError(f"no {item}")

    job = Job()
    assert job.start(range(5), work, total=5)
    assert waited(job) == Progress(total=5, done=5, failed=2, reason="no 1", running=False)
    assert job.start([], work, total=0)  # and another one may follow


def test_a_job_that_breaks_says_so() -> None:
    job = Job()
    job.start([1], lambda _item: 1 / 0, total=1)  # type: ignore[arg-type,return-value]
    assert waited(job) == Progress(total=1, failed=1, reason="the job ended: division by zero")


def test_a_job_ends_between_two_steps_and_no_other_one_starts() -> None:
    begun, steps, finished = threading.Event(), 0, False

    def work(_item: int) -> None:
        nonlocal steps, finished
        while steps < 100_000:
            steps += 1
            begun.set()
            time.sleep(0.001)
            advance(1)
        finished = True

    job = Job()
    job.start(range(5), work, total=5)
    begun.wait(10)
    start = time.monotonic()
    job.close()
    assert time.monotonic() - start < 5
    assert (finished, job.progress.done, job.progress.failed, job.progress.running) == (False, 0, 0, False)
    assert not job.start([1], work, total=1)
