"""One of everything that shows itself, made by hand, with a name that a page must escape wherever a name may stand."""

from pathlib import Path
from typing import Any

import numpy as np

import whylight as wl
from images.pictures import Linear, normalise
from pages import explanation
from run_rows import explanation_row, score_row
from whylight.core.explanation import Explanation, Explanations
from whylight.core.labels import Labels
from whylight.core.prompt import Prompt
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.models.endpoint import EndpointClassifier
from whylight.models.images import ImageClassifier
from whylight.models.preparation import Preparation
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Cell
from whylight.store.tables import Row
from whylight.study.audit import Audit
from whylight.study.audit_advice import Advice
from whylight.study.audit_words import AuditVerdict
from whylight.study.budgeted import LeftOut
from whylight.study.comparing import PairedResult
from whylight.study.figures import FigureTable
from whylight.study.recommend import Recommendation
from whylight.study.retrained import Retrained, Roar
from whylight.study.sanity_lines import SanityLevel, SanityLine, SanitySummary
from whylight.study.several import summarise_several
from whylight.training.result import Trained

EVIL = '<script>alert("x")</script> & [red]x[/red] \x1b[2J'
CELL = Cell(0.5, 0.4, 0.6, 12)


def curve_row(key: str, method: str, values: list[float], remover: str = "mask") -> Row:
    shares = [0.0, 0.25, 0.5, 1.0]
    about: Row = {"run": "r", "example_id": key, "method": method, "target": 1, "label": "positive", "correct": True}
    spaces: Row = {"remover": remover, "score_space": "probability", "shares": shares}
    return {**about, **spaces, "without_top": values, "top_alone": values[::-1]}


def evaluation(
    methods: tuple[str, ...] = ("lime", "occlusion"), *, label: str = "positive", texts: int = 12
) -> Evaluation:
    """A run without a folder, in which every method is as good as its place."""
    explanations, scores, curves = [], [], []
    for place, method in enumerate((*methods, "random")):
        for i in range(texts):
            own = {"label": label, "text": "a plain film with words"}
            explanations.append(explanation_row(f"t{i}", method, [0.1 * i, 0.5, -0.25, 1.0 + place], **own))
            scores.append(score_row(f"t{i}", method, 0.9 - 0.1 * place + 0.01 * (i % 3), label=label))
            curves.append(curve_row(f"t{i}", method, [0.9, 0.6 + 0.1 * place, 0.4, 0.2]))
    asked = {"model": EVIL, "data": {"name": EVIL, "split": "dev", "texts": texts}}
    return Evaluation(explanations, scores, curves, rows_run=7, seconds=1.0, asked=asked)


def layered(*scores: list[float], text: str = "a good film", signed: bool = True) -> Explanations:
    """One explanation per layer, with given scores."""
    own = ({"method": "decompx", "settings": {"layer": n}, "signed": signed} for n in range(1, len(scores) + 1))
    return Explanations(explanation(text, [row], **one) for row, one in zip(scores, own, strict=True))


def evil_explanation(**receipt: Any) -> Explanation:
    return explanation(f"A film {EVIL}", labels=("no", EVIL), model=EVIL, notes=(EVIL,), **receipt)


def dataset(*, several: bool = False) -> Dataset:
    """Texts with rationales, one of them a pair with words of its own."""
    names = ("no", EVIL)
    text = Text("a fine film", words=(Span(0, 0, 1), Span(0, 2, 6), Span(0, 7, 11)))
    marks = {EVIL: Rationale((Span(0, 2, 6),))}
    records = (Record("0", text, (EVIL,), marks), Record("1", Text(f"a dull film {EVIL}"), ("no",)))
    return Dataset(EVIL, "test", names, records, multi_label=several, notes=(EVIL,))


def _audit() -> Audit:
    figures = FigureTable({(EVIL, "order"): np.linspace(0, 1, 12)}, 12, (EVIL,))
    verdict = AuditVerdict("agreement", "differs", (EVIL,))
    return Audit(
        model=EVIL, data={"name": EVIL, "split": "test", "texts": 12, "notes": [EVIL]}, texts=12, labels=(EVIL,),
        removers={"mask": {}, "delete": {}}, methods={EVIL: {"samples": 50}}, seed=0,
        asked={"sample": 12, "settings": {EVIL: EVIL}}, budget=10.0, seconds=1.0,
        figures={"agreement": figures}, example=None, left_out=(LeftOut("ranking", EVIL, None),), verdicts=(verdict,),
        recommendation=Advice(None, None, None, "cannot tell", (EVIL,)),
    )  # fmt: skip


def _prompt() -> Prompt:
    return Prompt(template="{text}:", answers={"no": "no", EVIL: EVIL}, name=EVIL)


def everything() -> dict[str, Any]:
    """One of each, by the name of its class."""
    found, one = evaluation((EVIL, "lime"), label=EVIL), evil_explanation()
    removed = [{**row, "remover": EVIL} for row in found.scores]
    compared = compare_rows(select(removed, EVIL), select(removed, "lime"))
    lines = tuple(SanityLine(name, EVIL, {"sign_change": CELL}) for name in (EVIL, "random"))
    roar = Roar(tuple(Retrained(m, s, n, 0.9 - s) for m in (EVIL, "random") for s in (0.1, 0.2) for n in (0, 1, 2)))
    things = [
        one,
        Explanations([one, evil_explanation(method=EVIL), explanation()]),
        found,
        found.summary,
        summarise_several({"a": found, "b": evaluation((EVIL, "lime"), label=EVIL)}),
        compared,
        compared[0],
        PairedResult(EVIL, "lime", compared, {"kendall_tau": compared[0].difference}),
        SanitySummary((SanityLevel(EVIL, CELL),), lines),
        Recommendation(12, found.summary, {EVIL: [EVIL, "lime"]}, (EVIL,), (EVIL,), {EVIL: {EVIL: 1, "lime": 1}}),
        _audit(),
        _audit().figures["agreement"],
        roar,
        roar.comparisons,
        roar.comparisons[0],
        Trained(Path(EVIL), {"validation": {EVIL: 0.5}, "best_epoch": 2.0, "history": [{"epoch": 1.0, EVIL: 0.5}]}),
        dataset(),
        wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["no", EVIL], identity=EVIL),
        EndpointClassifier(wl.Endpoint("https://host/v1", model=EVIL), _prompt()),
        ImageClassifier(Linear(), Preparation(normalise), labels=Labels(("no", EVIL)), identity=EVIL),
    ]
    return {type(thing).__name__: thing for thing in things}
