"""Two states of the source, timed in turns: `python benchmarks/against.py OLD NEW`, each a tree with `src` inside.

Not part of `make bench`. Each tree gets a process of its own that stays; the two take turns at the same piece of work,
so that other load hits both. The figure is the median over rounds of new / old within a round.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import IO

import torch
from rich.console import Console
from rich.table import Table

import whylight as wl

ROUNDS = 10
AT_MOST = 1.05
THREADS = 2
PARAGRAPH = (
    "The first hour is a quiet marvel: patient, funny and beautifully shot, with a lead performance that never begs "
    "for sympathy. Then the story loses its nerve. Scenes that should hurt are smothered in music. "
)
WORKS: dict[str, tuple[str, dict[str, int]]] = {
    "occlusion": (PARAGRAPH, {}),
    "lime": (PARAGRAPH, {"samples": 100}),
    "kernel_shap": (PARAGRAPH, {"samples": 100}),
    "integrated_gradients": (PARAGRAPH, {}),
    "attingrad": (PARAGRAPH * 2, {}),
}
REPEATS = {"attingrad": 5}
"""Short work is done several times, so that a round takes most of a second."""


def main() -> int:
    """Time every piece of work with both trees, print a table, and fail if the new one is slower."""
    if len(sys.argv) != 3:
        sys.exit("two trees are needed: python benchmarks/against.py OLD NEW")
    table = Table(title=f"new / old (CPU, {THREADS} threads, {ROUNDS} rounds in turns)")
    for column in ("method", "new / old", "target", "", "old, s", "new, s"):
        table.add_column(column)
    slower = False
    with ExitStack() as stack:
        old, new = (stack.enter_context(_worker(Path(tree))) for tree in sys.argv[1:])
        for name in WORKS:
            pairs = _in_turns(old, new, name)
            ratio = median(after / before for before, after in pairs)
            slower = slower or ratio > AT_MOST
            mark = "met" if ratio <= AT_MOST else "MISSED"
            seconds = (f"{median(column):.3f}" for column in zip(*pairs, strict=True))
            table.add_row(name, f"{ratio:.3f}", f"<= {AT_MOST:g}", mark, *seconds)
    Console().print(table)
    return 1 if slower else 0


def _in_turns(old: subprocess.Popen[str], new: subprocess.Popen[str], name: str) -> list[tuple[float, float]]:
    """Return (old, new) seconds of each round; every second one goes backwards."""
    for worker in (old, new):
        _ask(worker, name)
    found = []
    for number in range(ROUNDS):
        if number % 2 == 0:
            before = _ask(old, name)
            after = _ask(new, name)
        else:
            after = _ask(new, name)
            before = _ask(old, name)
        found.append((before, after))
    return found


@contextmanager
def _worker(tree: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that imports the package of a tree."""
    source = (tree / "src").resolve()
    if not (source / "whylight").is_dir():
        sys.exit(f"there is no package 'whylight' in '{source}'.")
    environment = {**os.environ, "PYTHONPATH": str(source), "WHYLIGHT_SOURCE": str(source)}
    command = [sys.executable, __file__, "--work"]
    with subprocess.Popen(  # noqa: S603  our own file
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as worker:
        try:
            yield worker
        finally:
            _pipe(worker.stdin).close()


def _ask(worker: subprocess.Popen[str], name: str) -> float:
    asked = _pipe(worker.stdin)
    asked.write(f"{name}\n")
    asked.flush()
    answer = _pipe(worker.stdout).readline()
    if not answer:
        raise RuntimeError(f"the process of '{name}' ended")
    return float(answer)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise TypeError(pipe)
    return pipe


def work() -> None:
    """Do what is asked on standard input, a line each, and answer with the seconds that it took."""
    if not Path(wl.__file__).is_relative_to(os.environ["WHYLIGHT_SOURCE"]):
        raise ImportError(f"'{wl.__file__}' is not in '{os.environ['WHYLIGHT_SOURCE']}'")
    torch.set_num_threads(THREADS)
    classifier = wl.load()
    for line in sys.stdin:
        name = line.strip()
        text, settings = WORKS[name]
        started = time.perf_counter()
        for _ in range(REPEATS.get(name, 1)):
            wl.explain(classifier, text, method=name, evidence_sign="none", progress=False, **settings)
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        sys.exit(main())
