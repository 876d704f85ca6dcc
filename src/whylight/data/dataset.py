"""What a corpus becomes: records with gold labels and, where people marked them, rationales."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from whylight.core import showing
from whylight.core.errors import InputError, SettingError
from whylight.core.identity import LENGTH, digest
from whylight.core.inputs import Input, JsonValue, Noun, common_noun, numbers_of
from whylight.core.rationale import Rationale, joined
from whylight.core.text import Text
from whylight.data._checks import quotable

LOST = "not in the records: "
"""How a note begins that says what is in the files but not in the records; commands print these."""
MOST_MISSING = 20
"""Labels that are named where a map of labels misses some."""
LONGEST_NUMBER = 18
"""Digits of labels that are ordered as numbers."""
SHOWN = 3
"""Texts that are named where there are too many."""


@dataclass(frozen=True, slots=True)
class Record:
    """One labelled example.

    Attributes:
        id: Its name in the corpus, unique within a split.
        example: What is labelled: a text, its pair and the corpus's own words.
        labels: Names of the gold labels; one in a single-label corpus, none where the split is unlabelled.
        rationales: What people marked, by label name; a label without evidence is absent.
    """

    id: str
    example: Input
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
        label_descriptions: What labels stand for, in words; a model that is trained on these data takes them over.
    """

    name: str
    split: str
    label_names: tuple[str, ...]
    records: tuple[Record, ...]
    multi_label: bool = False
    notes: tuple[str, ...] = ()
    label_descriptions: Mapping[str, str] = field(default_factory=dict)

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    @property
    def noun(self) -> Noun:
        """What its inputs are called."""
        return common_noun(record.example.kind for record in self.records)

    def require_texts(self, work: str) -> None:
        """Refuse work that is made for texts, where a record is none."""
        if any(record.example.kind != Text.kind for record in self.records):
            named = f"'{quotable(self.name)}' ({quotable(self.split)})"
            raise InputError(f"{work} is made for texts, and {named} holds {self.noun.many}.")

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

    def with_labels(self) -> "Dataset":
        """Keep the records that have at least one gold label."""
        kept = tuple(record for record in self.records if record.labels)
        return self._with(kept, f"{len(kept)} of {len(self)} records have a gold label; the others are left out")

    def without_labels(self) -> "Dataset":
        """Keep the texts alone, for whom neither labels nor rationales matter."""
        bare = tuple(replace(record, labels=(), rationales={}) for record in self.records)
        return replace(self, records=bare, label_names=(), label_descriptions={})

    def shared_with(self, other: "Dataset", *, pairs: bool = True) -> tuple[Record, ...]:
        """Return the records that are in another data set too.

        Args:
            other: The other data set.
            pairs: Whether a pair is shared only if both of its texts are; else the first one decides.
        """

        def key(record: Record) -> str:
            return record.example.key if pairs else _first_text(record)

        theirs = {key(record) for record in other}
        return tuple(record for record in self.records if key(record) in theirs)

    def without(self, other: "Dataset", *, pairs: bool = True) -> "Dataset":
        """Leave out the records that are in another data set too, as `shared_with` finds them; they are noted."""
        shared = self.shared_with(other, pairs=pairs)
        if not shared:
            return self
        gone = {record.id for record in shared}
        kept = tuple(record for record in self.records if record.id not in gone)
        if not kept:
            raise InputError(
                f"every {self.noun.one} of '{quotable(self.name)}' ({quotable(self.split)}) is in the other data too."
            )
        return self._with(kept, f"{LOST}{len(shared)} of {self.split} that are in {other.split} too: {named(shared)}")

    def relabelled(self, names: Mapping[str, str]) -> "Dataset":
        """Call labels by other names, as a model that was trained on these data may; the map is noted.

        Labels that get the same name become one. The new names come in the order of the old ones, numbers by value.

        Args:
            names: The new name of every label; one that the split does not have may be among them.

        Raises:
            SettingError: The map misses a label.
        """
        missing = [label for label in self.label_names if label not in names]
        if missing:
            more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
            listed = ", ".join(f"'{quotable(label)}'" for label in missing[:MOST_MISSING])
            raise SettingError(
                f"the map of labels misses {listed}{more} of '{quotable(self.name)}' ({quotable(self.split)}); say "
                f"what every label stands for, e.g. --map-label {quotable(missing[0])}=NAME."
            )
        order = dict.fromkeys(names[label] for label in in_order(names))
        said = ", ".join(f"{quotable(old)} is {quotable(new)}" for old, new in names.items())
        made = self._with((_relabelled(one, names) for one in self.records), f"labels are renamed: {said}")
        described = {names[old]: text for old, text in self.label_descriptions.items() if _is_kept(old, names)}
        return replace(made, label_names=tuple(order), label_descriptions=described)

    @property
    def losses(self) -> tuple[str, ...]:
        """The notes on what is in the files but not in the records."""
        return tuple(note for note in self.notes if note.startswith(LOST))

    def _with(self, records: Iterator[Record] | tuple[Record, ...], note: str) -> "Dataset":
        return replace(self, records=tuple(records), notes=(*self.notes, note))


def require_dataset(value: object) -> None:
    """Refuse what is no data set: texts in a list, or the path of a file."""
    if not isinstance(value, Dataset):
        raise InputError(
            f"data are what wl.dataset returns, not {type(value).__name__}; it reads a file: wl.dataset('reviews.csv')."
        )


def in_order(labels: Iterable[str]) -> list[str]:
    """Return labels by their value if they are whole numbers, else by the alphabet."""
    names = sorted(set(labels))
    are_numbers = all(name.isascii() and name.isdecimal() and len(name) <= LONGEST_NUMBER for name in names)
    return sorted(names, key=int) if are_numbers else names


def _is_kept(label: str, names: Mapping[str, str]) -> bool:
    """Say whether a label stays one under its new name, and is not put together with others."""
    return sum(new == names[label] for new in names.values()) == 1


def relabelled_record(record: Record, names: Mapping[str, str]) -> Record:
    """Call the labels of a record by other names.

    Raises:
        InputError: The map misses one.
    """
    missing = next((one for one in (*record.labels, *record.rationales) if one not in names), None)
    if missing is not None:
        raise InputError(f"the map of labels misses '{quotable(missing)}' of the record '{quotable(record.id)}'.")
    return _relabelled(record, names)


def _relabelled(record: Record, names: Mapping[str, str]) -> Record:
    together: dict[str, list[Rationale]] = {}
    for label, own in record.rationales.items():
        together.setdefault(names[label], []).append(own)
    rationales = {label: own[0] if len(own) == 1 else joined(own, "union") for label, own in together.items()}
    return replace(record, labels=tuple(dict.fromkeys(names[one] for one in record.labels)), rationales=rationales)


def named(records: Sequence[Record]) -> str:
    """Name records in a sentence, the first few of them."""
    more = f" and {len(records) - SHOWN} more" if len(records) > SHOWN else ""
    return ", ".join(map(_named, records[:SHOWN])) + more


def _named(record: Record) -> str:
    """Name a record by its id, and by how it begins if it is a text."""
    begins = f' ("{quotable(" ".join(_first_text(record).split()))}")' if record.example.kind == Text.kind else ""
    return f"'{quotable(record.id)}'{begins}"


def _first_text(record: Record) -> str:
    """Return what an example is known by; of a pair, its first text."""
    return record.example.key.partition("\0")[0]


def record_digest(record: Record) -> str:
    """Return a hash of all that a record holds."""
    return digest([_contents(record)])[: 2 * LENGTH]


def _contents(record: Record) -> JsonValue:
    example = record.example
    marked: JsonValue = {
        label: [list(numbers_of(place)) for place in rationale.places] for label, rationale in record.rationales.items()
    }
    return [record.id, example.kind, example.to_json(), list(record.labels), marked]
