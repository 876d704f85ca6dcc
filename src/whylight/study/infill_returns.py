"""How often infill puts the word itself back, and how likely it finds it.

Of every word, the masked language model is asked what could stand in its place:

    returned    share of words that it would write itself, whatever the case of letters
    likelihood  mean probability of these, among all words
    weight      mean over all words of the probability of the word itself among the `top` that infill averages over

A word that comes back is not removed: occlusion under infill gives it a score near 0 whatever the model does with it,
and `weight` is the share by which scores are lowered.
Reference: Pham et al. 2022, table A3 (over all words of all texts; here means over texts). Cost: one pass of the masked
language model a word.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from whylight.core.errors import IncompatibleError
from whylight.data.dataset import Record
from whylight.explaining.case import Case
from whylight.models.infill import MaskedFiller
from whylight.perturb.blanks import Guess, likely_words
from whylight.study.figures import FigureTable, Place
from whylight.study.subject import Subject
from whylight.views.batch import Removal
from whylight.views.filling import Filler
from whylight.views.texts import TextWindow
from whylight.views.tokens import TokenWindow

ALL, MARKED = "all words", "words that people marked"
RETURNED, LIKELIHOOD, WEIGHT = "returned", "likelihood", "weight"


def infill_returns(subject: Subject, *, remover: str = "infill") -> FigureTable:
    """Measure how often the masked language model of a remover writes the removed word itself.

    Args:
        subject: The model and texts.
        remover: The remover, which has a masked language model.
    """
    removal = subject.removals[remover]
    filler, top = _filler_of(removal), int(str(removal.settings["top"]))
    fragments = bool(removal.settings["fragments"])

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        guesses: dict[int, Guess] = {}
        for window in case.encoded.windows:
            if isinstance(window, TokenWindow | TextWindow):
                guesses = likely_words(window, filler, top=top, fragments=fragments) | guesses
        places = [place for rationale in record.rationales.values() for place in rationale.places]
        marked = case.encoded.example.marks(places, case.encoded.places)
        found = _shares(ALL, guesses.values())
        return found | _shares(MARKED, [guess for word, guess in guesses.items() if marked[word]])

    return subject.figures("what infill writes", look)


def _filler_of(removal: Removal) -> Filler:
    for one in removal.needs:
        if isinstance(one, MaskedFiller):
            return one
    raise IncompatibleError(f"the remover '{removal.name}' has no masked language model.")


def _shares(row: str, guesses: Iterable[Guess]) -> dict[Place, float]:
    """Return the figures of some words of a text; none where there are no words, or none that come back."""
    known = list(guesses)
    if not known:
        return {}
    first = np.asarray([bool(one.same[0]) for one in known])
    likely = np.asarray([float(one.probabilities[0]) for one in known])
    weight = [float(one.probabilities[one.same].sum() / one.probabilities.sum()) for one in known]
    found = {(row, RETURNED): float(first.mean()), (row, WEIGHT): float(np.mean(weight))}
    return found | ({(row, LIKELIHOOD): float(likely[first].mean())} if first.any() else {})
