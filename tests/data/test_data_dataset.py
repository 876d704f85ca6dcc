"""Records and data sets: samples keep their order, and what was left out is noted."""

import pytest

from whylight.core.errors import SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record


def _dataset(size: int) -> Dataset:
    marked = {"a": Rationale((Span(0, 0, 4),))}
    records = tuple(Record(str(i), Text(f"text {i}"), ("a",), marked if i % 3 == 0 else {}) for i in range(size))
    return Dataset("made up", "test", ("a", "b"), records, notes=("first",))


def test_a_data_set_is_a_sequence_of_records() -> None:
    data = _dataset(5)
    assert len(data) == 5
    assert [record.id for record in data] == ["0", "1", "2", "3", "4"]
    assert data[-1].id == "4"


def test_a_sample_is_seeded_ordered_without_repetition_and_noted() -> None:
    data = _dataset(100)
    sample = data.sample(20, seed=1)
    ids = [int(record.id) for record in sample]
    assert len(set(ids)) == 20
    assert ids == sorted(ids)
    assert sample == data.sample(20, seed=1)
    assert sample.records != data.sample(20, seed=2).records
    assert sample.notes == ("first", "sample of 20 of 100 records, seed 1")
    assert (sample.name, sample.split, sample.label_names) == (data.name, data.split, data.label_names)
    assert data.notes == ("first",)


def test_a_sample_that_is_too_large_says_so() -> None:
    sample = _dataset(3).sample(10, seed=0)
    assert len(sample) == 3
    assert "all 3" in sample.notes[-1]
    with pytest.raises(SettingError, match="at least one"):
        _dataset(3).sample(0, seed=0)


def test_with_rationales_keeps_what_has_one() -> None:
    data = _dataset(10).with_rationales()
    assert [record.id for record in data] == ["0", "3", "6", "9"]
    assert "4 of 10" in data.notes[-1]
