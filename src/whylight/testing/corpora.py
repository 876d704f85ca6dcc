"""What every corpus promises, in a line: `check_corpus("my_corpus", path="tests/data/my_corpus")`.

The path holds the corpus, or a few records in its layout. What is checked is what `Dataset` and `Record` say of
themselves, and that what is not there is refused. Cost: each split is read a few times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whylight.core.errors import WhylightError
from whylight.core.inputs import kind_named
from whylight.core.registry import Plugin, Spec
from whylight.core.text import Span, Text
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.load import dataset
from whylight.data.registry import CORPORA
from whylight.testing.running import DECLARED, Check, Named, checks_of, promise, registered, run_checks

NO_SPLIT = "no-such-split"


@dataclass(frozen=True, eq=False)
class CorpusSubject:
    """A corpus.

    Attributes:
        spec: The corpus.
        path: Where it lies; None if it is generated, or not at hand.
        splits: The splits that are there.
        settings: Settings that it is read with.
    """

    spec: Spec
    path: Path | None
    splits: tuple[str, ...]
    settings: Mapping[str, object]

    @property
    def at_hand(self) -> bool:
        """Whether there are records to look at."""
        return self.path is not None or not self.spec.facts["needs_path"]

    @cached_property
    def data(self) -> Mapping[str, Dataset]:
        """Every split that is there."""
        return {split: self.load(split) for split in self.splits}

    @property
    def records(self) -> Iterator[tuple[Dataset, Record]]:
        """Every record, with its split."""
        return ((data, record) for data in self.data.values() for record in data)

    def load(self, split: str, *, path: Path | None = None) -> Dataset:
        """Read a split, as `wl.dataset` does."""
        where = self.path if path is None else path
        settings: dict[str, Any] = dict(self.settings)
        return dataset(f"{self.spec.name}:{where or ''}", split=split, **settings)


def check_corpus(
    corpus: str | Plugin,
    *,
    path: str | Path | None = None,
    splits: tuple[str, ...] | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Check that a corpus keeps every promise of its kind.

    Args:
        corpus: Its name, or the function that is decorated with `@corpus`.
        path: Where it lies, or where a few records lie in its layout; without, only what needs no records is checked.
        splits: The splits that are there; by default all that the corpus declares, or `test`.
        settings: Settings to read it with.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    name = corpus if isinstance(corpus, str) else corpus.__name__
    run_checks(name, corpus_checks(corpus, path=path, splits=splits, settings=settings))


def corpus_checks(
    corpus: str | Plugin,
    *,
    path: str | Path | None = None,
    splits: tuple[str, ...] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Named]:
    """Yield the checks of `check_corpus` one by one, as (name, function without arguments).

    Args:
        corpus: As for `check_corpus`.
        path: As for `check_corpus`.
        splits: As for `check_corpus`.
        settings: As for `check_corpus`.
    """
    spec = registered(CORPORA, corpus)
    chosen = splits or spec.facts["splits"] or ("test",)
    return checks_of(CORPUS_CHECKS, CorpusSubject(spec, None if path is None else Path(path), chosen, settings or {}))


def it_takes_a_path_and_a_split(subject: CorpusSubject) -> None:
    """And, if it reads files that may be broken, how they are read."""
    takes = subject.spec.consumes
    known = takes in ((Path, str), (Path, str, Reading))
    promise(known, f"a corpus takes (path: Path, split: str) and perhaps a Reading, not {takes}.")


def what_is_not_there_is_refused_by_its_path(subject: CorpusSubject) -> None:
    """A folder that does not exist, and one that is empty."""
    with TemporaryDirectory() as folder:
        for path in (Path(folder) / "nowhere", Path(folder)):
            said = _refusal(subject, subject.splits[0], path=path)
            promise(said is not None, f"'{path}' holds no record and must be refused with a WhylightError; it was not.")
            promise(str(path) in str(said) and "\n" not in str(said), f"one sentence must name '{path}', not {said!r}.")


def a_split_that_does_not_exist_is_refused(subject: CorpusSubject) -> None:
    """It is not answered with another one."""
    promise(_refusal(subject, NO_SPLIT), f"the split '{NO_SPLIT}' does not exist and must be refused; it was not.")


def a_split_is_what_was_asked_for(subject: CorpusSubject) -> None:
    """By its name, and with records in it; what the corpus is called, a format leaves to its file."""
    for split, data in subject.data.items():
        promise(data.split == split, f"a data set must have the name of its split, '{split}', not '{data.split}'.")
        promise(data.name, "a data set must have a name.")
        promise(len(data), f"the split '{split}' must hold records.")


def reading_again_gives_the_same(subject: CorpusSubject) -> None:
    """In the same order, whatever the order of files in a folder is."""
    for split, data in subject.data.items():
        same = subject.load(split).fingerprint() == data.fingerprint()
        promise(same, f"reading the split '{split}' again must give the same records; it does not.")


def label_names_are_texts_and_the_same_in_each_split(subject: CorpusSubject) -> None:
    """In a fixed order, each once."""
    names = {data.label_names for data in subject.data.values()}
    promise(len(names) == 1, f"every split must have the same label names in the same order; there are {names}.")
    (own,) = names
    right = all(isinstance(name, str) for name in own) and len(set(own)) == len(own)
    promise(right, f"label names must be different texts, not {own}.")


def ids_are_different_texts(subject: CorpusSubject) -> None:
    """By which rows of a run are known."""
    for data in subject.data.values():
        ids = [record.id for record in data]
        promise(all(isinstance(one, str) for one in ids), f"ids must be texts, not {next(iter(ids))!r}.")
        promise(len(set(ids)) == len(ids), f"ids of the split '{data.split}' must differ from each other.")


def labels_are_among_the_label_names(subject: CorpusSubject) -> None:
    """At most one per record, unless the corpus says that there may be more."""
    for data, record in subject.records:
        known = set(record.labels) <= set(data.label_names)
        promise(known, f"labels of '{record.id}' must be among {data.label_names}; they are {record.labels}.")
        single = len(record.labels) <= 1 or data.multi_label
        promise(single, f"'{record.id}' has the labels {record.labels}; a corpus of several sets multi_label=True.")


def rationales_are_of_true_labels_and_slice_to_text(subject: CorpusSubject) -> None:
    """A label without evidence is absent, and every place shows something of its own text."""
    for _, record in subject.records:
        strange = set(record.rationales) - set(record.labels)
        promise(not strange, f"rationales of '{record.id}' must be for its labels, and not for {strange}.")
        for label, rationale in record.rationales.items():
            promise(rationale.places, f"'{record.id}' marks nothing for '{label}'; leave the rationale out.")
            for place in rationale.places:
                promise(_visible(record, place), f"{place} of '{record.id}' must slice to visible text of its own.")


def words_slice_to_text_in_reading_order(subject: CorpusSubject) -> None:
    """Where a corpus has words of its own."""
    for _, record in subject.records:
        words = getattr(record.example, "words", None) or ()
        promise(list(words) == sorted(words), f"the words of '{record.id}' must stand in reading order.")
        for word in words:
            promise(_visible(record, word), f"the word {word} of '{record.id}' must slice to visible text.")


def inputs_are_the_same_after_json(subject: CorpusSubject) -> None:
    """And there is something to see of each."""
    for _, record in subject.records:
        one = record.example
        promise(kind_named(one.kind).from_json(one.to_json()) == one, f"'{record.id}' must be the same after JSON.")
        promise(one.key.strip("\0 \n\t"), f"'{record.id}' must not be blank.")


def _visible(record: Record, place: object) -> bool:
    example = record.example
    if not isinstance(example, Text) or not isinstance(place, Span):
        return bool(example.show(place))
    inside = 0 <= place.part < len(example.parts) and 0 <= place.start < place.end <= len(example.parts[place.part])
    return inside and bool(example.show(place).strip())


def _refusal(subject: CorpusSubject, split: str, *, path: Path | None = None) -> str | None:
    try:
        subject.load(split, path=path)
    except WhylightError as error:
        return str(error)
    return None


def _at_hand(subject: CorpusSubject) -> bool:
    return subject.at_hand


CORPUS_CHECKS: tuple[Check[CorpusSubject], ...] = (
    *DECLARED,
    Check(it_takes_a_path_and_a_split),
    Check(what_is_not_there_is_refused_by_its_path, lambda one: bool(one.spec.facts["needs_path"])),
    Check(a_split_that_does_not_exist_is_refused, _at_hand),
    Check(a_split_is_what_was_asked_for, _at_hand),
    Check(reading_again_gives_the_same, _at_hand),
    Check(label_names_are_texts_and_the_same_in_each_split, _at_hand),
    Check(ids_are_different_texts, _at_hand),
    Check(labels_are_among_the_label_names, _at_hand),
    Check(rationales_are_of_true_labels_and_slice_to_text, _at_hand),
    Check(words_slice_to_text_in_reading_order, _at_hand),
    Check(inputs_are_the_same_after_json, _at_hand),
)
