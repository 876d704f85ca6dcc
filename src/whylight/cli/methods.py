"""`whylight methods`, `metrics`, `objectives` and `datasets`: what there is, read from the signatures."""

from collections.abc import Sequence
from typing import Annotated

import typer

from whylight.cli.models import AskedBy, Device, EndpointModel, EndpointSettings, EndpointUrl, named_model
from whylight.cli.tables import print_columns
from whylight.core.explanation import Explanation
from whylight.core.marked import asks_for_tuning, is_corpus_metric
from whylight.core.rationale import Rationale
from whylight.core.registry import METHODS, METRICS, OBJECTIVES, Spec
from whylight.explaining.console import say
from whylight.report.layout import Cells, Column

EVIDENCE = {Rationale: "a rationale", Explanation: "another explanation"}
"""What metrics hold explanations against, besides what a model gives."""


def methods(
    *,
    model: Annotated[str | None, typer.Option(help="Say which of them work with this classifier.")] = None,
    prompt: AskedBy = None,
    endpoint: EndpointUrl = None,
    endpoint_model: EndpointModel = None,
    endpoint_settings: EndpointSettings = None,
    device: Device = None,
) -> None:
    """List the methods: what they look at, cost and are good for, and their settings.

    [bold]Examples[/bold]

    whylight methods

    whylight methods --model ./my-model
    """
    reasons: dict[str, str | None] = {}
    subject = named_model(model, endpoint, endpoint_model, endpoint_settings)
    if subject is not None:
        from whylight.explaining.compatible import obstacle  # noqa: PLC0415  torch loads only when it is needed
        from whylight.models.load import load  # noqa: PLC0415

        classifier = load(subject, prompt=prompt, device=device)
        reasons = {name: obstacle(METHODS[name], classifier) for name in METHODS.names()}
    rows = [_method_row(METHODS[name], reasons.get(name)) for name in METHODS.names()]
    _print_list(("method", "looks at", "signs", "cost", "settings and defaults", "good for", "what it does"), rows)
    say("Costs are passes for n features and one label, with the default settings.", style="dim")


def _method_row(spec: Spec, reason: str | None) -> Cells:
    needs = "".join(f" It needs {what}." for what in spec.facts["given"].values())
    works = f"{spec.summary}{needs}" if reason is None else f"Does not work here: {reason}."
    name = f"{spec.name} ({', '.join(spec.aliases)})" if spec.aliases else spec.name
    signs = "yes" if spec.facts["signed"] else "no"
    return name, _consumed(spec), signs, spec.facts["cost"], _shown_settings(spec), spec.facts["good_for"], works


def metrics() -> None:
    """List the metrics, the evidence they need and their settings."""
    rows = []
    for name in METRICS.names():
        spec = METRICS[name]
        better = "higher" if spec.facts["higher_is_better"] else "lower"
        rows.append((name, _evidence(spec), better, _shown_settings(spec), spec.summary))
    _print_list(("metric", "evidence", "better", "settings and defaults", "what it measures"), rows)


def objectives() -> None:
    """List the terms of a training loss, what they need and their settings."""
    rows = []
    for name in OBJECTIVES.names():
        spec = OBJECTIVES[name]
        needs = ", ".join(need.replace("_", " ") for need in spec.facts["needs"]) or "nothing more"
        rows.append((name, f"{spec.facts['weight']:g}", needs, _shown_settings(spec), spec.summary))
    _print_list(("objective", "weight", "needs", "settings and defaults", "what it teaches"), rows)


def datasets() -> None:
    """List the corpora, their splits and settings."""
    from whylight.data.registry import CORPORA  # noqa: PLC0415  loads only when it is needed

    rows = []
    for name in CORPORA.names():
        spec = CORPORA[name]
        rows.append((name, " ".join(spec.facts["splits"]) or "its files", _shown_settings(spec), spec.summary))
    _print_list(("corpus", "splits", "settings and defaults", "what it is"), rows)
    say("Use: --data CORPUS:PATH, or the path of a file of your own.", style="dim")


def _print_list(names: tuple[str, ...], rows: Sequence[Cells]) -> None:
    print_columns([Column(names[0], "key"), *(Column(name, "words") for name in names[1:])], rows)


def _consumed(spec: Spec, *, skip: int = 0) -> str:
    from whylight.views.view import seen_by  # noqa: PLC0415  loads only when it is needed

    return ", ".join(EVIDENCE.get(kind) or seen_by(kind) for kind in spec.consumes[skip:]) or "nothing more"


def _evidence(spec: Spec) -> str:
    """Say what a metric needs besides explanations."""
    if not is_corpus_metric(spec):
        return _consumed(spec, skip=1)
    tuning = asks_for_tuning(spec, spec.complete_settings({}))
    return "rationales of all texts" + (", tuning texts" if tuning else "")


def _shown_settings(spec: Spec) -> str:
    return ", ".join(f"{setting.name}={setting.default}" for setting in spec.settings.values())
