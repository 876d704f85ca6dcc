"""The sanity check: does an explanation change when the model forgets what it has learnt?

    change(method, level) = mean over texts of m(e(x; model), e(x; model with new weights from the head down to level))

for m = `sign_change`, `mean_change` and `spearman`. A method that explains the model has to notice: signs and scores
change, and the correlation falls towards 0. One that does not (attention under a new head, input marginalisation on
predictable words) shows the text or the architecture, not the decision.

The target is fixed on the untouched model, so that a change is not one of the question; Pham et al.'s code explains
what the randomised model predicts, and so counts class flips as changes (`explained="randomised"`). It draws the matrix
of the last linear layer alone (`initialiser="xavier"`); here the whole head is drawn as the library initialises it, and
then one layer after the other below it.
Methods that draw numbers draw the same ones for both models. `random` never looks at the model: by construction it does
not change (0, 0, 1), and so stands for a method that fails.

Changes are means over several draws of weights (three, as in Pham et al.), then over texts; intervals are over texts.
They leave out the luck of the draws, which is large where there are few labels: a new head of two labels is one new
direction, which may happen to point with the old one or against it. Methods at one level see the same new weights.
Reference: Adebayo et al. 2018; Pham et al. 2022, table A5. Cost: each method once per text, level and draw, and once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import InputError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import Input
from whylight.core.limits import limited
from whylight.core.registry import METRICS
from whylight.data.dataset import Dataset, require_dataset
from whylight.explaining.bar import progress_bar
from whylight.explaining.case import open_case
from whylight.explaining.compatible import require
from whylight.explaining.options import Options, choice, removal_of, with_remover_settings
from whylight.explaining.receipts import explain_case
from whylight.explaining.removing import check_score
from whylight.explaining.variants import Asked, Variant, asked_methods, each_name, variants
from whylight.models.randomise import CascadeLevel, Initialiser, check_seed, levels_of, randomise
from whylight.run.summary import Cell, interval
from whylight.store.tables import RANDOM
from whylight.study.sanity_lines import MEASURES, SanityLevel, SanityLine, SanitySummary
from whylight.views.classifier import Classifier, require_classifier

Explained = Literal["untouched", "randomised"]
"""Whose prediction is explained."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of every text: methods and measures with complete settings, and what they share."""

    methods: tuple[Variant, ...]
    measures: tuple[Variant, ...]
    options: Options


@dataclass(frozen=True, slots=True, eq=False)
class _Explained:
    """One text in front of one model: its targets as options, the labels it gets, and an explanation per method."""

    example: Input
    options: Options
    predicted: frozenset[int]
    explanations: tuple[Explanation, ...]


Changes = Sequence[Sequence[_Explained]]
"""Of each text: how it is explained under each draw of weights."""


def sanity_check(  # noqa: PLR0913  the public call: every argument but three is optional
    classifier: Classifier,
    data: Dataset,
    *,
    methods: str | Sequence[str],
    levels: str | int = "all",
    draws: int = 3,
    seed: int = 0,
    initialiser: Initialiser = "library",
    explained: Explained = "untouched",
    options: Options | None = None,
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> SanitySummary:
    """Measure how far explanations change when the model's weights are drawn anew, from the head downwards.

    Args:
        classifier: What `wl.load` returned for a Hugging Face model; it stays as it is.
        data: What `wl.dataset` returned; labels and rationales are not needed.
        methods: Names of methods; `random` stands beside them.
        levels: `"all"`, `"head"`, or how many levels to go down; 1 is the head.
        draws: How often weights are drawn; changes are averaged over the draws.
        seed: Of the first draw of weights, and of resampling; methods take theirs from `settings`.
        initialiser: `library` draws whole levels as the library does, `xavier` the last linear layer of the head alone.
        explained: Whose prediction is explained in front of new weights: that of the `untouched` model, or that of the
            `randomised` one, whose class flips then count as changes.
        options: What else is asked of every method alike.
        progress: Show a progress bar, and announce what takes minutes.
        budget: Seconds; a check that takes longer, by an estimate from its first batches, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`; a check that takes more is refused.
        settings: Settings of the methods and of the three measures, e.g. `{"samples": 200, "lime.samples": 500,
            "scale": "none"}`; one with a dot is for that method or measure alone.

    Returns:
        A line for each method and level.

    Example:
        >>> import whylight as wl
        >>> wl.sanity_check(wl.load(), wl.dataset("reviews.jsonl"), methods=["lime"], levels="head")  # doctest: +SKIP
    """
    require_classifier(classifier)
    require_dataset(data)
    cascade = _cascade(classifier, levels)
    check_seed(seed)
    _check_published(classifier, cascade, initialiser, explained)
    if draws < 1:
        raise SettingError(f"the setting 'draws' must be at least 1, not {draws}.")
    question = _sanity_question(classifier, each_name(methods), options or Options(), settings or {})
    if not len(data):
        raise InputError(f"'{data.name}' ({data.split}) has nothing to explain.")
    found: list[SanityLevel] = []
    lines: list[SanityLine] = []
    plan = [("", record.example.size) for record in data] * (1 + draws * len(cascade))
    bounds = limited(budget=budget, max_memory=max_memory)
    with bounds, progress_bar(len(plan), shown=progress, plan=plan) as step:
        untouched = []
        for record in data:
            step("untouched")
            untouched.append(_explained(classifier, record.example, question, question.options))
        for depth, level in enumerate(cascade, start=1):
            changes: list[list[_Explained]] = [[] for _ in untouched]
            for draw in range(draws):
                twin = randomise(classifier, depth=depth, seed=seed + draw, initialiser=initialiser)
                for text, changed in zip(untouched, changes, strict=True):
                    step(level.name)
                    own = question.options if explained == "randomised" else text.options
                    changed.append(_explained(twin, text.example, question, own))
            found.append(SanityLevel(level.name, _flips(untouched, changes, seed=seed)))
            lines += _lines(level.name, untouched, changes, question, seed=seed)
    return SanitySummary(tuple(found), tuple(lines), data.noun)


def _cascade(classifier: Classifier, levels: str | int) -> tuple[CascadeLevel, ...]:
    """Return the levels to go through, from the head down."""
    found = levels_of(classifier)
    depth = {"all": len(found), "head": 1}.get(levels) if isinstance(levels, str) else levels
    if depth is None or not 1 <= depth <= len(found):
        raise SettingError(
            f"levels are 'all', 'head' or a number from 1 to {len(found)} "
            f"({', '.join(level.name for level in found)}), not '{levels}'."
        )
    return found[:depth]


def _check_published(
    classifier: Classifier, cascade: Sequence[CascadeLevel], initialiser: Initialiser, explained: Explained
) -> None:
    """Refuse what the published way of the check cannot do."""
    if choice("initialiser", initialiser, get_args(Initialiser)) == "xavier" and len(cascade) > 1:
        raise SettingError("the initialiser 'xavier' draws the last linear layer of the head alone: use levels='head'.")
    if choice("explained", explained, get_args(Explained)) == "randomised" and classifier.labels.head == "sigmoid":
        raise SettingError("a model of several labels a text predicts other numbers of them: explained='untouched'.")


def _sanity_question(
    classifier: Classifier, methods: Sequence[str], options: Options, settings: Mapping[str, object]
) -> _Question:
    """Check everything that can be checked before the first text is explained."""
    classifier.labels.require_fixed("the sanity check")
    asked = asked_methods([*(name for name in methods if name != RANDOM), RANDOM])
    for one in asked:
        require(one.spec, classifier)
    options, others = with_remover_settings(classifier, options, settings, asked=asked)
    for one in asked:
        check_score(classifier, options.score, removal_of(classifier, options.under(one.remover)))
    both = variants(classifier, [*asked, *(Asked(name, METRICS[name]) for name in MEASURES)], others)
    explaining, measuring = (tuple(chain.from_iterable(own)) for own in (both[: len(asked)], both[len(asked) :]))
    return _Question(explaining, measuring, options)


def _explained(classifier: Classifier, example: Input, question: _Question, options: Options) -> _Explained:
    """Explain one text by every method; the labels that were explained become the targets of whoever asks again."""
    case = open_case(classifier, example, unit=options.unit, long=options.long)
    fixed = replace(options, target=[target.index for target in case.targets(options.target)[0]])
    each = [(one, fixed.under(one.remover)) for one in question.methods]
    explanations = tuple(explain_case(case, one.spec, one.settings, own) for one, own in each)
    return _Explained(example, fixed, frozenset(case.prediction.predicted), explanations)


def _flips(untouched: Sequence[_Explained], changes: Changes, *, seed: int) -> Cell:
    pairs = zip(untouched, changes, strict=True)
    shares = [np.mean([one.predicted != other.predicted for other in others]) for one, others in pairs]
    return interval(np.asarray(shares), seed=seed)


def _lines(
    level: str, untouched: Sequence[_Explained], changes: Changes, question: _Question, *, seed: int
) -> list[SanityLine]:
    """Return a line per method; draws and labels of a text are averaged before texts are."""
    lines = []
    for number, method in enumerate(question.methods):
        values = {measure.name: _changes_by(measure, number, untouched, changes) for measure in question.measures}
        means = {name: _finite(own) for name, own in values.items()}
        cells = {name: interval(own, seed=seed) for name, own in means.items() if len(own)}
        lines.append(SanityLine(method.name, level, cells, values))
    return lines


def _changes_by(measure: Variant, number: int, untouched: Sequence[_Explained], changes: Changes) -> Floats:
    """Return how far the explanations of each text by a method change, by one measure; nan where it has no value."""
    means = []
    for one, others in zip(untouched, changes, strict=True):
        own = one.explanations[number]
        every = [
            measure.spec.function(own, _as_of(other.explanations[number], own), **measure.settings) for other in others
        ]
        known = _finite(np.concatenate(every))
        means.append(known.mean() if len(known) else np.nan)
    return np.asarray(means)


def _as_of(explanation: Explanation, other: Explanation) -> Explanation:
    """Hold an explanation beside one of another label; where both are of the same labels, nothing changes."""
    return replace(explanation, targets=other.targets)


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
