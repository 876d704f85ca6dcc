"""A script that is killed takes its processes with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import document

SCRIPT = """
import os, sys, time
sys.path.insert(0, {here!r})
from processes import in_processes

def work(_: int) -> None:
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    list(in_processes(work, [1, 2]))
"""
LONGEST = 60


def test_processes_end_with_the_script_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(here=str(document.HERE)), encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as run:  # noqa: S603  our own
        assert run.stdout is not None
        started = [int(run.stdout.readline()) for _ in range(2)]
        run.send_signal(signal.SIGTERM)
        assert run.wait(LONGEST) == -signal.SIGTERM
        until = time.monotonic() + LONGEST
        while any(map(alive, started)):
            assert time.monotonic() < until
            time.sleep(0.1)


def alive(process: int) -> bool:
    """Say whether a process is there; one that ended and that nobody waited for is not."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
