"""The model as a tool for agents, by the Model Context Protocol: what it says, why, and how far to trust that.

Three tools. `predict` gives probabilities; `explain` the evidence for a label, what speaks against it, and the receipt;
`trust` removes the evidence and asks again, keeps it alone and asks again, and holds two methods against each other:

    fall         = p - p without the evidence        the evidence is needed
    kept         = p with nothing but the evidence    the evidence is enough
    agreement    = characters that two methods share / characters that either names

Nothing is kept, and nothing but the model is asked, one question at a time: agents ask several at once, and a model
that is being explained must not be used by others. Standard output carries the protocol alone.
"""

import threading
from typing import Any

import numpy as np
from mcp.server.mcpserver import MCPServer

from whylight import __version__
from whylight.core.errors import InputError
from whylight.core.evidence import evidence
from whylight.core.explanation import Explanation
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.explain import explain as explained
from whylight.explaining.removing import chosen_removal
from whylight.views.classifier import Classifier, require_texts
from whylight.views.meter import Meter
from whylight.workbench.bench import evidence_json, working_methods
from whylight.workbench.desk import distance
from whylight.workbench.outside import check_asked
from whylight.workbench.reviewing import overlap

LONGEST = 200_000
BUDGET = 120.0
"""Seconds that an explanation may take."""
STAYS = 0.5
"""Share of a probability that is left without the evidence, from which on the evidence is not the reason."""
ABOUT = (
    "Which words made a text classifier decide, and how far that answer can be trusted. Ask `predict` for labels, "
    "`explain` for the evidence of one, and `trust` before you rely on it: evidence that can be removed without a fall "
    "of the probability is not the reason."
)


def make_server(classifier: Classifier) -> MCPServer[Any]:
    """Offer a classifier to agents.

    Args:
        classifier: What `wl.load` returned.
    """
    require_texts(classifier.reads, "a tool for agents")
    classifier.labels.require_fixed("a tool for agents")
    server: MCPServer[Any] = MCPServer("whylight", instructions=ABOUT, version=__version__, log_level="WARNING")
    methods, turn = working_methods(classifier), threading.Lock()

    @server.tool()
    def predict(text: str, pair: str | None = None) -> dict[str, Any]:
        """Say which labels the model gives to a text, with the probability of each."""
        with turn:
            answer = open_case(classifier, _text(text, pair)).prediction
        names = classifier.labels.names
        return {
            "predicted": [names[index] for index in answer.predicted],
            "probabilities": dict(zip(names, answer.probabilities, strict=True)),
        }

    @server.tool()
    def explain(
        text: str, label: str | None = None, method: str | None = None, pair: str | None = None
    ) -> dict[str, Any]:
        """Say which words made the model decide: evidence for a label (if none is named, the predicted one)."""
        with turn:
            found = _explained(classifier, _text(text, pair), method or methods[0], label)
        return evidence_json(found, found.targets[0].label)

    @server.tool()
    def trust(
        text: str, label: str | None = None, method: str | None = None, pair: str | None = None
    ) -> dict[str, Any]:
        """Say how far the evidence can be trusted: does the decision fall without it, and do two methods agree?"""
        given, first = _text(text, pair), method or methods[0]
        with turn:
            found = _explained(classifier, given, first, label)
            others = [one for one in methods if one != first][:1]
            rest = [_explained(classifier, given, one, found.targets[0].label) for one in others]
            return trusted(classifier, found, rest)

    return server


def trusted(classifier: Classifier, found: Explanation, others: list[Explanation]) -> dict[str, Any]:
    """Hold evidence against the model, and against other methods."""
    target = found.targets[0]
    spans = [one.span for one in evidence(found, target)]
    case = open_case(classifier, found.example)
    inside = np.asarray([any(overlap(place, span) for span in spans) for place in case.encoded.places], dtype=bool)
    outcomes = classifier.outcomes(
        case.encoded, removal=chosen_removal(classifier, None), cache=case.cache, meter=Meter()
    )
    without, alone = classifier.labels.probabilities(outcomes(np.stack([~inside, inside])))[:, target.index].tolist()
    whole = found.prediction.probabilities[target.index]
    shared = [1 - distance(spans, [one.span for one in evidence(other, other.targets[0])]) for other in others]
    return {
        "label": target.label,
        "probability": whole,
        "without_the_evidence": without,
        "with_the_evidence_alone": alone,
        "agreement": {other.provenance.method: share for other, share in zip(others, shared, strict=True)},
        "verdict": _verdict(whole, without, shared, any_evidence=bool(spans)),
    }


def _verdict(whole: float, without: float, shared: list[float], *, any_evidence: bool) -> str:
    if not any_evidence:
        return "no word speaks for this label."
    if without > STAYS * whole:
        return "do not rely on it: the decision hardly changes without this evidence."
    if shared and min(shared) < STAYS:
        return "the decision falls without this evidence, but another method names other words: look at both."
    return "the decision falls without this evidence."


def _explained(classifier: Classifier, text: Text, method: str, label: str | None) -> Explanation:
    check_asked(classifier, method, {})
    target = label or classifier.labels.names[open_case(classifier, text).prediction.index]
    return explained(classifier, text, method=method, target=[target], progress=False, budget=BUDGET)


def _text(text: str, pair: str | None) -> Text:
    if not text.strip() or len(text) > LONGEST:
        raise InputError(f"a text has 1 to {LONGEST:,} characters.")
    return Text(text, pair)
