"""`make campaign`: every promise tried on many random and hostile inputs; exits with 1 if one is broken.

    python campaign/run.py                     all parts
    python campaign/run.py texts threads       some of them
    python campaign/run.py --scale 0.05        a twentieth of each
    python campaign/run.py --jobs 2            two parts at a time, each in a process of its own

Each part is a module here with a function `campaign(scale, seed)`. What was tried, and what broke, goes into a table;
a whole run also puts its figures into docs/reliability.md.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from outcome import Outcome
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "reliability.md"
PARTS = tuple(sorted(path.stem for path in HERE.glob("*.py") if path.stem not in {"run", "outcome"}))
SHOWN = 20
"""Violations of a part that are printed."""
FIRST, LAST = "<!-- campaign -->", "<!-- /campaign -->"


def run(name: str, *, scale: float, seed: int) -> tuple[Outcome, float]:
    """Run one part, and time it."""
    started = time.monotonic()
    outcome: Outcome = import_module(name).campaign(scale, seed)
    return outcome, time.monotonic() - started


def cells(name: str, outcome: Outcome, seconds: float) -> tuple[str, str, str, str]:
    """Put one part into a line: its name, what was tried, violations, minutes."""
    tried = ", ".join(f"{count:,} {what}" for what, count in outcome.tried.items())
    return name, tried, f"{len(outcome.violations):,}", f"{seconds / 60:.1f}"


def put(lines: list[tuple[str, ...]]) -> None:
    """Write the figures of a whole run into the document, between its marks."""
    document = DOCUMENT.read_text(encoding="utf-8")
    before, rest = document.split(FIRST, 1)
    after = rest.split(LAST, 1)[1]
    head = [("part", "tried", "violations", "minutes"), ("---",) * 4]
    table = "\n".join("| " + " | ".join(line) + " |" for line in [*head, *lines])
    DOCUMENT.write_text(f"{before}{FIRST}\n{table}\n{LAST}{after}", encoding="utf-8")


def main() -> int:
    """Run the parts that are named, or all of them, and print one table."""
    parser = argparse.ArgumentParser(description="Try every promise on many random and hostile inputs.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="parts to run; all if none is named")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the whole campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="parts that run at a time")
    asked = parser.parse_args()
    console, names, lines, broken = Console(), asked.parts or PARTS, [], 0
    one = partial(run, scale=asked.scale, seed=asked.seed)
    # threads of several processes that wait for one core wait for each other too, and all of them are slow
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // asked.jobs)))
    # a process for each part: what one leaves behind in memory must not be another's
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, (outcome, seconds) in zip(names, pool.map(one, names), strict=True):
            lines.append(cells(name, outcome, seconds))
            broken += len(outcome.violations)
            console.print("  ".join(lines[-1]), style="dim", markup=False, highlight=False)
            for violation in outcome.violations[:SHOWN]:
                console.print(f"  {violation!r}", style="red", markup=False, highlight=False)
    table = Table(*("part", "tried", "violations", "minutes"), title=f"whylight campaign, seed {asked.seed}")
    for line in lines:
        table.add_row(*line)
    console.print(table)
    if not asked.parts and asked.scale == 1 and DOCUMENT.is_file():
        put(lines)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
