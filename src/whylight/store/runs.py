"""A run read back from its folder: the rows of the texts that are done, and no others.

What is done is decided from one source, the row of `runs.parquet`, which is written last: a text is done if it is
listed there and every table has as many rows of it as are listed. A kill between two tables, or a table that was
removed, leaves texts that are not done; their rows are left out of every table.
"""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whylight.store import tables
from whylight.store.explanations import upgraded
from whylight.store.tables import Row


@dataclass(frozen=True, slots=True)
class Stored:
    """The tables of a run.

    Attributes:
        about: The row of the run itself; None if there is none.
        explanations: Rows of the texts that are done.
        scores: Likewise.
        curves: Likewise.
        tuning: Explanations of the tuning texts that are done.
        runs: Names of all runs that a row is of; one, unless tables were mixed.
        done: Texts that are done, with the number of inputs that the model was given for each.
        tuned: Likewise, tuning texts.
    """

    about: Row | None
    explanations: list[Row]
    scores: list[Row]
    curves: list[Row]
    tuning: list[Row]
    runs: frozenset[str]
    done: dict[str, int]
    tuned: dict[str, int]


def read(folder: Path) -> Stored:
    """Read the tables of a folder; those that do not exist are empty.

    Raises:
        InputError: One of them is damaged.
    """
    (known, explanations, scores, curves, tuning) = (
        tables.read(folder / f"{name}.parquet", schema)
        for name, schema in (
            ("runs", tables.RUNS),
            ("explanations", tables.EXPLANATIONS),
            ("scores", tables.SCORES),
            ("curves", tables.CURVES),
            ("tuning", tables.EXPLANATIONS),
        )
    )
    explanations, tuning = ([upgraded(row) for row in rows] for rows in (explanations, tuning))
    about = known[0] if known else None
    runs = frozenset(row["run"] for row in (*known, *explanations, *scores, *curves, *tuning))
    listed = [] if about is None else about.get("done")
    if listed is None:  # version 0.1 did not list them
        both = _ids(explanations) & _ids(scores)
        done, tuned = dict.fromkeys(both, 0), dict.fromkeys(_ids(tuning), 0)
    else:
        done = _whole([one for one in listed if not one["tuning"]], explanations, scores, curves)
        tuned = _whole([one for one in listed if one["tuning"]], tuning, [], [])
    kept = [_of(rows, done) for rows in (explanations, scores, curves)]
    return Stored(about, kept[0], kept[1], kept[2], _of(tuning, tuned), runs, done, tuned)


def _of(rows: Sequence[Row], texts: Container[str]) -> list[Row]:
    return [row for row in rows if row["example_id"] in texts]


def _ids(rows: Iterable[Row]) -> set[str]:
    return {row["example_id"] for row in rows}


def _whole(listed: Sequence[Row], *stored: Sequence[Row]) -> dict[str, int]:
    """Return the texts of which every table has all rows, with what they cost."""
    counts = [Counter(row["example_id"] for row in rows) for rows in stored]
    names = ("explanations", "scores", "curves")
    return {
        one["example_id"]: one["rows_run"]
        for one in listed
        if all(count[one["example_id"]] == one[name] for count, name in zip(counts, names, strict=True))
    }
