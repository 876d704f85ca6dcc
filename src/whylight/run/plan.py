"""What a run is asked to do: methods and metrics with complete settings, and what each metric needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import JsonValue, Settings
from whylight.core.labels import ScoreSpace
from whylight.core.marked import asks_for_tuning, is_corpus_metric
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS, Spec
from whylight.data.dataset import Dataset
from whylight.explaining.compatible import require
from whylight.explaining.options import Options, removal_of, with_remover_settings
from whylight.explaining.removing import chosen_removal, default_remover, remover_settings, score_for
from whylight.explaining.variants import Asked, Variant, asked_methods, variants
from whylight.run.control import Control
from whylight.run.corpus import Scaling, measures_of, needs_boundary, scaling_of
from whylight.store.columns import EXPLAINED, Columns, Measure
from whylight.store.tables import HUMAN, RANDOM
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier, unit_for
from whylight.views.game import Game

SPACE: ScoreSpace = "probability"
"""What metrics on games are measured in."""
DEFAULT_METRICS = ("aopc_comprehensiveness", "aopc_sufficiency", "average_precision", "iou")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run.

    Attributes:
        methods: Methods with their settings, one per layer where all are asked for; `random` is always among them.
        metrics: Metrics of one explanation, with their settings.
        corpus_metrics: Metrics over all words together that are asked for by name, with their settings.
        options: What is asked of every method alike.
        removals: What "removed" means to faithfulness metrics; each is measured by every one of them.
        space: The score space of faithfulness metrics.
        boundaries: Tuned decision boundary of each method and scaling, where a metric needs one.
        zero_non_alphanumeric: Whether features without a letter or digit lose their score before they are measured.
        control: Whether every method stands once more in the tables, as the best of several maps.
        contents: Hashes of what removers work with, such as a masked language model.
        metric_model: What faithfulness metrics ask instead of the explained classifier.
    """

    methods: tuple[Variant, ...]
    metrics: tuple[tuple[Spec, Settings], ...]
    options: Options
    removals: tuple[Removal, ...]
    space: ScoreSpace
    corpus_metrics: tuple[tuple[Spec, Settings], ...] = ()
    boundaries: Mapping[tuple[str, Scaling], float] = field(default_factory=dict)
    zero_non_alphanumeric: bool = False
    control: Control | None = None
    contents: Mapping[str, str] = field(default_factory=dict)
    metric_model: Classifier | None = None

    def metrics_on(self, evidence: type | None) -> list[tuple[Spec, Settings]]:
        """Return the metrics that take this kind of evidence."""
        return [(spec, own) for spec, own in self.metrics if evidence_of(spec) is evidence]

    @property
    def scalings(self) -> list[Scaling]:
        """The ways to scale scores for which a boundary has to be tuned."""
        every = [own for _, own in (*self.metrics, *measures_of(self.named))]
        return list(dict.fromkeys(scaling_of(own) for own in every if needs_boundary(own)))

    @property
    def columns(self) -> Columns:
        """The columns of the tables, in their order."""
        specs = [spec for spec, _ in self.metrics]
        return columns_named(
            [one.name for one in self.methods], specs, [one.called for one in self.removals], self.control
        )

    @property
    def named(self) -> dict[str, dict[str, Settings]]:
        """The settings of what has columns of its own; a run may be asked for more of these later."""
        return {
            "methods": {one.name: dict(one.settings) for one in self.methods},
            "metrics": {spec.name: dict(own) for spec, own in (*self.metrics, *self.corpus_metrics)},
            "removers": {one.called: dict(one.settings) for one in self.removals},
            "own_removers": {name: dict(one) for name, one in self.options.own_removers.items()},
        }

    @property
    def common(self) -> dict[str, JsonValue]:
        """The settings that all columns share."""
        asked: dict[str, JsonValue] = {
            "unit": self.options.unit,
            "long": self.options.long,
            "pieces": self.options.pieces,
            "method_score": self.options.score,
            "method_remover": self.options.remover,
            "method_remover_settings": dict(self.options.remover_settings),
            "score_space": self.space,
            "zero_non_alphanumeric": self.zero_non_alphanumeric,
        }
        # defaults are no part of it, so that folders from before there were others hold the same question
        asked |= {} if self.options.target == "predicted" else {"target": str(self.options.target)}
        asked |= {} if self.metric_model is None else {"metric_model": self.metric_model.identity}
        return asked if self.control is None else {**asked, "control": self.control.asked}


def make_plan(  # noqa: PLR0913  what a user may say about a run
    classifier: Classifier,
    data: Dataset,
    *,
    methods: Sequence[str],
    metrics: Sequence[str] | None,
    options: Options,
    removers: Sequence[str] | None,
    settings: Mapping[str, object],
    tuned: bool,
    zero_non_alphanumeric: bool = False,
    control: Control | None = None,
    metric_model: Classifier | None = None,
    baseline: bool = True,
) -> Plan:
    """Check everything that can be checked before the first text is explained."""
    asked = asked_methods([*methods, *([RANDOM] if baseline else [])])
    for one in asked:
        require(one.spec, classifier)
    default = default_remover(classifier)
    if SPACE not in (metric_model or classifier).score_spaces:
        raise IncompatibleError(
            f"a run measures in the score '{SPACE}', which a regression has not; measure explanations one by one, with "
            "wl.measure(model, explanation, score='logit')."
        )
    measured_by = list(dict.fromkeys(name or default for name in removers or (options.remover,)))
    measuring, _ = remover_settings(settings, measured_by)
    options = replace(options, unit=unit_for(classifier, options.unit))
    options, others = with_remover_settings(classifier, options, settings, asked=asked)
    others = remover_settings(others, measured_by)[1]
    methods_by = [removal_of(classifier, options.under(one.remover)) for one in asked]
    for one, removal in zip(asked, methods_by, strict=True):
        score_for(one.spec, classifier, options.score, removal)
    marked = sum(bool(record.rationales) for record in data)
    named = dict.fromkeys(_default_metrics(has_rationales=marked > 0) if metrics is None else metrics)
    both = variants(classifier, [*asked, *(Asked(name, METRICS[name]) for name in named)], others)
    with_settings = tuple((one.spec, dict(one.settings)) for own in both[len(asked) :] for one in own)
    for spec, own in with_settings:
        _check_metric(spec, own, data, marked=marked, tuned=tuned)
    if metric_model is not None:
        _check_metric_model(metric_model, classifier)
    removals = tuple(chosen_removal(metric_model or classifier, name, measuring[name]) for name in measured_by)
    return Plan(
        methods=tuple(one for own in both[: len(asked)] for one in own),
        metrics=tuple(one for one in with_settings if not is_corpus_metric(one[0])),
        corpus_metrics=tuple(one for one in with_settings if is_corpus_metric(one[0])),
        options=options,
        removals=removals,
        space=SPACE,
        zero_non_alphanumeric=zero_non_alphanumeric,
        control=control,
        contents={name: value for one in (*methods_by, *removals) for name, value in one.contents.items()},
        metric_model=metric_model,
    )


def columns_named(
    methods: Iterable[str], metrics: Sequence[Spec], removers: Sequence[str], control: Control | None
) -> Columns:
    """Return the columns of methods, `human` behind them, by metrics, under removers; those over a corpus have none."""
    both = [(name,) if control is None else (name, control.name(name)) for name in methods]
    on_game = [spec.name for spec in metrics if evidence_of(spec) is Game]
    measures: list[Measure] = [EXPLAINED]
    measures += [("scores", name, remover) for remover in removers for name in on_game]
    for evidence in (Rationale, None):
        alone = [spec for spec in metrics if evidence_of(spec) is evidence and not is_corpus_metric(spec)]
        measures += [("scores", spec.name, None) for spec in alone]
    measures += [("curves", None, remover) for remover in removers if on_game]
    return Columns((*(name for own in both for name in own), HUMAN), tuple(measures))


def evidence_of(spec: Spec) -> type | None:
    """Return what a metric takes besides the explanation."""
    return spec.consumes[1] if len(spec.consumes) > 1 else None


def _check_metric_model(metric_model: Classifier, classifier: Classifier) -> None:
    """Refuse a model that cannot stand for the explained one: it must know the same labels, in the same order."""
    if metric_model.labels.open or classifier.labels.open:
        raise SettingError("a metric model would write texts of its own; leave it out where labels are texts.")
    if metric_model.labels.names != classifier.labels.names:
        own, other = (", ".join(one.labels.names[:5]) for one in (metric_model, classifier))
        raise SettingError(f"the metric model has the labels {own}, the explained one has {other}; they must be alike.")


def _default_metrics(*, has_rationales: bool) -> list[str]:
    return [n for n in DEFAULT_METRICS if has_rationales or evidence_of(METRICS[n]) is not Rationale]


def _check_metric(spec: Spec, settings: Settings, data: Dataset, *, marked: int, tuned: bool) -> None:
    evidence, of_corpus = evidence_of(spec), is_corpus_metric(spec)
    if (of_corpus or evidence is Rationale) and not marked:
        raise InputError(f"the metric '{spec.name}' needs rationales, and '{data.name}' ({data.split}) has none.")
    if evidence is Explanation:
        raise SettingError(f"the metric '{spec.name}' compares two explanations; it is not one of a single method.")
    if evidence not in (Game, Rationale, None):
        raise SettingError(f"the metric '{spec.name}' needs evidence that a run does not have.")
    if needs_boundary(settings) and not tuned:
        raise SettingError(f"the metric '{spec.name}' needs a boundary tuned on other data: pass --tune SPLIT.")
    if of_corpus and asks_for_tuning(spec, settings, texts=marked) and not tuned:
        raise SettingError(f"the metric '{spec.name}' needs other data to learn from: pass --tune SPLIT.")
