"""Real servers for tests: one process imports all once, and each server is a copy of it.

It reads one line of JSON per server, `{"url": ..., "texts": [...], "hostile": ...}`, and answers with the number of its
process and its port. Nothing but imports has run when a copy is made, so that it is as good as a new process.
"""

import json
import os
import signal
import sys
from functools import partial
from typing import Any

import workbench_app
from whylight.workbench.app import make_app
from whylight.workbench.listening import listen, opened


def main() -> None:
    """Make servers until nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that end leave nothing behind
    for line in sys.stdin:
        if os.fork() == 0:
            serve(**json.loads(line))
            os._exit(0)


def serve(url: str, texts: list[str], *, hostile: bool) -> None:
    """Serve some texts, and say in which process and on which port."""
    make: Any = (
        workbench_app.hostile_bench if hostile else partial(workbench_app.bench, methods=["occlusion", "random"])
    )
    bench = make(url, texts=texts)
    with opened("127.0.0.1", 0) as place:
        port = place.getsockname()[1]
        app = make_app(bench, hosts=[f"localhost:{port}", f"127.0.0.1:{port}"])
        print(os.getpid(), port, flush=True)  # noqa: T201  for the test
        listen(app, place)


if __name__ == "__main__":
    main()
