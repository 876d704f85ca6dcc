"""What the model said, kept: explanations by what they are of, and where each document stands in the queue.

An explanation is kept as the dictionary that it is written and read as everywhere (`Explanation.to_dict`), under a hash
of the model's contents, the version of whylight, the method with its settings, the labels and the text: another model
never finds it.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from whylight.core.explanation import Explanation
from whylight.core.text import Span
from whylight.workbench.tables import FINDINGS, STANDINGS


@dataclass(frozen=True, slots=True)
class Standing:
    """Why a document should be looked at first; every figure lies between 0 and 1, and more is worse.

    Attributes:
        labels: What is predicted, with probabilities, most probable first.
        uncertainty: How near the model is to another decision.
        disagreement: How far methods name other evidence.
        doubt: How much of the probability is left without the evidence.
        evidence: What the first method names for each predicted label, with the words that stand there.
    """

    labels: Mapping[str, float]
    uncertainty: float
    disagreement: float | None
    doubt: float | None
    evidence: Mapping[str, Sequence[tuple[Span, str]]]


class Findings:
    """Kept answers in a database.

    Args:
        engine: The database.
        model: A hash of the model's contents.
    """

    def __init__(self, engine: Engine, model: str) -> None:
        self.engine, self.model = engine, model

    def explanation(self, key: str) -> Explanation | None:
        """Return an explanation by its key, if it is there."""
        with self.engine.connect() as connection:
            found = connection.scalar(select(FINDINGS.c.payload).where(FINDINGS.c.key == key))
        return None if found is None else Explanation.from_dict(json.loads(zlib.decompress(bytes(found))))

    def keep(self, key: str, explanation: Explanation, document: int | None) -> None:
        """Keep an explanation."""
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(FINDINGS).values(_row(key, explanation, document)))
        except IntegrityError:  # somebody has kept it in between: it is the same one
            return

    def keep_all(self, found: Sequence[tuple[str, Explanation]]) -> None:
        """Keep several explanations at once, those aside that are there."""
        keys = [key for key, _ in found]
        with self.engine.begin() as connection:
            there = set(connection.scalars(select(FINDINGS.c.key).where(FINDINGS.c.key.in_(keys))))
            new = {key: _row(key, one, None) for key, one in found if key not in there}
            if new:
                connection.execute(insert(FINDINGS), list(new.values()))

    def place(self, document: int, standing: Standing) -> None:
        """Keep where a document stands."""
        values: dict[str, Any] = {
            "document": document,
            "model": self.model,
            "labels": json.dumps(list(standing.labels.items())),
            "uncertainty": standing.uncertainty,
            "disagreement": standing.disagreement,
            "doubt": standing.doubt,
            "evidence": json.dumps(
                {
                    label: [[one.part, one.start, one.end, words] for one, words in own]
                    for label, own in standing.evidence.items()
                }
            ),
        }
        with suppress(IntegrityError), self.engine.begin() as connection:  # another server may be first
            connection.execute(delete(STANDINGS).where(STANDINGS.c.document == document))
            connection.execute(insert(STANDINGS).values(values))

    def proposed(self) -> Iterator[tuple[int, dict[str, list[tuple[Span, str]]]]]:
        """Yield documents with what the first method names in them, by label."""
        own = select(STANDINGS.c.document, STANDINGS.c.evidence).where(STANDINGS.c.model == self.model)
        with self.engine.connect() as connection:
            for number, told in connection.execute(own.where(STANDINGS.c.evidence.is_not(None))):
                each = json.loads(told).items()
                yield (
                    number,
                    {
                        label: [(Span(part, start, end), words) for part, start, end, words in spans]
                        for label, spans in each
                    },
                )

    def placed(self) -> set[int]:
        """Return the documents whose standing is known for this model."""
        with self.engine.connect() as connection:
            known = select(STANDINGS.c.document).where(
                STANDINGS.c.model == self.model, STANDINGS.c.evidence.is_not(None)
            )
            return set(connection.scalars(known))


def _row(key: str, explanation: Explanation, document: int | None) -> dict[str, Any]:
    packed = zlib.compress(json.dumps(explanation.to_dict()).encode("ascii"), 1)
    return {"key": key, "document": document, "payload": packed}
