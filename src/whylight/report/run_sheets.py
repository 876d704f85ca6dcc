"""What a run gave, as sheets: tables of methods x metrics, of several models, and of two methods text by text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whylight.core.inputs import INPUTS, Noun
from whylight.report.layout import Column
from whylight.report.sheets import Bounded, Grid, Sheet, SheetBlock, count_of, with_interval
from whylight.run.compare import CLEAR, FEWEST_TEXTS, Comparison
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Cell, Summary

if TYPE_CHECKING:
    from whylight.study.several import Several

COSTS = ("seconds", "forward", "backward")
THOUSAND = 1024
MOST_ROWS = 50_000
"""Scores of a run that a glance at it makes a table of: more take longer than a glance."""
UNITS = "Means over {many} with 95 % bootstrap intervals; ↑ higher is better, ↓ lower; cost per {one}."
PAIRED = (
    "Paired over {many}: bootstrap interval, permutation test; wins = share of {many} it is better on.",
    f"Verdict: clear where the interval leaves out 0 and p < {CLEAR}, on {FEWEST_TEXTS} {{many}} or more.",
)
Cells = Mapping[str, Mapping[str, str | Bounded]]
"""By row, then by column."""


def summary_grid(summary: Summary, *, title: str = "", costs: bool = True) -> Grid:
    """Return methods x metrics as a table."""
    cells = {line.method: {n: with_interval(line.cells.get(n)) for n in summary.metrics} for line in summary.lines}
    heads = {name: _directed(name, higher=summary.higher_is_better[name]) for name in summary.metrics}
    if costs:
        heads |= {name: name for name in COSTS}
        for line in summary.lines:
            numbers = (f"{line.seconds:.2f}", f"{line.forward_passes:.0f}", f"{line.backward_passes:.0f}")
            cells[line.method] |= dict(zip(COSTS, numbers, strict=True))
    return _by_method(cells, heads, title=title)


def summary_sheet(summary: Summary) -> Sheet:
    """Return one table of a run."""
    texts = max((cell.texts for line in summary.lines for cell in line.cells.values()), default=0)
    title = f"Summary: {count_of(len(summary.lines), 'method')}, {summary.noun.count(texts)}"
    return Sheet(title, (summary_grid(summary),), (_said(UNITS, summary.noun),))


def evaluation_sheet(found: Evaluation, *, title: str, by_outcome: bool = False) -> Sheet:
    """Return all tables of a run, and what it cost."""
    summary, corpus = found.summary, found.corpus
    blocks: list[SheetBlock] = [summary_grid(summary)]
    for name, kind in (("right predictions", True), ("wrong predictions", False)) if by_outcome else ():
        subset = found.subset(correct=kind)
        blocks += [] if subset is None else [summary_grid(subset, title=f"{title}: {name}")]
    blocks += [*_failures(found), *_target_sentences(found)]
    together = f"All {summary.noun.features} together"
    blocks += [] if corpus is None else [summary_grid(corpus, title=together, costs=False)]
    return Sheet(title, tuple(blocks), (_said(UNITS, summary.noun), _run_cost(found)))


def _failures(found: Evaluation) -> tuple[str, ...]:
    """Say how many inputs no figure is of, if there are any."""
    them = "it" if found.failed == 1 else "them"
    return (f"{found.noun.count(found.failed)} failed, and no figure is of {them}.",) if found.failed else ()


def evaluation_glance(found: Evaluation) -> Sheet:
    """Return a run as it shows itself: all tables, unless there are so many rows that they take long to add up."""
    data = found.asked.get("data")
    known = data if isinstance(data, Mapping) else {}
    name = " ".join(str(known[part]) for part in ("name", "split") if known.get(part))
    model = found.asked.get("model")
    texts = f": {found.noun.count(int(str(known['texts'])))}" if known.get("texts") is not None else ""
    title = "Evaluation" + (f" of {model}" if model else "") + (f" on {name}{texts}" if name else "")
    if len(found.scores) <= MOST_ROWS:
        return evaluation_sheet(found, title=title)
    counts = f"{len(found.explanations):,} explanations and {len(found.scores):,} scores"
    return Sheet(
        title, (f"{counts}: .summary adds them up, .save makes a page of them.", _run_cost(found), *_failures(found))
    )


def several_sheet(found: "Several", *, title: str) -> Sheet:
    """Return means and standard deviations over variants, and how far their explanations agree."""
    spreads = {
        m: {n: f"{one.mean:.3f} ± {one.deviation:.3f}" for n, one in own.items()} for m, own in found.spread.items()
    }
    heads = {name: _directed(name, higher=found.higher_is_better[name]) for name in found.metrics}
    measures = list(dict.fromkeys(name for own in found.stability.values() for name in own))
    agreements = {m: {n: with_interval(own.get(n)) for n in measures} for m, own in found.stability.items()}
    sentences = _target_sentences(next(iter(found.evaluations.values())))  # one question for all
    stability = _by_method(
        agreements, {name: name for name in measures}, title="Stability: agreement between two variants"
    )
    return Sheet(
        f"{title}, {len(found.evaluations)} variants: mean ± standard deviation",
        (_by_method(spreads, heads), *sentences, *([stability] if agreements else [])),
    )


def comparison_sheet(
    results: Sequence[Comparison],
    *,
    title: str,
    alike: Mapping[str, Cell] | None = None,
    noun: Noun = INPUTS,
    left_out: Sequence[str] = (),
) -> Sheet:
    """Return how two methods or models differ, metric by metric.

    Args:
        results: The differences.
        title: Which two they are.
        alike: How far the explanations of the two agree, by measure.
        noun: What the inputs are called.
        left_out: What is not in it, and why.
    """
    names = ("difference", "95 % interval", "p", "wins", noun.many, "verdict")
    heads = (Column("metric", "key"), *map(Column, names))
    agreements = (
        f"{name}: {cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}] over {noun.count(cell.texts)}"
        for name, cell in (alike or {}).items()
    )
    return Sheet(
        title,
        (Grid(heads, tuple(_comparison_row(one) for one in results)), *left_out, *agreements),
        tuple(_said(one, noun) for one in PAIRED),
    )


def _said(sentence: str, noun: Noun) -> str:
    return sentence.format(one=noun.one, many=noun.many)


def _comparison_row(one: Comparison) -> tuple[str, ...]:
    cell = one.difference
    return (
        f"{_directed(one.metric, higher=one.higher_is_better)}{f' ({one.remover})' if one.remover else ''}",
        f"{cell.mean:+.3f}",
        f"[{cell.low:+.3f}, {cell.high:+.3f}]",
        f"{one.p_value:.4f}",
        f"{one.wins:.0%}",
        str(cell.texts),
        one.standing,
    )


def _by_method(cells: Cells, heads: Mapping[str, str], *, title: str = "") -> Grid:
    named = (Column("method", "key"), *(Column(head, joined=name in COSTS) for name, head in heads.items()))
    return Grid(named, tuple((row, *(own.get(name, "-") for name in heads)) for row, own in cells.items()), title)


def _directed(metric: str, *, higher: bool) -> str:
    return f"{metric} {'↑' if higher else '↓'}"


def _target_sentences(found: Evaluation) -> list[str]:
    """Say whose faithfulness the tables hold, where it is not that of the predicted labels."""
    if found.target == "predicted":
        return []
    return [f"Faithfulness is that of the {found.target} labels, whatever the model predicts."]


def _run_cost(found: Evaluation) -> str:
    memory = "" if found.peak_megabytes is None else f", at most {_memory(found.peak_megabytes)} of memory"
    return f"{found.rows_run:,} distinct inputs in {_duration(found.seconds)}{memory}."


def _memory(megabytes: float) -> str:
    return f"{megabytes:.0f} MB" if megabytes < THOUSAND else f"{megabytes / THOUSAND:.1f} GB"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
