"""What a corpus becomes: records with gold labels and, where people marked them, rationales."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from whylight.core.errors import SettingError
from whylight.core.example import Example, Span
from whylight.core.explanation import JsonValue
from whylight.core.identity import digest
from whylight.core.rationale import Rationale


@dataclass(frozen=True, slots=True)
class Record:
    """One labelled example.

    Attributes:
        id: Its name in the corpus, unique within a split.
        example: The text, its pair and the corpus's own words.
        labels: Names of the gold labels; one in a single-label corpus, none where the split is unlabelled.
        rationales: What people marked, by label name; a label without evidence is absent.
    """

    id: str
    example: Example
    labels: tuple[str, ...]
    rationales: Mapping[str, Rationale] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split of a corpus.

    Attributes:
        name: Name of the corpus.
        split: Name of the split.
        label_names: Every label of the corpus, the same in each split, in a fixed order.
        records: The records in the order of the files.
        multi_label: Whether a record may have any number of labels.
        notes: What a reader of the numbers has to know: rules, what was dropped, what was sampled.
    """

    name: str
    split: str
    label_names: tuple[str, ...]
    records: tuple[Record, ...]
    multi_label: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def described(self) -> dict[str, JsonValue]:
        """Return what people call it, for receipts."""
        return {"name": self.name, "split": self.split, "texts": len(self), "notes": list(self.notes)}

    def fingerprint(self) -> str:
        """Return a hash of the labels and of all that the records hold; two files of one name have two of them."""
        return digest([[list(self.label_names), self.multi_label], *map(_contents, self.records)])

    def sample(self, count: int, *, seed: int) -> "Dataset":
        """Draw records without replacement; they keep their order, and the draw is noted.

        Args:
            count: How many to draw; all are taken where there are fewer, which the note says.
            seed: Same seed, same records.
        """
        if count < 1:
            raise SettingError(f"a sample holds at least one record, not {count}.")
        if count >= len(self):
            return self._with(self.records, f"a sample of {count} was asked for; all {len(self)} records are in it")
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), size=count, replace=False))
        return self._with((self.records[i] for i in chosen), f"sample of {count} of {len(self)} records, seed {seed}")

    def with_rationales(self) -> "Dataset":
        """Keep the records that have at least one rationale."""
        kept = tuple(record for record in self.records if record.rationales)
        return self._with(kept, f"{len(kept)} of {len(self)} records have a rationale; the others are left out")

    def _with(self, records: Iterator[Record] | tuple[Record, ...], note: str) -> "Dataset":
        return replace(self, records=tuple(records), notes=(*self.notes, note))


def _contents(record: Record) -> JsonValue:
    example = record.example
    return [
        record.id,
        example.text,
        example.pair,
        None if example.words is None else _places(example.words),
        list(record.labels),
        {label: _places(rationale.spans) for label, rationale in record.rationales.items()},
    ]


def _places(spans: tuple[Span, ...]) -> JsonValue:
    return [[span.part, span.start, span.end] for span in spans]
