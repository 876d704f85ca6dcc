"""The tables of claims B1 to B3, from the runs of `aml.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from document import Table, put, told

from whylight.core.registry import METRICS
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Cell, interval
from whylight.store.tables import RANDOM, Row

COLUMNS = {
    "Suff": ("sufficiency", "delete"),
    "LO": ("log_odds", "mask"),
    "Comp": ("comprehensiveness", "delete"),
    "A-S": ("aopc_sufficiency", "delete"),
    "A-C": ("aopc_comprehensiveness", "delete"),
}
"""The five columns of the paper: a metric, and how words are removed for it."""
AML, SOLVEX = "aml", "solvex"
BEST_OF = " best-of-10"


@dataclass(frozen=True)
class Search:
    """Networks that were fitted with different weights.

    Attributes:
        trials: Weights of each.
        folders: Where those are that are best for something.
        validated: The mean of each column on the validation texts; more is better.
        chosen: The best of them for each column.
    """

    trials: Sequence[Mapping[str, float]]
    folders: Mapping[int, Path]
    validated: Sequence[Mapping[str, float]]
    chosen: Mapping[str, int]

    def network(self, column: str) -> Path:
        """Return the folder of the best network for a column."""
        return self.folders[self.chosen[column]]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the runs on one corpus gave.

    Attributes:
        accuracy: Of the classifier, on all test texts.
        search: The networks.
        others: Test texts by all other methods.
        pretrained: By the network of each column.
        finetuned: By that network, finetuned for the column.
        controls: Runs in which the best of the others are there as the best of ten maps too.
        tau: Kendall tau between fAML's first map and those after each step.
        ablated: By networks that lack a term.
    """

    accuracy: float
    search: Search
    others: Sequence[Evaluation]
    pretrained: Mapping[str, Evaluation]
    finetuned: Mapping[str, Evaluation]
    controls: Sequence[Evaluation]
    tau: float
    ablated: Mapping[str, Evaluation]


def methods_of(runs: Sequence[Evaluation]) -> list[tuple[Evaluation, str]]:
    """Return the methods of several runs, `random` once."""
    found = {
        line.method: (run, line.method) for run in runs for line in run.summary.lines if BEST_OF not in line.method
    }
    return [*(one for name, one in found.items() if name != RANDOM), found[RANDOM]]


def best_other(runs: Sequence[Evaluation], column: str) -> tuple[Evaluation, str]:
    """Return the best of the methods that are not fitted, with its run."""
    sign = 1 if _higher(column) else -1
    others = [one for one in methods_of(runs) if one[1] != RANDOM]
    return max(others, key=lambda one: sign * _cell(_rows(*one, column)).mean)


def _control(runs: Sequence[Evaluation], name: str) -> tuple[Evaluation, str]:
    """Return the run in which a method is there as the best of ten maps, and what it is called there."""
    wanted = name + BEST_OF
    return next((run, wanted) for run in runs if any(line.method == wanted for line in run.summary.lines))


def write(name: str, found: Found) -> None:
    """Put the tables of one corpus into the document."""
    put(
        f"aml_{name}",
        {
            "methods": _methods(found),
            "differences": _differences(found),
            "one pass": _one_pass(found),
            "trials": _trials(found.search),
            "ablations": _ablations(found),
            "solvex": _solvex(found.others),
            "remarks": _remarks(found),
        },
    )


def _methods(found: Found) -> Table:
    """One line per method; the fitted ones have another network in each column."""
    rows = []
    for name, runs in (("fAML", found.finetuned), ("pAML", found.pretrained)):
        costs = [next(line for line in run.summary.lines if line.method == AML) for run in runs.values()]
        cells = [told(_cell(_rows(runs[column], AML, column))) for column in COLUMNS]
        each = [
            np.mean([getattr(one, what) for one in costs]) for what in ("forward_passes", "backward_passes", "seconds")
        ]
        rows.append([name, *cells, *(f"{value:.3g}" for value in each)])
    for run, method in methods_of(found.others):
        cells = [told(_cell(_rows(run, method, column))) for column in COLUMNS]
        rows.append([method, *cells, *(f"{value:.3g}" for value in _costs(run, method))])
    for name in sorted({best_other(found.others, column)[1] for column in COLUMNS}):
        run, method = _control(found.controls, name)
        cells = [told(_cell(_rows(run, method, column))) for column in COLUMNS]
        rows.append([method, *cells, "", "", ""])
    return Table(["method", *_heads(), "forward", "backward", "seconds per text"], rows)


def _differences(found: Found) -> Table:
    """Text by text: the fitted networks beside the best of the others, with one map and as the best of ten."""
    rows = []
    for column in COLUMNS:
        run, other = best_other(found.others, column)
        single = _rows(run, other, column)
        several = _rows(*_control(found.controls, other), column)
        fine, plain = (_rows(runs[column], AML, column) for runs in (found.finetuned, found.pretrained))
        pairs = ((fine, single), (fine, several), (fine, plain), (plain, single))
        rows.append([column, other, *(_compared(*pair) for pair in pairs)])
    head = ["column", "best other", "fAML minus it", "fAML minus its best of 10", "fAML minus pAML", "pAML minus it"]
    return Table(head, rows)


def _one_pass(found: Found) -> Table:
    """Text by text: the fitted networks, without finetuning, beside each of the others."""
    rows = []
    for run, method in methods_of(found.others):
        pairs = ((_rows(found.pretrained[one], AML, one), _rows(run, method, one)) for one in COLUMNS)
        rows.append([method, *(_compared(*pair) for pair in pairs)])
    return Table(["pAML minus", *_heads()], rows)


def _trials(found: Search) -> Table:
    rows = []
    for number, (weights, values) in enumerate(zip(found.trials, found.validated, strict=True)):
        means = [values[column] if _higher(column) else -values[column] for column in COLUMNS]
        best = [column for column, chosen in found.chosen.items() if chosen == number]
        cells = [*(f"{one:.2f}" for one in weights.values()), *(f"{value:.3f}" for value in means)]
        rows.append([str(number), *cells, ", ".join(best)])
    return Table(["trial", "w_p", "w_inv", "w_a", *_heads(), "best for"], rows)


def _ablations(found: Found) -> Table:
    """What is lost without a term, text by text, by the metric that the whole network is best for."""
    rows = []
    for name, run in found.ablated.items():
        column = name.split(",")[0]
        cells = [_compared(_rows(run, AML, one), _rows(found.pretrained[column], AML, one)) for one in ("Suff", "Comp")]
        rows.append([name, *cells])
    return Table(["best network for", "Suff, ablated minus whole", "Comp, ablated minus whole"], rows)


def _solvex(runs: Sequence[Evaluation]) -> Table:
    """On how many texts the objective of solvex is at least that of another method.

    Over all k, the sum of f(S_k) - f(x without S_k) is n (insertion - deletion) and a number that is the same for all.
    """
    objective = {method: _objective(run, method) for run, method in methods_of(runs)}
    own = objective.pop(next(name for name in objective if name.startswith(SOLVEX)))
    values = np.asarray(list(own.values()))
    others = {name: np.asarray([each[text] for text in own]) for name, each in objective.items()}
    others["the best of all others"] = np.max(list(others.values()), axis=0)
    rows = [[name, _share(values - each), told(interval(values - each), sign="+")] for name, each in others.items()]
    head = ["solvex beside", "texts on which it is better or equal", "mean difference of (insertion - deletion)"]
    return Table(head, rows)


def _objective(run: Evaluation, method: str) -> dict[str, float]:
    rows = [row for row in run.scores if row["method"] == method and row["remover"] == "delete"]
    values: dict[str, float] = {}
    for row in rows:
        if row["metric"] in ("insertion_auc", "deletion_auc"):
            sign = 1 if row["metric"] == "insertion_auc" else -1
            values[row["example_id"]] = values.get(row["example_id"], 0.0) + sign * row["value"]
    return values


def _remarks(found: Found) -> Table:
    rows = [
        ["accuracy on all test texts", f"{found.accuracy:.3f}"],
        ["texts that are explained", str(_cell(_rows(found.others[0], RANDOM, "Comp")).texts)],
        ["trials", str(len(found.search.trials))],
        ["Kendall tau between fAML's maps", f"{found.tau:.2f}"],
    ]
    return Table(["what was noted", "value"], rows)


def _share(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    return f"{int((differences >= -1e-6).sum())} of {len(differences)}"


def _costs(run: Evaluation, method: str) -> tuple[float, float, float]:
    line = next(one for one in run.summary.lines if one.method == method)
    return line.forward_passes, line.backward_passes, line.seconds


def _heads() -> list[str]:
    return [f"{column} {'↑' if _higher(column) else '↓'}" for column in COLUMNS]


def _higher(column: str) -> bool:
    return bool(METRICS[COLUMNS[column][0]].facts["higher_is_better"])


def _rows(run: Evaluation, method: str, column: str) -> list[Row]:
    return [row for row in select(run.scores, method) if (row["metric"], row["remover"]) == COLUMNS[column]]


def _cell(rows: Sequence[Row]) -> Cell:
    return interval(np.asarray([row["value"] for row in rows]))


def _compared(first: Sequence[Row], second: Sequence[Row]) -> str:
    (found,) = compare_rows(first, second)
    return f"{told(found.difference, sign='+')}, {found.standing}"
