"""Tables of runs, as a terminal, a program or a spreadsheet reads them."""

import csv
from collections.abc import Mapping, Sequence
from enum import StrEnum
from io import StringIO
from typing import TYPE_CHECKING

from whylight.core.printable import to_json
from whylight.explaining.console import Console, put, say, say_lines
from whylight.report.layout import Cells, Column, table_lines

if TYPE_CHECKING:
    from whylight.run.evaluation import Evaluation
    from whylight.run.summary import Cell, Summary
    from whylight.store.tables import Row
    from whylight.study.several import Several

COSTS = ("seconds", "forward", "backward")
THOUSAND = 1024
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text starts that spreadsheets take for a formula."""


class TableFormat(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def print_records(records: "Sequence[Row]", output_format: TableFormat) -> None:
    """Print flat records, one per line."""
    if output_format is TableFormat.json:
        put("".join(f"{to_json(record, allow_nan=True)}\n" for record in records))
        return
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _no_formula(value) for name, value in record.items()} for record in records)
    put(buffer.getvalue())


def _no_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would compute; JSON is there for who needs it untouched."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def print_columns(columns: Sequence[Column], rows: Sequence[Cells], *, title: str = "", grouped: bool = False) -> None:
    """Print a table that fits the terminal; arguments are those of `table_lines`."""
    say_lines(table_lines(columns, rows, width=Console().width, title=title, grouped=grouped))


def print_evaluation(found: "Evaluation", *, title: str, by_outcome: bool) -> None:
    """Print the tables of a run and what it cost."""
    print_table(found.summary, title=title)
    outcomes = (("right predictions", True), ("wrong predictions", False)) if by_outcome else ()
    for name, kind in outcomes:
        subset = found.subset(correct=kind)
        if subset is not None:
            print_table(subset, title=f"{title}: {name}")
    _say_target(found)
    corpus = found.corpus
    if corpus is not None:
        print_table(corpus, title=f"{title}: all words together", costs=False)
    say("Means over texts with 95 % bootstrap intervals; ↑ higher is better, ↓ lower; cost per text.", style="dim")
    memory = "" if found.peak_megabytes is None else f", at most {_memory(found.peak_megabytes)} of memory"
    say(f"{found.rows_run:,} distinct inputs in {_duration(found.seconds)}{memory}.", style="dim")


def print_several(found: "Several", *, title: str) -> None:
    """Print means and standard deviations over variants, and how far their explanations agree."""
    cells = {
        m: {n: f"{one.mean:.3f} ± {one.deviation:.3f}" for n, one in own.items()} for m, own in found.spread.items()
    }
    heads = {name: f"{name} {'↑' if found.higher_is_better[name] else '↓'}" for name in found.metrics}
    _print_methods(cells, heads, title=f"{title}, {len(found.evaluations)} variants: mean ± standard deviation")
    _say_target(next(iter(found.evaluations.values())))  # one question for all
    measures = list(dict.fromkeys(name for own in found.stability.values() for name in own))
    agreements = {m: {n: with_interval(own.get(n)) for n in measures} for m, own in found.stability.items()}
    _print_methods(agreements, {name: name for name in measures}, title="Stability: agreement between two variants")


def _say_target(found: "Evaluation") -> None:
    """Say whose faithfulness the tables hold, where it is not that of the predicted labels."""
    if found.target != "predicted":
        say(f"Faithfulness is that of the {found.target} labels, whatever the model predicts.", style="dim")


def print_table(summary: "Summary", *, title: str, costs: bool = True) -> None:
    """Print one table."""
    cells = {line.method: {n: with_interval(line.cells.get(n)) for n in summary.metrics} for line in summary.lines}
    heads = {name: f"{name} {'↑' if summary.higher_is_better[name] else '↓'}" for name in summary.metrics}
    if costs:
        heads |= {name: name for name in COSTS}
        for line in summary.lines:
            numbers = (f"{line.seconds:.2f}", f"{line.forward_passes:.0f}", f"{line.backward_passes:.0f}")
            cells[line.method] |= dict(zip(COSTS, numbers, strict=True))
    _print_methods(cells, heads, title=title)


def _print_methods(cells: Mapping[str, Mapping[str, str]], heads: Mapping[str, str], *, title: str) -> None:
    """Print one row per method and one column per metric."""
    rows = [[method, *(values.get(name, "-") for name in heads)] for method, values in cells.items()]
    figures = [Column(head, joined=name in COSTS) for name, head in heads.items()]
    print_columns([Column("method", "key"), *figures], rows, title=title)
    say("")


def with_interval(cell: "Cell | None", *, digits: int = 3) -> str:
    """Write a mean and its interval."""
    return "-" if cell is None else f"{cell.mean:.{digits}f} [{cell.low:.{digits}f}, {cell.high:.{digits}f}]"


def _memory(megabytes: float) -> str:
    return f"{megabytes:.0f} MB" if megabytes < THOUSAND else f"{megabytes / THOUSAND:.1f} GB"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
