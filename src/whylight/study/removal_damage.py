"""What removing words does to the model's answers, remover by remover: does it still work on such texts?

    drop(x) = [x is right] - share of the texts made of x by removing that are right

once for the removal of each single word (what occlusion does), and once for that of a random half of the words (what
LIME does). A remover under which one word costs little asks the model about texts that it can read; one under which
half the words cost as much as guessing does not. With several labels a text, right means: all of them are.

What a remover with several weighted draws (`infill`) makes of a text is answered by the mean of the probabilities.
Reference: Pham et al. 2022, table 4; their many-words texts hide a number of words that is uniform, here it is half.
Cost: words + `draws` forward passes a text and remover.
"""

import zlib
from collections.abc import Mapping

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.errors import InputError
from whylight.data.dataset import Record
from whylight.explaining.case import Case
from whylight.metrics._curves import top_count
from whylight.study.figures import FigureTable, Place
from whylight.study.subject import Subject

ONE, HALF = "one word removed", "half the words removed"
UNTOUCHED = ("untouched", "right")


def removal_damage(subject: Subject, *, draws: int = 10, seed: int = 0) -> FigureTable:
    """Measure how far the accuracy drops when one word, or half of the words, are removed by each remover.

    Args:
        subject: The model and labelled texts.
        draws: Random halves a text.
        seed: Of these.
    """
    known = [bool(record.labels) for record in subject.data]  # where there may be several, none is an answer too
    if not (any if subject.data.multi_label else all)(known):
        raise InputError(f"accuracy needs gold labels, and '{subject.data.name}' ({subject.data.split}) lacks some.")

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        gold = subject.gold(record)
        right = float(set(case.prediction.predicted) == gold)
        found = {UNTOUCHED: right}
        for name, removal in subject.removals.items():
            for column, keep in _coalitions(case, draws=draws, seed=seed).items():
                answers = subject.predictions(case, removal, keep)
                found[name, column] = right - float(np.mean([own == gold for own in answers]))
        return found

    return subject.figures("removing words", look)


def _coalitions(case: Case, *, draws: int, seed: int) -> dict[str, Bools]:
    """Return the texts without each word, and without random halves, which are the same under every remover."""
    count, key = case.encoded.n_features, zlib.crc32(case.encoded.example.key.encode())
    generator = np.random.default_rng([seed, key])
    places = generator.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
    return {ONE: ~np.eye(count, dtype=bool), HALF: places >= top_count(0.5, count)}
