"""Any function from texts to probabilities as a classifier: a scikit-learn pipeline, an API, a rule."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from whylight.core import progress
from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit, key_of
from whylight.core.errors import IncompatibleError, InputError, ModelError
from whylight.core.example import Example, Span
from whylight.core.identity import digest
from whylight.core.interruption import at_once
from whylight.core.labels import Labels, ScoreSpace
from whylight.models.tokenised import check_text, units
from whylight.perturb.texts import removers
from whylight.views.cache import Answer, Cache
from whylight.views.classifier import Outcomes
from whylight.views.meter import Meter

TextFunction = Callable[[list[str]], Any]
BATCH = 256
CHARACTERS, BATCH_CHARACTERS = 2**26, 2**24
"""Characters of texts that are made together, and that the function gets at once; both are for very long texts."""
_TINY = 1e-30
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
    score_spaces: tuple[ScoreSpace, ...] = ("probability", "log_odds", "log_probability")

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
        self._removers = removers(mask_string)
        self.removers = tuple(self._removers)
        self._mask_string, self._named = mask_string, named

    def encode(self, example: Example, *, unit: Unit, long: Long) -> Encoded:  # noqa: ARG002  no limit, nothing to cut
        """Cut an example into words or sentences."""
        check_text(example)
        if example.pair is not None:
            raise InputError("a callable takes single texts; join the two texts of a pair before explaining them.")
        if unit == "token":
            raise IncompatibleError("a callable has no tokens; use the unit 'word' or 'sentence'.")
        spans = tuple(Span(0, start, end) for start, end in units(example, unit))
        return Encoded(example, unit, spans)

    def outcomes(
        self, encoded: Encoded, *, remover: str, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits that give back the callable's probabilities."""
        remove = self._removers[remover]

        longest = len(encoded.example.text) + 1
        at_once, batch = max(1, CHARACTERS // longest), max(1, min(BATCH, BATCH_CHARACTERS // longest))

        def outcomes(keep: Bools) -> Floats:
            logits = np.empty((len(keep), len(self.labels)))
            with progress.blocks(-(-len(keep) // at_once)) as begin:
                for start in range(0, len(keep), at_once):
                    begin()
                    logits[start : start + at_once] = some_outcomes(keep[start : start + at_once])
            return logits if columns is None else logits[:, list(columns)]

        def some_outcomes(keep: Bools) -> Floats:
            texts = remove(encoded, keep)
            keys = [key_of(text.encode()) for text in texts]
            meter.ask(keys, lambda key: cache[key].seconds if key in cache else None)
            found = {key: cache[key] for key in keys if key in cache}
            fresh = list({key: text for key, text in zip(keys, texts, strict=True) if key not in found}.items())
            progress.expect(len(fresh))
            for start in range(0, len(fresh), batch):
                some = fresh[start : start + batch]
                started = time.perf_counter()
                answers = self._logits([text for _, text in some])
                each = (time.perf_counter() - started) / len(some)
                found.update({key: Answer(row, each) for (key, _), row in zip(some, answers, strict=True)})
                progress.advance(len(some))
            cache.update(found)
            return np.stack([found[key].values for key in keys])

        return outcomes

    def contents(self) -> Mapping[str, str] | None:
        """Return a hash of the name that the user gave, and of what is asked under it; without one there is none."""
        if not self._named:
            return None
        labels = digest([list(self.labels.names), self.labels.head, self.labels.threshold])
        return {"callable name": digest([self.identity, self._mask_string]), "labels": labels}

    def _asked(self, texts: list[str]) -> object:
        with at_once():  # it is the user's own, and may take long
            return self.function(texts)

    def _logits(self, texts: list[str]) -> Floats:
        probabilities = check_probabilities(self._asked(texts), texts=len(texts), labels=self.labels)
        if self.labels.head == "softmax":
            return np.log(np.maximum(probabilities, _TINY))
        inside = np.clip(probabilities, _TINY, 1 - np.finfo(np.float64).epsneg)
        return np.asarray(np.log(inside) - np.log1p(-inside))


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
