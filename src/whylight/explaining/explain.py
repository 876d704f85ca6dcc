"""Explaining: the function behind `wl.explain` and `whylight explain`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation, Explanations
from whylight.core.inputs import Input
from whylight.core.interruption import Interrupted
from whylight.core.labels import TargetSpec
from whylight.core.limits import limited
from whylight.explaining.bar import progress_bar
from whylight.explaining.case import Case, open_case
from whylight.explaining.compatible import require
from whylight.explaining.defaults import default_methods
from whylight.explaining.given import Given, as_examples, given_inputs
from whylight.explaining.options import Options, removal_of, with_remover_settings
from whylight.explaining.receipts import explain_cases
from whylight.explaining.removing import score_for
from whylight.explaining.signs import AUTO, SignSource
from whylight.explaining.variants import Variant, asked_methods, asks_for_layers, variants
from whylight.views.classifier import Classifier, require_classifier

TOGETHER, SIZE_TOGETHER = 16, 10_000
"""Inputs that are explained at once by a method that takes several, and their size: long ones gain nothing from it."""


@overload
def explain(
    classifier: Classifier,
    inputs: Given | Iterable[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = ...,
    layer: Literal["all"],
    **options: Any,  # noqa: ANN401  as below
) -> Explanations: ...


@overload
def explain(
    classifier: Classifier,
    inputs: Given,
    *,
    method: str | None = None,
    target: TargetSpec = ...,
    **options: Any,  # noqa: ANN401  as below
) -> Explanation: ...


@overload
def explain(
    classifier: Classifier,
    inputs: Given | Iterable[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = ...,
    **options: Any,  # noqa: ANN401
) -> Explanations: ...


def explain(  # noqa: PLR0913  the public call: every argument but two is optional and named
    classifier: Classifier,
    inputs: Given | Iterable[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = "predicted",
    unit: str | None = None,
    remover: str | None = None,
    score: str | None = None,
    long: str = "window",
    pieces: str = "sum",
    evidence_sign: str = AUTO,
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    **settings: object,
) -> Explanation | Explanations:
    """Say which words made a classifier decide.

    Args:
        classifier: What `wl.load` returned.
        inputs: A text, a pair `(text, text)`, or a list of these; or a data set, whose labels are not looked at.
        method: A method or a list of them, also with settings of its own, `"lime[samples=200]"`; by default
            `integrated_gradients`, `kernel_shap` where that does not work (with a callable, or a model that has no
            gradient), and `attingrad` where each label has an attention of its own (PLM-CA).
        target: `"predicted"`, `"all"`, a label, an index, or a list of labels and indices. Of a language model that
            writes freely: `"generated"`, what it writes (the same as `"predicted"`), or a text that it could write.
        unit: `word` (the default of texts), `token` or `sentence`; of images `pixel`, `patch` or `superpixel`.
        remover: `mask`, `delete`, `pad`, `unk`, `zero` or `infill`, also with settings of its own,
            `"infill[mode=top1]"`; by default what suits the model. A method may name its own: `"lime[remover=delete]"`.
        score: `logit`, `probability`, `log_odds`, `log_probability`, `log_sigmoid` or `log_mixture`; by default what
            the method is defined on, else the logit where there is one.
        long: `window`, `segments`, `truncate` or `refuse`, for texts longer than the model reads.
        pieces: `sum`, `max` or `mean` of the scores of a word's tokens.
        evidence_sign: Which method says whether a word speaks for a label, where the method that explains has no sign
            (attention, saliency): `auto` is `decompx_linear` or `input_x_gradient`, what works with the model; a method
            with a sign; or `none`. It is asked once per text, and changes no score.
        progress: Show a progress bar on work that takes longer than two seconds, and announce what takes minutes.
        budget: Seconds; work that takes longer, by an estimate from its first batches, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`; work that takes more is refused.
        **settings: Settings of the methods, e.g. `samples=500`; `**{"lime.samples": 200}` is for one of them, and wins.
            `layer="all"` explains at every layer of the model.

    Returns:
        An `Explanation` for one text and at most one method, else a list: all methods of the first text, and so on.
        With `layer="all"` it is a list with one explanation per layer, the first first, where a method has layers.
        Ctrl-C ends methods that search (`marc`) with the best that they have found; notes say so, and what was not
        begun is missing from the list.

    Example:
        >>> import whylight as wl
        >>> ex = wl.explain(wl.load(), "A gripping, moving film.", method="occlusion")
        >>> max(ex.as_list(), key=lambda pair: pair[1])[0]
        'gripping'
    """
    require_classifier(classifier)
    options = Options.parse(target=target, unit=unit, remover=remover, score=score, long=long, pieces=pieces)
    several, single = given_inputs(inputs)
    names = [method] if isinstance(method, str) else method
    with limited(budget=budget, max_memory=max_memory):
        try:
            explanations = explain_all(
                classifier,
                several,
                methods=names,
                options=options,
                settings=settings,
                evidence_sign=evidence_sign,
                progress=progress,
            )
        except Interrupted as stopped:
            explanations = stopped.found
    one = single and (method is None or isinstance(method, str)) and not asks_for_layers(names or (), settings)
    return explanations[0] if one else Explanations(explanations)


def explain_all(  # noqa: PLR0913  every argument but two is named
    classifier: Classifier,
    inputs: Iterable[Given],
    *,
    methods: Sequence[str] | None,
    options: Options,
    settings: Mapping[str, object],
    evidence_sign: str = AUTO,
    progress: bool = True,
) -> list[Explanation]:
    """Explain every input by every method; all methods of the first input come first.

    Args:
        classifier: The classifier.
        inputs: Texts and pairs.
        methods: Names of methods, or None for the default.
        options: What is asked of every method alike.
        settings: Settings of the methods.
        evidence_sign: Which method says which words are evidence, beside methods without a sign.
        progress: Show a progress bar on work that takes longer than two seconds.

    Raises:
        Interrupted: After Ctrl-C, with what was found until then, by a method that had something to show.
    """
    asked = asked_methods(_names(classifier, methods))
    for each in asked:
        require(each.spec, classifier)
    options, others = with_remover_settings(classifier, options, settings, asked=asked)
    chosen = [one for each in variants(classifier, asked, others) for one in each]
    for each in asked:
        score_for(each.spec, classifier, options.score, removal_of(classifier, options.under(each.remover)))
    signs = SignSource(classifier, options, evidence_sign)
    examples = as_examples(inputs)
    jobs = _jobs([one.size for one in examples], chosen)
    plan = [(job.variant.name, sum(examples[number].size for number in job.numbers)) for job in jobs]
    cases: dict[int, Case] = {}
    found: dict[tuple[int, int], Explanation] = {}
    with progress_bar(len(plan), shown=progress, plan=plan) as step:
        for job in jobs:
            step(job.variant.name)
            cases = {
                number: cases.get(number) or _opened(classifier, examples[number], options) for number in job.group
            }
            own = [cases[number] for number in job.numbers]
            keys = [(number, job.place) for number in job.numbers]
            try:
                asked_each = [options.under(job.variant.remover)] * len(own)
                explained = explain_cases(own, job.variant.spec, job.variant.settings, asked_each)
            except Interrupted as stopped:
                found.update(zip(keys, stopped.found, strict=False))
                raise Interrupted([found[key] for key in sorted(found)]) from stopped
            for key, case, one in zip(keys, own, explained, strict=True):
                found[key] = signs.lent(key[0], case, one)
    return [found[key] for key in sorted(found)]


@dataclass(frozen=True, slots=True)
class _Job:
    """Some examples, to be explained by one method at once.

    Attributes:
        variant: The method.
        place: Its place among the methods.
        numbers: The examples.
        group: Examples that are open at the time.
    """

    variant: Variant
    place: int
    numbers: range
    group: range


def groups_of(sizes: Sequence[int], chosen: Sequence[Variant]) -> list[range]:
    """Divide inputs of these sizes into groups that are explained at once; one by one, if no method takes several."""
    most = TOGETHER if any(one.spec.together for one in chosen) else 1
    groups, start = list[range](), 0
    for end in range(1, len(sizes) + 1):
        full = end - start == most or sum(sizes[start : end + 1]) > SIZE_TOGETHER
        if full or end == len(sizes):
            groups.append(range(start, end))
            start = end
    return groups


def _jobs(sizes: Sequence[int], chosen: Sequence[Variant]) -> list[_Job]:
    """Divide examples into jobs: all methods of some examples, then all of the next."""
    return [
        _Job(variant, place, numbers, group)
        for group in groups_of(sizes, chosen)
        for place, variant in enumerate(chosen)
        for numbers in ([group] if variant.spec.together else [range(i, i + 1) for i in group])
    ]


def _opened(classifier: Classifier, example: Input, options: Options) -> Case:
    return open_case(classifier, example, unit=options.unit, long=options.long, target=options.target)


def _names(classifier: Classifier, methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return default_methods(classifier)
    if not methods:
        raise SettingError("the list of methods is empty; give at least one.")
    return list(methods)
