"""How far can explanations of this model be trusted? The analyses of Pham et al. 2022 for anyone's model.

Tables A1 to A5 and 4 of that paper, and its table 1 as the headline: does the ranking of methods flip with what
"removed" means? The cheapest analyses are done first, within a budget of seconds (`study/budgeted.py`). Words and
figures come from the same tables (`study/audit_words.py`, `study/audit_advice.py`).
Reference: Pham et al. 2022. Cost: at most `budget` seconds, up to the batch that is on its way.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from whylight.core import showing
from whylight.core.errors import IncompatibleError, SettingError, unknown
from whylight.core.inputs import JsonValue, Settings
from whylight.core.limits import Clock, limited
from whylight.data.dataset import Dataset, require_dataset
from whylight.explaining.compatible import compatible, require
from whylight.explaining.removing import remover_settings
from whylight.explaining.variants import Variant, asked_methods, each_name, variants
from whylight.models.bundled_start import is_bundled
from whylight.store.tables import RANDOM, Row
from whylight.study.attribution_size import attribution_size
from whylight.study.audit_advice import Advice, recommendation_of
from whylight.study.audit_words import AuditVerdict, verdicts_of
from whylight.study.budgeted import Analysis, LeftOut, analyse
from whylight.study.figures import FigureTable
from whylight.study.head_randomised import head_randomised
from whylight.study.infill_returns import infill_returns
from whylight.study.marginal_words import marginal_words
from whylight.study.recommend import two_removers
from whylight.study.removal_damage import removal_damage
from whylight.study.removal_ranking import candidates_of, removal_ranking
from whylight.study.remover_agreement import Disagreement, remover_agreement
from whylight.study.subject import FEWEST_REMOVERS, Subject, open_subject
from whylight.views.classifier import Classifier, require_classifier, require_texts

METHODS_TRIED = ("input_x_gradient", "lime[samples=50]", "lime[samples=200]")
"""Methods besides occlusion, unless others are asked for: one pass there and back, and few and more samples."""
OCCLUSION, INFILL, RANKING = "occlusion", "infill", "ranking"


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What was found.

    Attributes:
        model: The model's name.
        data: Name, split, number of texts and notes.
        texts: How many texts were drawn from the data.
        labels: Names of the model's labels.
        removers: Removers with their settings.
        methods: Methods besides occlusion, with their settings.
        seed: Of the draw of texts and of all that is drawn after it.
        asked: What else was asked for: the size of the draw, and analyses and settings, if any were named.
        budget: Seconds that were allowed.
        seconds: Seconds that it took.
        figures: Tables, by the name of the analysis.
        example: The text about which removers agree least.
        left_out: What was not done.
        verdicts: What the tables say, in plain words.
        recommendation: What to use, and how sure that is.
    """

    model: str
    data: Mapping[str, JsonValue]
    texts: int
    labels: tuple[str, ...]
    removers: Mapping[str, Settings]
    methods: Mapping[str, Settings]
    seed: int
    asked: Mapping[str, Any]
    budget: float
    seconds: float
    figures: Mapping[str, FigureTable]
    example: Disagreement | None
    left_out: tuple[LeftOut, ...]
    verdicts: tuple[AuditVerdict, ...]
    recommendation: Advice

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def records(self) -> list[Row]:
        """Return one flat record for each figure."""
        return [{"analysis": name, **row} for name, own in self.figures.items() for row in own.records()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as JSON takes them."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        notes = {name: {"texts": own.texts, "notes": own.notes} for name, own in self.figures.items()}
        return plain | {
            "figures": self.records(),
            "analyses": notes,
            "example": None if self.example is None else asdict(self.example),
            "left_out": [asdict(one) for one in self.left_out],
            "verdicts": [asdict(one) for one in self.verdicts],
            "recommendation": asdict(self.recommendation),
        }


def audit(  # noqa: PLR0913  the public call: every argument but two is optional
    classifier: Classifier,
    data: Dataset,
    *,
    budget: float = 120.0,
    analyses: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    removers: str | Sequence[str] | None = None,
    sample: int = 100,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    clock: Clock = time.monotonic,
) -> Audit:
    """Find out how far explanations of this model depend on what "removed" means, in about `budget` seconds.

    Args:
        classifier: What `wl.load` returned.
        data: Texts like those to be explained; accuracy needs their labels.
        budget: Seconds.
        analyses: Some of `returns`, `damage`, `size`, `agreement`, `ranking`, `randomised`, `all_words`, which are
            then refused if they cannot be done; all that can be if left out.
        methods: Methods to rank besides `occlusion`; those of `METHODS_TRIED` that work if left out.
        removers: Removers to hold against each other, at least two; by default two, and `infill` if its
            masked language model is named, or the model is the bundled one, of whose language the bundled one is.
        sample: The most texts to draw from the data.
        seed: Of that draw, and of all that is drawn after it.
        settings: Settings of removers and methods, e.g. `{"infill.model": "bert-base-uncased"}`.
        clock: Where the time comes from.

    Example:
        >>> import whylight as wl
        >>> wl.audit(wl.load(), wl.dataset("reviews.jsonl"), budget=120).save("audit.html")  # doctest: +SKIP
    """
    require_classifier(classifier)
    require_dataset(data)
    started, analyses = clock(), None if analyses is None else each_name(analyses)
    require_texts(classifier.reads, "an audit")
    named = _removers(classifier, None if removers is None else each_name(removers), settings or {})
    own, others = remover_settings(settings or {}, named)
    tried = _methods(classifier, methods if analyses is None or RANKING in analyses else (), others)
    examples: list[Disagreement | None] = []
    todo = _analyses(analyses, tried, examples, seed=seed)
    with limited(budget=budget, clock=clock):
        subject = open_subject(classifier, _sampled(data, sample=sample, seed=seed), removers=named, settings=own)
    figures, left_out = analyse(subject, todo, end=started + budget, clock=clock, strict=analyses is not None)
    return Audit(
        model=classifier.identity,
        data=data.described(),
        texts=len(subject.cases),
        labels=tuple(classifier.labels.names),
        removers={name: dict(one.settings) for name, one in subject.removals.items()},
        methods={one.name: dict(one.settings) for one in tried},
        seed=seed,
        asked=_asked(sample, analyses, settings),
        budget=budget,
        seconds=clock() - started,
        figures=figures,
        example=examples[0] if examples else None,
        left_out=left_out,
        verdicts=verdicts_of(figures, removers=named),
        recommendation=recommendation_of(figures.get(RANKING), candidates_of(named, tried), removers=named),
    )


def _asked(sample: int, analyses: Sequence[str] | None, settings: Mapping[str, object] | None) -> dict[str, Any]:
    """Return what was asked for as plain values; what was left out is not there."""
    plain = {
        name: value if isinstance(value, str | int | float | None) else str(value)
        for name, value in (settings or {}).items()
    }
    named = {"analyses": None if analyses is None else list(analyses), "settings": plain or None}
    return {"sample": sample} | {name: value for name, value in named.items() if value is not None}


def _removers(classifier: Classifier, asked: Sequence[str] | None, settings: Mapping[str, object]) -> list[str]:
    """Return the removers to hold against each other."""
    if asked is not None:
        names = list(dict.fromkeys(asked))
    else:
        names = two_removers(classifier)
        fits = f"{INFILL}.model" in settings or is_bundled(classifier.identity)  # the bundled one knows film reviews
        names += [INFILL] if INFILL in classifier.removers and fits else []
    for name in names:
        if name not in classifier.removers:
            raise unknown(f"remover for {classifier.kind}", name, classifier.removers)
    if len(names) < FEWEST_REMOVERS:
        raise SettingError(
            f"an audit holds removers against each other; name at least {FEWEST_REMOVERS} of "
            f"{', '.join(classifier.removers)}."
        )
    return names


def _methods(
    classifier: Classifier, asked: str | Sequence[str] | None, settings: Mapping[str, object]
) -> list[Variant]:
    """Return the methods to rank besides occlusion."""
    if asked is None:
        works = compatible(classifier)
        named = [one for one in asked_methods(METHODS_TRIED) if works[one.spec.name] is None]
    else:
        named = asked_methods(name for name in each_name(asked) if name not in (OCCLUSION, RANDOM))
        for one in named:
            require(one.spec, classifier)
            if one.remover is not None:
                raise SettingError(
                    f"an audit tries removers itself; leave 'remover={one.remover}' out of '{one.name}'."
                )
    return [one for own in variants(classifier, named, settings) for one in own]


def _sampled(data: Dataset, *, sample: int, seed: int) -> Dataset:
    """Return the first texts of a random order."""
    if sample < 1:
        raise SettingError(f"a sample holds at least one record, not {sample}.")
    order = np.random.default_rng(seed).permutation(len(data))[:sample]
    return replace(data, records=tuple(data[int(i)] for i in order))


def _analyses(
    asked: Sequence[str] | None, methods: Sequence[Variant], examples: list[Disagreement | None], *, seed: int
) -> dict[str, Analysis]:
    """Return the analyses to do, the cheapest first; the text that removers disagree about goes into `examples`."""

    def agreement(subject: Subject) -> FigureTable:
        figures, example = remover_agreement(subject)
        examples[:] = [example]
        return figures

    known = {
        "returns": Analysis(_infilled(infill_returns), cheaper=False),
        "damage": Analysis(lambda subject: removal_damage(subject, seed=seed)),
        "size": Analysis(attribution_size),
        "agreement": Analysis(agreement),
        RANKING: Analysis(lambda subject: removal_ranking(subject, methods)),
        "randomised": Analysis(lambda subject: head_randomised(subject, seed=seed), kept=False),
        "all_words": Analysis(_infilled(marginal_words), cheaper=False, kept=False),
    }
    for name in asked or ():
        if name not in known:
            raise unknown("analysis", name, known)
    return {name: one for name, one in known.items() if asked is None or name in asked}


def _infilled(run: Callable[[Subject], FigureTable]) -> Callable[[Subject], FigureTable]:
    """Refuse an analysis of infill where there is none."""

    def checked(subject: Subject) -> FigureTable:
        if INFILL not in subject.removals:
            raise IncompatibleError(
                "none of the removers infills; name it (--remover infill), or a masked language model for it (--set "
                "infill.model=FOLDER)."
            )
        return run(subject)

    return checked
