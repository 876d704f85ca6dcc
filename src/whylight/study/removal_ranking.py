"""Which method finds the words that matter, and does the answer depend on what "removed" means to the metric?

Occlusion under every remover, other methods under the first one, and random scores explain the same texts. Each is
measured under every remover, on the probability of the predicted labels:

    deletion_auc            area under it while the first fifth of the words goes, most important first; lower is better
    aopc_comprehensiveness  how far it falls without the top words; higher is better

A metric favours the method that removes words the way it does: Pham et al. 2022 find that input marginalisation
(occlusion under infill) is best where the metric infills, and worst where it deletes.
Reference: Pham et al. 2022, table 1; theirs leaves out the untouched point and wrong predictions. Cost: each method
once a text, and a fifth of the words for each method and remover.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whylight.core.explanation import Explanation
from whylight.core.inputs import Settings
from whylight.core.labels import ScoreSpace
from whylight.core.registry import METHODS, METRICS
from whylight.data.dataset import Record
from whylight.explaining import provide
from whylight.explaining.case import Case
from whylight.explaining.receipts import explain_case
from whylight.explaining.variants import Variant, removes
from whylight.store.tables import RANDOM
from whylight.study.figures import FigureTable, Place, finite_mean
from whylight.study.subject import SCORE, Subject
from whylight.views.classifier import Request
from whylight.views.game import Game

MEASURES: Mapping[str, Settings] = {"deletion_auc": {"until": 0.2, "published": False}, "aopc_comprehensiveness": {}}
PASSES = "passes"
"""Column of what a text costs a method: passes of the model, there and back."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method with all that it is run with.

    Attributes:
        name: What tables call it.
        variant: The method and its settings.
        remover: What "removed" means to it; None for one that removes nothing.
        score: The score that it explains, if not its own default.
    """

    name: str
    variant: Variant
    remover: str | None
    score: ScoreSpace | None


def candidates_of(removers: Sequence[str], methods: Sequence[Variant]) -> list[Candidate]:
    """Return what is ranked: occlusion under every remover, other methods under the first, random scores last."""
    occlusion = METHODS["occlusion"]
    found = [_candidate(Variant("occlusion", occlusion, {"window": 1}), name) for name in removers]
    found += [_candidate(one, removers[0]) for one in methods if one.name not in ("occlusion", RANDOM)]
    return [*found, _candidate(Variant(RANDOM, METHODS[RANDOM], METHODS[RANDOM].complete_settings({})), removers[0])]


def removal_ranking(subject: Subject, methods: Sequence[Variant]) -> FigureTable:
    """Measure methods under every remover.

    Args:
        subject: The model, texts and removers.
        methods: Methods besides occlusion.
    """
    ranked, removals = candidates_of(list(subject.removals), methods), subject.measuring

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        del record
        targets = case.targets("predicted")[0]
        games = {name: provide.game(case, Request(targets, "probability"), own) for name, own in removals.items()}
        found: dict[Place, float] = {}
        for one in ranked:
            explanation = _ranked_explanations(subject, case, one)
            receipt = explanation.provenance
            found |= {(one.name, column): value for column, value in measured(explanation, games).items()}
            found[one.name, PASSES] = float(receipt.forward_passes + receipt.backward_passes)
        return found

    return subject.figures("ranking methods", look)


def measured(explanation: Explanation, games: Mapping[str, Game]) -> dict[str, float]:
    """Return every measure under every remover, averaged over labels."""
    return {
        column_of(measure, name): finite_mean(METRICS[measure].function(explanation, game, **settings))
        for measure, settings in _complete_measures().items()
        for name, game in games.items()
    }


def column_of(measure: str, remover: str) -> str:
    """Name the column of a measure under a remover."""
    return f"{measure} ({remover})"


def _complete_measures() -> dict[str, Settings]:
    return {name: METRICS[name].complete_settings(own) for name, own in MEASURES.items()}


def _candidate(variant: Variant, remover: str) -> Candidate:
    spec = variant.spec
    if not removes(spec) or spec.name == RANDOM:
        return Candidate(variant.name, variant, None, None)
    score = None if spec.facts["scores"] else SCORE
    return Candidate(f"{variant.name} ({remover})", variant, remover, score)


def _ranked_explanations(subject: Subject, case: Case, one: Candidate) -> Explanation:
    settings = one.variant.settings
    if one.name == RANDOM:  # a draw of the text's own, so that texts of one length do not share a ranking
        settings = {**settings, "seed": zlib.crc32(case.encoded.example.key.encode())}
    return explain_case(case, one.variant.spec, settings, subject.options(case, one.remover, one.score))
