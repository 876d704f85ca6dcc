"""Stored rows as explanations again."""

import json
import math

import numpy as np

from whylight.core.example import Example, Span
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.store.tables import Row


def explanation_of(row: Row) -> Explanation:
    """Make an explanation of a stored row; of the probabilities only the target's is stored, the others are unknown."""
    target = Target(row["target"], row["label"])
    receipt = Provenance(
        model="",
        method=row["method"],
        settings=json.loads(row["settings"] or "{}"),
        unit=row["unit"],
        remover=row["remover"],
        score=row["score_space"],
        signed=row["signed"],
        class_specific=row["class_specific"],
        forward_passes=row["forward_passes"],
        backward_passes=row["backward_passes"],
        seconds=row["seconds"],
        notes=tuple(row["notes"] or ()),
    )
    spans = tuple(Span(*place) for place in zip(row["parts"], row["starts"], row["ends"], strict=True))
    probabilities = (*(math.nan,) * target.index, row["probability"])
    prediction = Prediction(target.index, target.label, row["probability"], probabilities, (target.index,))
    scores = np.asarray([row["scores"]], dtype=np.float64)
    return Explanation(Example(row["text"], row["pair"]), spans, (target,), scores, prediction, receipt)
