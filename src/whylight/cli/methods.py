"""`whylight methods`, `metrics`, `objectives` and `datasets`: what there is, read from the signatures."""

from typing import Annotated

import typer
from rich.table import Table

from whylight.core.marked import asks_for_tuning, is_corpus_metric
from whylight.core.registry import METHODS, METRICS, OBJECTIVES, Spec
from whylight.explaining.console import Console, say


def methods(
    *, model: Annotated[str | None, typer.Option(help="Say which of them work with this classifier.")] = None
) -> None:
    """List the methods, what they look at and their settings."""
    reasons: dict[str, str | None] = {}
    if model is not None:
        from whylight.explaining.compatible import obstacle  # noqa: PLC0415  torch loads only when it is needed
        from whylight.models.load import load  # noqa: PLC0415

        classifier = load(model)
        reasons = {name: obstacle(METHODS[name], classifier) for name in METHODS.names()}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("method", "looks at", "sign", "settings and defaults", "what it does"):
        table.add_column(column, no_wrap=column == "method")
    for name in METHODS.names():
        spec = METHODS[name]
        needs = "".join(f" It needs {what}." for what in spec.facts["given"].values())
        works = f"{spec.summary}{needs}" if reasons.get(name) is None else f"does not work here: {reasons[name]}"
        sign = "yes" if spec.facts["signed"] else "no"
        table.add_row(name, _consumed(spec), sign, _shown_settings(spec), works)
    Console().print(table)


def metrics() -> None:
    """List the metrics, the evidence they need and their settings."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("metric", "evidence", "better", "settings and defaults", "what it measures"):
        table.add_column(column, no_wrap=column == "metric")
    for name in METRICS.names():
        spec = METRICS[name]
        better = "higher" if spec.facts["higher_is_better"] else "lower"
        table.add_row(name, _evidence(spec), better, _shown_settings(spec), spec.summary)
    Console().print(table)


def objectives() -> None:
    """List the terms of a training loss, what they need and their settings."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("objective", "weight", "needs", "settings and defaults", "what it teaches"):
        table.add_column(column, no_wrap=column == "objective")
    for name in OBJECTIVES.names():
        spec = OBJECTIVES[name]
        needs = ", ".join(need.replace("_", " ") for need in spec.facts["needs"]) or "nothing more"
        table.add_row(name, f"{spec.facts['weight']:g}", needs, _shown_settings(spec), spec.summary)
    Console().print(table)


def datasets() -> None:
    """List the corpora, their splits and settings."""
    from whylight.data.registry import CORPORA  # noqa: PLC0415  loads only when it is needed

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("corpus", "splits", "settings and defaults", "what it is"):
        table.add_column(column)
    for name in CORPORA.names():
        spec = CORPORA[name]
        table.add_row(name, " ".join(spec.facts["splits"]) or "its files", _shown_settings(spec), spec.summary)
    Console().print(table)
    say("Use: --data CORPUS:PATH, or the path of a file of your own.", style="dim")


def _consumed(spec: Spec, *, skip: int = 0) -> str:
    return ", ".join(view.__name__ for view in spec.consumes[skip:]) or "none"


def _evidence(spec: Spec) -> str:
    """Say what a metric needs besides explanations."""
    if not is_corpus_metric(spec):
        return _consumed(spec, skip=1)
    tuning = asks_for_tuning(spec, spec.complete_settings({}))
    return "rationales of all texts" + (", tuning texts" if tuning else "")


def _shown_settings(spec: Spec) -> str:
    return ", ".join(f"{setting.name}={setting.default}" for setting in spec.settings.values())
