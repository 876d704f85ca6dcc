"""The tables of claims B1 and B2 on a decoder, from the runs of `llm.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from document import Table, put, told

from whylight.core.registry import METRICS
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.run.summary import interval
from whylight.store.tables import RANDOM, Row

AML, SLOW = "aml", "sequential_integrated_gradients"
FITTED = {"fAML": "finetuned", "pAML": "pretrained"}
ENOUGH = 0.10
"""A model that is less than this above chance says nothing about explanations."""


@dataclass(frozen=True)
class Accuracy:
    """How often a model is right with so many examples, and how often it would be by chance."""

    shots: int
    right: float
    chance: float


@dataclass(frozen=True)
class Found:
    """What the runs on one corpus gave.

    Attributes:
        accuracies: Without examples, and with those that are used.
        prompted: Whether there is a prompt.
        trials: Comprehensiveness of each fitted network on the validation texts.
        runs: Evaluations by name.
        removers: How words are removed, for all metrics but log-odds, and for that.
    """

    accuracies: Sequence[Accuracy]
    prompted: bool
    trials: Sequence[float]
    runs: Mapping[str, Evaluation]
    removers: tuple[str, str]


def columns(removers: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Return the five columns of the paper: a metric, and how words are removed for it."""
    left_out, replaced = removers
    return {
        "Suff": ("sufficiency", left_out),
        "LO": ("log_odds", replaced),
        "Comp": ("comprehensiveness", left_out),
        "A-S": ("aopc_sufficiency", left_out),
        "A-C": ("aopc_comprehensiveness", left_out),
    }


def write(name: str, found: Found, *, keep: bool) -> None:
    """Put the tables of one corpus into the document, or print them."""
    tables = {"methods": _methods(found), "remarks": _remarks(found)}
    if found.trials:
        tables |= {"differences": _differences(found), "one pass": _one_pass(found)}
    if keep:
        put(f"llm_{name}", tables)
    else:
        print("\n\n".join(map(str, tables.values())))


def _named(found: Found) -> dict[str, tuple[Evaluation, str]]:
    """Return every method by the name that it has in tables, with its run; `random` once, and last."""
    known = {name: (found.runs[run], AML) for name, run in FITTED.items() if run in found.runs}
    for run in (run for name, run in found.runs.items() if name not in FITTED.values()):
        known |= {line.method: (run, line.method) for line in run.summary.lines if line.method != RANDOM}
    return {**known, RANDOM: (found.runs["cheap"], RANDOM)}


def _methods(found: Found) -> Table:
    rows = []
    for name, (run, method) in _named(found).items():
        cells = [told(interval(_values(run, method, found, one))) for one in columns(found.removers)]
        line = next(one for one in run.summary.lines if one.method == method)
        count = len(_values(run, method, found, "Comp"))
        costs = [f"{value:.3g}" for value in (line.forward_passes, line.backward_passes, line.seconds)]
        rows.append([name, *cells, *costs, str(count)])
    return Table(["method", *_heads(found), "forward", "backward", "seconds per text", "texts"], rows)


def _differences(found: Found) -> Table:
    """Text by text: the fitted networks beside the best of the others."""
    rows, named = [], _named(found)
    for column in columns(found.removers):
        sign = 1 if _higher(found, column) else -1
        others = {name: own for name, own in named.items() if name not in (*FITTED, RANDOM, SLOW)}
        best = max(others, key=lambda name: sign * float(np.mean(_values(*others[name], found, column))))
        fine, plain = (_rows(*named[name], found, column) for name in FITTED)
        other = _rows(*others[best], found, column)
        rows.append([column, best, _compared(fine, other), _compared(fine, plain), _compared(plain, other)])
    return Table(["column", "best other", "fAML minus it", "fAML minus pAML", "pAML minus it"], rows)


def _one_pass(found: Found) -> Table:
    """Text by text: the fitted network, without finetuning, beside each of the others."""
    rows, named = [], _named(found)
    for name, own in named.items():
        if name not in (*FITTED, SLOW):
            pairs = ((_rows(*named["pAML"], found, one), _rows(*own, found, one)) for one in columns(found.removers))
            rows.append([name, *(_compared(*pair) for pair in pairs)])
    return Table(["pAML minus", *_heads(found)], rows)


def _remarks(found: Found) -> Table:
    rows = []
    for one in found.accuracies:
        name = f"accuracy with {one.shots} examples" if found.prompted else "accuracy"
        rows.append([name, f"{one.right:.3f}"])
    used = found.accuracies[-1]
    rows += [
        ["chance", f"{used.chance:.3f}"],
        ["far enough above chance", "yes" if used.right >= used.chance + ENOUGH else "no: cannot tell"],
        ["removed for log-odds by", found.removers[1]],
        *([f"comprehensiveness of trial {n}", f"{value:.3f}"] for n, value in enumerate(found.trials)),
    ]
    return Table(["what was noted", "value"], rows)


def _heads(found: Found) -> list[str]:
    return [f"{column} {'↑' if _higher(found, column) else '↓'}" for column in columns(found.removers)]


def _higher(found: Found, column: str) -> bool:
    return bool(METRICS[columns(found.removers)[column][0]].facts["higher_is_better"])


def _rows(run: Evaluation, method: str, found: Found, column: str) -> list[Row]:
    wanted = columns(found.removers)[column]
    return [row for row in select(run.scores, method) if (row["metric"], row["remover"]) == wanted]


def _values(run: Evaluation, method: str, found: Found, column: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.asarray([row["value"] for row in _rows(run, method, found, column)])


def _compared(first: Sequence[Row], second: Sequence[Row]) -> str:
    (found,) = compare_rows(first, second)
    return f"{told(found.difference, sign='+')}, {found.standing}"
