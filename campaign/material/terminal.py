"""A pseudo-terminal, and the streams of this process led into it or into a file."""

import os
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from unittest.mock import patch


@contextmanager
def terminal() -> Iterator[tuple[int, bytearray]]:
    """Open a pseudo-terminal; what is written to it gathers in the bytes, as it was written."""
    master, slave = os.openpty()
    tty.setraw(slave)
    seen = bytearray()

    def gather() -> None:
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the last writer has closed it
                return
            if not part:
                return
            seen.extend(part)

    reader = threading.Thread(target=gather)
    reader.start()
    try:
        yield slave, seen
    finally:
        os.close(slave)
        reader.join()
        os.close(master)


@contextmanager
def streams(out: int, err: int) -> Iterator[None]:
    """Let everything that this process prints, from Python or below it, go to these file descriptors."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    os.dup2(out, 1)
    os.dup2(err, 2)
    try:
        with (
            TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="utf-8") as stdout,
            TextIOWrapper(os.fdopen(os.dup(2), "wb"), encoding="utf-8", errors="backslashreplace") as stderr,
            patch.object(sys, "stdout", stdout),
            patch.object(sys, "stderr", stderr),
        ):
            yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        os.close(kept[0])
        os.close(kept[1])
