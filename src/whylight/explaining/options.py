"""What is asked of every method alike, and what it means in front of a classifier."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from whylight.core.encoded import LONG, UNITS, Long, Unit
from whylight.core.errors import unknown
from whylight.core.inputs import Settings
from whylight.core.labels import ScoreSpace, TargetSpec, check_score_space
from whylight.explaining.removing import chosen_removal, default_remover, remover_settings
from whylight.explaining.variants import Asked
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier
from whylight.views.positions import PIECES, Pieces

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is asked of every method alike; None stands for the classifier's own default.

    Attributes:
        target: Which labels to explain.
        unit: What a feature is.
        remover: What "removed" means.
        score: Which score to explain.
        long: What to do with a text longer than the model reads.
        pieces: How a word's score comes from those of its tokens.
        remover_settings: Settings of the remover.
        own_removers: Removers that methods name for themselves, with their settings.
    """

    target: TargetSpec = "predicted"
    unit: Unit | None = None
    remover: str | None = None
    score: ScoreSpace | None = None
    long: Long = "window"
    pieces: Pieces = "sum"
    remover_settings: Settings = field(default_factory=dict)
    own_removers: Mapping[str, Settings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a name that does not exist, with those that do."""
        if self.unit is not None:
            choice("unit", self.unit, UNITS)
        choice("long", self.long, LONG)
        choice("pieces", self.pieces, PIECES)
        if self.score is not None:
            check_score_space(self.score)

    @classmethod
    def parse(
        cls, *, target: TargetSpec, unit: str | None, remover: str | None, score: str | None, long: str, pieces: str
    ) -> "Options":
        """Check what a user typed; a name that does not exist is refused with those that do."""
        return cls(
            target=target,
            unit=None if unit is None else choice("unit", unit, UNITS),
            remover=remover,
            score=None if score is None else check_score_space(score),
            long=choice("long", long, LONG),
            pieces=choice("pieces", pieces, PIECES),
        )

    def under(self, remover: str | None) -> "Options":
        """Return what is asked of a method that names a remover of its own, or none."""
        if remover is None:
            return self
        return replace(self, remover=remover, remover_settings=self.own_removers[remover])


def choice(kind: str, value: str, choices: tuple[T, ...]) -> T:
    """Return the choice that a value names, or raise the error that lists them."""
    for one in choices:
        if one == value:
            return one
    raise unknown(f"value for '{kind}'", value, choices)


def with_remover_settings(
    classifier: Classifier, options: Options, settings: Mapping[str, object], *, asked: Iterable[Asked] = ()
) -> tuple[Options, dict[str, object]]:
    """Put settings of removers, `REMOVER.NAME`, into the options; return these, and the settings of others.

    Args:
        classifier: The classifier.
        options: What is asked of every method alike.
        settings: Settings of removers, methods and metrics.
        asked: Methods, which may name removers of their own.
    """
    name, named = (
        options.remover or default_remover(classifier),
        {one.remover for one in asked if one.remover is not None},
    )
    own, others = remover_settings(settings, {name, *named})
    removal = chosen_removal(classifier, options.remover, {**options.remover_settings, **own[name]})
    removers = {one: chosen_removal(classifier, one, own[one]).settings for one in sorted(named)}
    return replace(options, remover_settings=removal.settings, own_removers=removers), others


def removal_of(classifier: Classifier, options: Options) -> Removal:
    """Return what "removed" means by the options of a call."""
    return chosen_removal(classifier, options.remover, options.remover_settings)
