"""A real server for tests, in a process of its own: python workbench_server.py DATABASE TEXTS PORT [hostile]."""

import json
import sys
from functools import partial
from pathlib import Path

import workbench_app
from whylight.workbench.app import make_app
from whylight.workbench.listening import listen, opened


def main() -> None:
    """Serve the texts of a file, and say on which port."""
    url, texts = sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    hostile = sys.argv[4:] == ["hostile"]
    make = workbench_app.hostile_bench if hostile else partial(workbench_app.bench, methods=["occlusion", "random"])
    bench = make(url, texts=texts)
    with opened("127.0.0.1", int(sys.argv[3]) if sys.argv[3:] else 0) as place:
        port = place.getsockname()[1]
        app = make_app(bench, hosts=[f"localhost:{port}", f"127.0.0.1:{port}"])
        print(port, flush=True)  # noqa: T201  for the test
        listen(app, place)


if __name__ == "__main__":
    main()
