"""Loggers that several threads silence at once are put back once all are done."""

import threading

from transformers.utils import logging

from whylight.models.quiet import quiet


def test_two_threads_leave_the_loggers_as_they_were() -> None:
    logging.set_verbosity_info()
    entered, leave = threading.Event(), threading.Event()

    def longer() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=longer)
    try:
        with quiet():
            thread.start()
            entered.wait(10)
        assert logging.get_verbosity() == logging.CRITICAL  # the other still needs it
        assert not logging.is_progress_bar_enabled()
        leave.set()
        thread.join(10)
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        leave.set()
        logging.set_verbosity_warning()
