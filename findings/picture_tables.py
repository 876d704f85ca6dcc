"""Tables of runs on pictures: means, what came of masks, and how MaRC stands to each other method."""

from collections.abc import Mapping, Sequence

import numpy as np
from document import Table, told

from whylight.run.compare import Comparison, Standing, compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.run.summary import summarise
from whylight.store.tables import HUMAN, RANDOM, Row

SUFFICIENT, COMPREHENSIVE = FAITHFUL = ("aopc_sufficiency", "aopc_comprehensiveness")
KEPT = ("example_id", "kind", "method", "seconds", "forward_passes", "backward_passes", "notes")
"""Of an explanation; a score of every pixel would fill the memory."""
STANDINGS: tuple[Standing, ...] = ("better", "worse", "cannot tell")
EVERYTHING = 0.9
"""Share of a picture from which on a mask keeps nearly all of it."""
Rows = tuple[list[Row], list[Row]]
"""Explanations, and scores."""


def rows_of(run: Evaluation, some: set[str] | None = None) -> Rows:
    """Return what a run has of some pictures; of explanations, the mean of their scores stands in place of these."""
    explained = [
        {**{name: row[name] for name in KEPT}, "mean": float(np.mean(row["scores"]))}
        for row in run.explanations
        if some is None or row["example_id"] in some
    ]
    return explained, [row for row in run.scores if some is None or row["example_id"] in some]


def joined(several: Sequence[Rows]) -> Rows:
    """Put runs of the same pictures together, with what methods are held against once, and last."""
    methods = tuple(
        [row for own in several for row in own[part] if row["method"] not in (RANDOM, HUMAN)] for part in (0, 1)
    )
    aside = tuple([row for row in several[0][part] if row["method"] in (RANDOM, HUMAN)] for part in (0, 1))
    return methods[0] + aside[0], methods[1] + aside[1]


def table_of(rows: Rows) -> Table:
    """Return the means of all methods, with their intervals over pictures."""
    found = summarise(*rows)
    pictures = {line.method: max(cell.texts for cell in line.cells.values()) for line in found.lines}
    lines = [
        [
            line.method,
            str(pictures[line.method]),
            *(told(line.cells[name]) if name in line.cells else "" for name in found.metrics),
            f"{line.seconds:.1f}",
        ]
        for line in found.lines
    ]
    signs = [f"{name} {'↑' if found.higher_is_better[name] else '↓'}" for name in found.metrics]
    return Table(["method", "pictures", *signs, "seconds"], lines)


def comparison_tables(groups: Mapping[str, Rows], marc: str) -> dict[str, Table]:
    """Return all tables of groups of pictures, in each of which MaRC stands beside others."""
    compared = {name: beside(rows[1], marc) for name, rows in groups.items()}
    return {
        **{name: table_of(rows) for name, rows in groups.items()},
        "masks": masks(groups, marc),
        "differences": differences(compared),
        "standings": standings(compared),
        "verdict": verdict(compared),
    }


def beside(scores: Sequence[Row], marc: str) -> dict[str, list[Comparison]]:
    """Compare MaRC with each other method, by faithfulness."""
    others = [name for name in dict.fromkeys(row["method"] for row in scores) if name not in (marc, HUMAN, RANDOM)]
    return {
        name: [one for one in compare_rows(select(scores, marc), select(scores, name)) if one.metric in FAITHFUL]
        for name in others
    }


def masks(groups: Mapping[str, Rows], marc: str) -> Table:
    """Say what came of the masks: how many settled, how many keep nearly everything, and their size and steps."""
    rows = []
    for name, (explained, _) in groups.items():
        own = [row for row in explained if row["method"] == marc]
        sizes = np.asarray([row["mean"] for row in own])
        settled = sum(not row["notes"] for row in own)
        passes = int(np.median([row["backward_passes"] for row in own]))
        whole, middle = int((sizes > EVERYTHING).sum()), f"{np.median(sizes):.2f}"
        rows.append([name, str(len(own)), str(settled), str(whole), middle, f"{passes:,}"])
    head = ["pictures", "masks", "settled", "keep nearly all", "median share kept", "median backward passes"]
    return Table(head, rows)


def differences(compared: Mapping[str, Mapping[str, Sequence[Comparison]]]) -> Table:
    """Return paired differences, with what the one rule says of each."""
    rows = [
        [where, other, one.metric, told(one.difference, sign="+"), one.standing]
        for where, own in compared.items()
        for other, each in own.items()
        for one in each
    ]
    return Table(["pictures", "MaRC beside", "metric", "difference", "MaRC is"], rows, names=3)


def standings(compared: Mapping[str, Mapping[str, Sequence[Comparison]]]) -> Table:
    """Name the methods that MaRC is clearly better than, clearly worse than, and not to be told from."""
    rows = []
    for where, own in compared.items():
        for metric in FAITHFUL:
            found = {name: one.standing for name, each in own.items() for one in each if one.metric == metric}
            named = [
                ", ".join(f"`{name}`" for name, stands in found.items() if stands == wanted) for wanted in STANDINGS
            ]
            rows.append([where, metric, *(names or "no other method" for names in named)])
    return Table(["pictures", "metric", *STANDINGS], rows, names=2)


def verdict(compared: Mapping[str, Mapping[str, Sequence[Comparison]]]) -> Table:
    """Say whether MaRC is the most sufficient method: by a rule that was fixed before there were figures.

    It is, where it is clearly better than each other method in every group of pictures; it is not, where some method is
    clearly better in one of them; nobody can tell, where neither is so.
    """
    found = [
        one.standing for own in compared.values() for each in own.values() for one in each if one.metric == SUFFICIENT
    ]
    if all(one == "better" for one in found):
        return Table(["claim", "verdict", "what would decide"], [["E4", " holds.", ""]])
    if "worse" in found:
        return Table(["claim", "verdict", "what would decide"], [["E4", " does not hold.", ""]])
    more = " *What would decide:* more pictures."
    return Table(["claim", "verdict", "what would decide"], [["E4", ": cannot tell.", more]])
