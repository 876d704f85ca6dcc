"""The public corpora themselves, where they are at hand: counts, offsets and words."""

from functools import cache
from typing import Any

import pytest

import tiny
from shared import DATA as SHARED, needs_shared
from whylight.core.text import Text
from whylight.data.dataset import Dataset
from whylight.data.load import dataset
from whylight.models.tokenised import encode

pytestmark = needs_shared

COUNTS = {
    ("sst", "sst_trees"): {"train": 6920, "dev": 872, "test": 1821},
    ("sst2", "sst2"): {"train": 67349, "dev": 872, "test": 1821},
    ("eraser", "eraser_movies"): {"train": 1600, "dev": 200, "test": 199},
    ("codiesp", "codiesp"): {"train": 500, "dev": 250, "test": 250},
    ("esnli", "esnli_dev"): {"dev": 6351},
    ("emotion", "emotion"): {"train": 16000, "dev": 2000, "test": 2000},
    ("rt_polarity", "rt_polarity"): {"train": 8530, "dev": 1066, "test": 1066, "all": 10662},
    ("imdb", "imdb"): {"train": 5000, "test": 5000},
    ("yelp", "yelp_1k"): {"test": 1000},
}
WITH_RATIONALES = {"sst", "eraser", "codiesp", "esnli"}


def _splits(*names: str) -> Any:
    """Parametrise by the splits of corpora; training splits are as the others are, only longer."""
    cases = [(name, folder, split) for (name, folder), counts in COUNTS.items() for split in counts if name in names]
    marked = [pytest.param(*case, marks=[pytest.mark.slow] if case[2] == "train" else []) for case in cases]
    return pytest.mark.parametrize(("name", "folder", "split"), marked)


every_split = _splits(*(name for name, _ in COUNTS))
with_rationales = _splits(*WITH_RATIONALES)


@cache
def _load(name: str, folder: str, split: str) -> Dataset:
    return dataset(f"{name}:{SHARED / folder}", split=split)


@every_split
def test_counts_are_those_of_the_corpus(name: str, folder: str, split: str) -> None:
    data = _load(name, folder, split)
    assert len(data) == COUNTS[name, folder][split]
    assert len({record.id for record in data}) == len(data)
    assert {label for record in data for label in record.labels} <= set(data.label_names)
    assert all(record.example.text.strip() for record in data)
    assert any(record.rationales for record in data) == (name in WITH_RATIONALES)


@with_rationales
def test_every_span_slices_to_visible_text_within_its_own(name: str, folder: str, split: str) -> None:
    for record in _load(name, folder, split):
        for label, rationale in record.rationales.items():
            assert label in record.labels
            assert rationale.places
            for span in rationale.places:
                assert 0 <= span.start < span.end <= len(record.example.parts[span.part])
                assert record.example.show(span).strip()


@every_split
def test_words_cover_the_text(name: str, folder: str, split: str) -> None:
    sample = _load(name, folder, split).sample(8, seed=0)
    for record in sample:
        encoded = encode(tiny.tokenizer(), record.example, unit="word", long="window", limit=256)
        if record.example.words is not None:
            assert encoded.places == record.example.words
        for rationale in record.rationales.values():
            assert Text("").marks(rationale.places, encoded.places).any()


@pytest.mark.parametrize("split", [pytest.param("train", marks=pytest.mark.slow), "dev", "test"])
def test_movie_evidence_is_the_text_of_its_tokens(split: str) -> None:
    data = _load("eraser", "eraser_movies", split)
    assert not any("not those of their tokens" in note for note in data.notes)
    assert data.label_names == ("negative", "positive")
    assert all(record.example.pair is None for record in data)


@pytest.mark.slow
def test_movie_rationales_are_whole_words_with_the_published_shares() -> None:
    shares = {}
    for split in ("train", "test"):
        sample = _load("eraser", "eraser_movies", split).with_rationales().sample(60, seed=0)
        marked = total = 0
        for record in sample:
            words = record.example.words
            assert words is not None
            starts, ends = {word.start for word in words}, {word.end for word in words}
            (rationale,) = record.rationales.values()
            assert all(span.start in starts and span.end in ends for span in rationale.places)
            marked += int(Text("").marks(rationale.places, words).sum())
            total += len(words)
        shares[split] = marked / total
    assert shares["train"] == pytest.approx(0.09, abs=0.02)
    assert shares["test"] == pytest.approx(0.31, abs=0.04)


def test_codiesp_has_the_published_number_of_codes() -> None:
    train = _load("codiesp", "codiesp", "train")
    assert len({label for record in train for label in record.labels}) == 1767
    assert all(set(record.rationales) == set(record.labels) for record in train)
    assert "2 mentions differ from their annotated text" in train.notes
    top = dataset(f"codiesp:{SHARED / 'codiesp'}", split="test", top=20)
    assert len(top.label_names) == 20
    assert top.label_names == dataset(f"codiesp:{SHARED / 'codiesp'}", split="train", top=20).label_names


def test_sst_phrases_are_a_stricter_rationale_than_none() -> None:
    phrases = dataset(f"sst:{SHARED / 'sst_trees'}", split="dev", rationale="phrases")
    assert len(phrases) == 872
    assert 0.9 < len(phrases.with_rationales()) / len(phrases) < 1
    for record in phrases.with_rationales():
        (rationale,) = record.rationales.values()
        words = record.example.words
        assert words is not None
        assert all(2 * len(record.example.show(span).split(" ")) <= len(words) for span in rationale.places)
