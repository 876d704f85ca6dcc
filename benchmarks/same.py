"""Two states of the source, held against each other: `python benchmarks/same.py OLD NEW DATA`.

OLD and NEW are trees with `src` inside, DATA a folder with `sst_trees`. Each tree explains 20 sentences of SST (dev) by
every method that OLD has, at its default settings, in a process of its own. The largest difference is a share of the
largest score of the explanation.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

SENTENCES = 20
AT_MOST = 1e-5


def main() -> int:
    """Compare every method, and fail if one differs."""
    if len(sys.argv) != 4:
        sys.exit("two trees and the data are needed: python benchmarks/same.py OLD NEW DATA")
    old = _explained(Path(sys.argv[1]), sys.argv[3])
    new = _explained(Path(sys.argv[2]), sys.argv[3], *old)
    table, worst = Table(*("method", "explanations", "largest difference", "forward passes")), 0.0
    for method in sorted(old):
        pairs = list(zip(old[method], new[method], strict=True))
        apart = max(_apart(one["scores"], other["scores"]) for one, other in pairs)
        passes = all(one["passes"] == other["passes"] for one, other in pairs)
        worst = max(worst, apart)
        table.add_row(method, str(len(pairs)), f"{apart:.1e}", "same" if passes else "OTHERS")
    Console().print(table)
    return 1 if worst > AT_MOST else 0


def _apart(one: list[list[float]], other: list[list[float]]) -> float:
    size = np.abs(np.asarray(one)).max()
    return float(np.abs(np.asarray(one) - np.asarray(other)).max() / size) if size else 0.0


def _explained(tree: Path, data: str, *methods: str) -> dict[str, list[dict[str, list[list[float]]]]]:
    environment = {**os.environ, "PYTHONPATH": str((tree / "src").resolve())}
    command = [sys.executable, __file__, "--work", data, *methods]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, list[dict[str, list[list[float]]]]] = json.loads(done.stdout)
    return found


def work(data: str, *asked: str) -> None:
    """Explain the sentences by the methods asked for, or by every one that works, and print the scores."""
    import whylight as wl  # noqa: PLC0415  that of the tree

    if not Path(wl.__file__).is_relative_to(os.environ["PYTHONPATH"]):
        raise ImportError(f"'{wl.__file__}' is not in '{os.environ['PYTHONPATH']}'")
    classifier = wl.load()
    sentences = wl.dataset(f"sst:{data}/sst_trees", split="dev").sample(SENTENCES, seed=0)
    methods = asked or [name for name, reason in wl.compatible(classifier).items() if reason is None]
    found: dict[str, list[object]] = {name: [] for name in methods}
    for record in sentences:
        for one in wl.explain(classifier, record.example, method=methods, progress=False):
            receipt = one.provenance
            passes = [receipt.forward_passes, receipt.backward_passes]
            found[receipt.method].append({"scores": one.scores.tolist(), "passes": passes})
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
    else:
        sys.exit(main())
