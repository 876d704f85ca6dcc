"""`make bench`: every ratio in one run, with its target; exits with 1 if one is missed."""

import sys
import time
from collections.abc import Callable

import accelerated
import captum_llm
import chunked
import decomposition
import decomposition_linear
import engine
import infill
import labels
import marc
import marc_pictures
import peers
import pools
import sequential
import shapley
import startup
import threads
import torch
from clock import Result
from rich.console import Console
from rich.table import Table

THREADS = 2
WIDTH = 200
"""Of the table in a file."""
SECTIONS: tuple[Callable[[], list[Result]], ...] = (
    startup.startup,
    engine.overhead,
    engine.shorter_costs_less,
    accelerated.accelerated,
    shapley.speed,
    shapley.error,
    sequential.sequential,
    marc.masks,
    marc_pictures.mask_of_pixels,
    infill.infill,
    threads.threads,
    labels.all_labels,
    chunked.chunked,
    pools.pools,
    decomposition.decomposition,
    decomposition_linear.decomposition_linear,
    captum_llm.captum_llm,
    peers.peers,
)


def main() -> int:
    """Run the sections that are named on the command line, or all, and print one table."""
    torch.set_num_threads(THREADS)
    chosen = [s for s in SECTIONS if not sys.argv[1:] or s.__name__ in sys.argv[1:]]
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    results, started = list[Result](), time.perf_counter()
    for section in chosen:
        console.print(f"[dim]{section.__module__}.{section.__name__} ...[/]", end=" ")
        begun = time.perf_counter()
        results += section()
        console.print(f"[dim]{_minutes(begun):.1f} minutes[/]")
    table = Table(title=f"whylight benchmarks (CPU, {THREADS} threads)")
    for column in ("what", "value", "target", "", "detail"):
        table.add_column(column)
    for one in results:
        mark = "" if one.target == "-" else "met" if one.met else "MISSED"
        table.add_row(one.name, f"{one.value:.3g}", one.target, mark, one.detail)
    console.print(table)
    console.print(f"{_minutes(started):.1f} minutes in all")
    return 0 if all(one.met for one in results) else 1


def _minutes(since: float) -> float:
    return (time.perf_counter() - since) / 60


if __name__ == "__main__":
    sys.exit(main())
