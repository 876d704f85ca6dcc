"""Any function from texts to probabilities as a classifier: a scikit-learn pipeline, an API, a rule."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import IncompatibleError, InputError, ModelError
from whylight.core.identity import digest
from whylight.core.interruption import at_once
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.text import Span, Text
from whylight.models.batching import Engine
from whylight.models.outcomes import outcomes_of
from whylight.models.tokenised import check_text, units
from whylight.perturb.binding import available
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, game_of
from whylight.views.game import Game
from whylight.views.meter import Meter
from whylight.views.texts import TextBatch, TextWindow

TextFunction = Callable[[list[str]], Any]
BATCH = 256
BATCH_CHARACTERS = 2**24
"""Characters that the function gets at once; for very long texts."""
_TOLERANCE = 1e-3


class CallableClassifier:
    """A function `list[str] -> probabilities [texts, labels]`.

    Args:
        function: The function; it gets at most 256 texts at once, fewer of those that are very long.
        labels: Names of the columns, with the head that says whether rows sum to 1.
        identity: A name for receipts.
        mask_string: What stands for a removed word with the remover `mask`; without it only `delete` exists.
        named: Whether the user gave that name, and so says that the function behind it is always the same.
    """

    kind = "a callable"
    reads = Text.kind
    score_spaces: tuple[ScoreSpace, ...] = ("probability", "log_odds", "log_probability")

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(
        self,
        function: TextFunction,
        *,
        labels: Labels,
        identity: str,
        mask_string: str | None = None,
        named: bool = False,
    ) -> None:
        self.function = function
        self.labels = labels
        self.identity = identity
        self._replacements = {} if mask_string is None else {"mask": mask_string}
        self._named = named
        self.engine = Engine(self._logits, budget=BATCH_CHARACTERS, most=BATCH)
        self.offers: Offers = {Game: partial(game_of, self)}

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return text_removers(self._replacements)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:  # noqa: ARG002  no limit, nothing to cut
        """Cut an example into words or sentences."""
        check_text(example)
        if example.pair is not None:
            raise InputError("a callable takes single texts; join the two texts of a pair before explaining them.")
        if unit == "token":
            raise IncompatibleError("a callable has no tokens; use the unit 'word' or 'sentence'.")
        spans = tuple(Span(0, start, end) for start, end in units(example, unit))
        return Encoded(example, unit, spans, (TextWindow(example.text, spans, self._replacements),))

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits that give back the callable's probabilities."""
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        return outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

    def contents(self) -> Mapping[str, str] | None:
        """Return a hash of the name that the user gave, and of what is asked under it; without one there is none."""
        if not self._named:
            return None
        labels = digest([list(self.labels.names), self.labels.head, self.labels.threshold])
        return {"callable name": digest([self.identity, self._replacements.get("mask")]), "labels": labels}

    def _logits(self, batch: TextBatch) -> Floats:
        texts = list(batch.texts)
        with at_once():  # it is the user's own, and may take long
            given = self.function(texts)
        return self.labels.logits_of(check_probabilities(given, texts=len(texts), labels=self.labels))


def text_removers(replacements: Mapping[str, str]) -> tuple[str, ...]:
    """Return the removers that work on plain texts, default first: a string in a text may mean anything to a model."""
    return tuple(sorted(available(TextWindow, replacements), key=lambda name: name != "delete"))


def check_probabilities(values: object, *, texts: int, labels: Labels) -> Floats:
    """Return a callable's answer as an array, or say in one sentence what is wrong with it."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError("the callable did not return numbers; it must return probabilities [texts, labels].") from None
    if array.shape != (texts, len(labels)):
        raise ModelError(
            f"the callable returned shape {tuple(array.shape)} for {texts} texts and {len(labels)} labels; "
            f"it must return ({texts}, {len(labels)})."
        )
    if not np.isfinite(array).all():
        raise ModelError("the callable returned NaN or infinity; it must return probabilities between 0 and 1.")
    if (array < -_TOLERANCE).any() or (array > 1 + _TOLERANCE).any():
        raise ModelError("the callable returned values outside 0 to 1; it must return probabilities.")
    if labels.head == "softmax" and (np.abs(array.sum(axis=1) - 1) > _TOLERANCE).any():
        raise ModelError("the callable's probabilities do not sum to 1; pass head='sigmoid' if labels are independent.")
    return np.clip(array, 0.0, 1.0)
