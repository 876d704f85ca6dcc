"""Planted evidence: the rule, written down a second time, gives the label and the rationale."""

import zlib
from itertools import pairwise, product

import pytest

from whylight.core.errors import SettingError
from whylight.core.segment import words as usual_words
from whylight.data.dataset import Dataset, Record
from whylight.data.load import dataset

NEGATIVE = {"dreadful", "clumsy", "tedious"}
POSITIVE = {"splendid", "graceful", "charming"}
TOPICS = {
    "music": ["violin", "melody", "drummer"],
    "sport": ["goalkeeper", "sprint", "racket"],
    "cooking": ["saucepan", "garlic", "oven"],
    "travel": ["luggage", "passport", "harbour"],
}
VARIANTS = ("single", "redundant", "negated", "conjunctive")
KINDS = list(product(VARIANTS, (False, True)))


def _make(variant: str, *, many: bool = False, **settings: object) -> Dataset:
    return dataset("planted:", variant=variant, multi_label=many, length=30, **settings)


def _class_by_rule(words: list[str], variant: str) -> str:
    if variant == "conjunctive":
        return "positive" if {"amber", "violet"} <= set(words) else "negative"
    votes = set()
    for before, word in pairwise(["", *words]):
        if word in POSITIVE | NEGATIVE:
            votes.add((word in POSITIVE) != (before == "not"))
    assert len(votes) == 1
    return "positive" if votes.pop() else "negative"


def _topics_by_rule(words: list[str], variant: str) -> set[str]:
    if variant == "conjunctive":
        return {label for label, triggers in TOPICS.items() if set(triggers[:2]) <= set(words)}
    plain = {word for before, word in pairwise(["", *words]) if before != "not"}
    return {label for label, triggers in TOPICS.items() if plain & set(triggers)}


def _marked(record: Record, label: str) -> list[str]:
    return [word for span in record.rationales[label].places for word in record.example.show(span).split()]


@pytest.mark.parametrize(("variant", "many"), KINDS)
def test_the_rule_gives_the_labels(variant: str, many: bool) -> None:  # noqa: FBT001
    for record in _make(variant, many=many):
        words = record.example.text.split()
        assert len(words) == 30
        if many:
            assert set(record.labels) == _topics_by_rule(words, variant)
        else:
            assert record.labels == (_class_by_rule(words, variant),)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rationales_are_the_words_that_decide(variant: str) -> None:
    for record in _make(variant):
        (label,) = record.labels
        triggers = [w for w in record.example.text.split() if w in POSITIVE | NEGATIVE | {"amber", "violet"}]
        if variant == "conjunctive" and label == "negative":
            assert record.rationales == {}
            assert len(triggers) == 1
            continue
        marked = _marked(record, label)
        assert [word for word in marked if word != "not"] == triggers
        assert len(triggers) in {"single": (1,), "redundant": (2, 3), "negated": (1,), "conjunctive": (2,)}[variant]
        assert ("not" in marked) == (f"not {triggers[0]}" in record.example.text)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rationales_of_topics_are_their_own_words(variant: str) -> None:
    for record in _make(variant, many=True):
        assert set(record.rationales) == set(record.labels)
        for label in record.labels:
            marked = _marked(record, label)
            assert marked
            assert set(marked) <= set(TOPICS[label])


@pytest.mark.parametrize(("variant", "many"), KINDS)
def test_classes_are_balanced(variant: str, many: bool) -> None:  # noqa: FBT001
    data = _make(variant, many=many)
    for label in data.label_names:
        assert sum(label in record.labels for record in data) == 100


def test_not_is_in_every_negated_document_and_flips_about_half() -> None:
    data = _make("negated")
    assert all(record.example.text.split().count("not") == 1 for record in data)
    flipped = sum("not" in _marked(record, record.labels[0]) for record in data)
    assert 60 < flipped < 140


@pytest.mark.parametrize(("variant", "many"), KINDS)
def test_same_settings_same_documents_and_no_document_in_two_splits(variant: str, many: bool) -> None:  # noqa: FBT001
    splits = {split: _make(variant, many=many, split=split) for split in ("train", "dev", "test")}
    assert splits["test"] == _make(variant, many=many)
    assert splits["test"].records != _make(variant, many=many, seed=1).records
    texts = [{record.example.text for record in data} for data in splits.values()]
    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]


def test_the_checksum_of_a_text_names_its_split_so_that_no_seed_can_mix_them() -> None:
    for number, split in enumerate(("train", "dev", "test")):
        for record in dataset("planted:", split=split, length=7, seed=number):
            assert zlib.crc32(record.example.text.encode()) % 3 == number


def test_words_are_those_of_the_usual_cut() -> None:
    example = _make("single")[0].example
    assert example.words is not None
    assert [(word.start, word.end) for word in example.words] == usual_words(example.text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 3}, "'length' must be at least 7"),
        ({"length": 12, "multi_label": True, "variant": "redundant"}, "'length' must be at least 17"),
        ({"size": 3}, "'size' must be an even number"),
        ({"size": 0}, "'size' must be an even number"),
        ({"variant": "double"}, "single, redundant, negated, conjunctive"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        dataset("planted:", **settings)
