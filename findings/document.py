"""The document of the findings: prose from a template, every figure in it from the data files of the experiments.

    python findings/document.py

A script ends with `put`, which writes `figures/NAME.json` and renders `docs/findings.md` from `document.md`, where

    {{codiesp | evidence}}                                          is a whole table,
    {{codiesp | evidence | plain | attention | token_f1}}           one of its cells, by the names of row and column,
    {{codiesp | evidence | plain | attention | token_f1 -> low}}    a part of a cell.

A name that no data file has is an error, so that no figure outlives the run that it is from. `{{codiesp | version}}` is
the version that made the figures. What stands between `{{#pictures fashion}}` and `{{/}}` is in the document only where
there are data files of both names: a section that waits for its experiments. A quick run ends with `preview`, which
writes its section beside the run, and leaves figures and document alone.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import whylight as wl
from whylight.run.summary import Cell

HERE = Path(__file__).resolve().parent
TEMPLATE, FIGURES = HERE / "document.md", HERE / "figures"
DOCUMENT = HERE.parent / "docs" / "findings.md"
WORK = HERE.parent / "build" / "findings"
"""Where models and runs are kept, so that a stopped script goes on."""
PREVIEW = WORK / "preview"
"""Where figures of quick runs are."""
PLACEHOLDER = re.compile(r"\{\{([^#/].*?)\}\}")
WAITING = re.compile(r"\{\{#(.*?)\}\}\n(.*?)\{\{/\}\}\n", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Table:
    """Cells as they are printed; the first `names` of a row name it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def cell(self, *place: str) -> str:
        """Return the cell of a row, by all its names, and a column."""
        row = next((row for row in self.rows if tuple(row[: self.names]) == place[:-1]), None)
        if row is None or place[-1] not in self.head:
            raise KeyError(f"no cell is called '{' | '.join(place)}'")
        return row[list(self.head).index(place[-1])]


def spread(values: Sequence[float]) -> str:
    """Write mean and standard deviation over seeds."""
    deviation = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{deviation}"


def told(cell: Cell, *, sign: str = "") -> str:
    """Write a mean with its interval."""
    return f"{cell.mean:{sign}.3f} [{cell.low:{sign}.3f}, {cell.high:{sign}.3f}]"


def put(name: str, tables: Mapping[str, Table]) -> None:
    """Keep the figures of an experiment, and write the document again."""
    _keep(FIGURES, name, tables)
    DOCUMENT.write_text(render(), encoding="utf-8")


def preview(name: str, tables: Mapping[str, Table]) -> None:
    """Keep the figures of a quick run aside, and write the sections that wait for it as they would stand."""
    _keep(PREVIEW, name, tables)
    known = stored(FIGURES) | stored(PREVIEW)
    waiting = WAITING.findall(TEMPLATE.read_text(encoding="utf-8"))
    written = [
        filled(text, known) for names, text in waiting if name in names.split() and set(names.split()) <= set(known)
    ]
    (PREVIEW / f"{name}.md").write_text("\n".join(written), encoding="utf-8")
    print(f"what the document would say: {PREVIEW / name}.md" if written else "its section waits for other experiments")


def _keep(folder: Path, name: str, tables: Mapping[str, Table]) -> None:
    found = {"version": wl.__version__, "tables": {key: asdict(one) for key, one in tables.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n\n".join(f"{key}\n{one}" for key, one in tables.items()))


def render() -> str:
    """Return the document."""
    known, template = stored(FIGURES), TEMPLATE.read_text(encoding="utf-8")
    there = WAITING.sub(lambda one: one[2] if set(one[1].split()) <= known.keys() else "", template)
    return filled(there, known)


def stored(folder: Path) -> dict[str, Any]:
    """Return the figures of all experiments that a folder has."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def filled(template: str, known: Mapping[str, Any]) -> str:
    """Put figures in the place of their names."""
    return PLACEHOLDER.sub(lambda one: look_up(one[1], known), template)


def look_up(placeholder: str, known: Mapping[str, Any]) -> str:
    """Return what a placeholder stands for."""
    path, _, part = placeholder.partition(" -> ")
    experiment, name, *place = (one.strip() for one in path.split(" | "))
    if name == "version":
        return str(known[experiment]["version"])
    table = Table(**known[experiment]["tables"][name])
    found = table.cell(*place) if place else str(table)
    return PARTS[part.strip()](found) if part else found


def _numbers(cell: str) -> list[str]:
    return NUMBER.findall(cell)


def _listed(cell: str) -> str:
    *first, last = _numbers(cell)
    return f"{', '.join(first)} and {last}"


def _over_seeds(cell: str) -> str:
    """Write the mean of one change a seed, with the interval of Student's t."""
    values = np.asarray(_numbers(cell), dtype=float)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.3f} [{values.mean() - half:+.3f}, {values.mean() + half:+.3f}]"


PARTS: Mapping[str, Callable[[str], str]] = {
    "mean": lambda cell: _numbers(cell)[0],
    "deviation": lambda cell: _numbers(cell)[1],
    "low": lambda cell: _numbers(cell)[1],
    "high": lambda cell: _numbers(cell)[2],
    "least": lambda cell: min(_numbers(cell), key=float),
    "most": lambda cell: max(_numbers(cell), key=float),
    "size": lambda cell: _numbers(cell)[0].lstrip("+-"),
    "percent": lambda cell: f"{100 * float(_numbers(cell)[0]):.1f} %",
    "list": _listed,
    "over seeds": _over_seeds,
}
"""Parts of a cell: its numbers stand as mean and interval, as mean and deviation, or as one per seed."""


if __name__ == "__main__":
    DOCUMENT.write_text(render(), encoding="utf-8")
