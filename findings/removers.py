"""Claim D1: does a deletion metric favour the method that removes words the same way?

    python findings/removers.py path/to/sst_trees

Three methods, each under two removers, measured under both: rankings, and the paired advantage of sharing the remover.
"""

import sys

import numpy as np
from document import WORK, Table, put

import whylight as wl
from whylight.run.summary import interval
from whylight.store.tables import Row

METHODS = ("occlusion", "lime", "kernel_shap")
METRICS = ("aopc_comprehensiveness", "aopc_sufficiency", "deletion_auc", "insertion_auc")
REMOVERS = ("mask", "delete")
HIGHER = {"aopc_comprehensiveness": True, "aopc_sufficiency": False, "deletion_auc": False, "insertion_auc": True}


def values(rows: list[Row], method: str, metric: str, remover: str) -> dict[str, float]:
    """Return the values of one method by one metric, by text."""
    chosen = [r for r in rows if (r["method"], r["metric"], r["remover"]) == (method, metric, remover)]
    return {row["example_id"]: row["value"] for row in chosen}


def main() -> None:
    """Run both, and put the tables into the document."""
    data = wl.dataset(f"sst:{sys.argv[1]}", split="dev").sample(100, seed=0)
    clf = wl.load()
    runs = {}
    for remover in REMOVERS:
        found = wl.evaluate(
            clf,
            data,
            methods=METHODS,
            metrics=METRICS,
            remover=remover,
            metric_removers=REMOVERS,
            out=WORK / "removers" / remover,
        )
        runs[remover] = found.scores
    put("removers", {"rankings": _rankings(runs), "advantages": _advantages(runs)})


def _rankings(runs: dict[str, list[Row]]) -> Table:
    rows = []
    for metric in METRICS:
        for measured in REMOVERS:
            means = {
                f"{method} ({own})": float(np.mean(list(values(runs[own], method, metric, measured).values())))
                for method in METHODS
                for own in REMOVERS
            }
            ranked = sorted(means, key=means.__getitem__, reverse=HIGHER[metric])
            rows.append([metric, measured, ", ".join(f"{name} {means[name]:.3f}" for name in ranked)])
    head = ["metric", "words removed by", "best to worst, the method's own remover in brackets"]
    return Table(head, rows, names=2)


def _advantages(runs: dict[str, list[Row]]) -> Table:
    rows = []
    for method in METHODS:
        for metric in METRICS:
            line = [method, metric]
            for measured in REMOVERS:
                other = next(one for one in REMOVERS if one != measured)
                same = values(runs[measured], method, metric, measured)
                different = values(runs[other], method, metric, measured)
                sign = 1 if HIGHER[metric] else -1
                cell = interval(np.asarray([sign * (same[key] - different[key]) for key in same]))
                line.append(f"{cell.mean:+.3f} [{cell.low:+.3f}, {cell.high:+.3f}]")
            rows.append(line)
    heads = [f"measured under {one}" for one in REMOVERS]
    return Table(["method", "advantage in", *heads], rows, names=2)


if __name__ == "__main__":
    main()
