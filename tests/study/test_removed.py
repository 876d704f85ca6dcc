"""Texts without their top words: how many go and which, and who writes what stands in their place."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import masked
import planted_model
import quick
import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.store.tables import Row
from whylight.study.removed import removable, removed_count, text_removal, without_top


def dataset(*texts: str | Text) -> Dataset:
    examples = [Text(one) if isinstance(one, str) else one for one in texts]
    return Dataset("few", "train", ("0", "1"), tuple(Record(str(i), one, ("0",)) for i, one in enumerate(examples)))


def rows(clf: Any, data: Dataset, method: str = "occlusion") -> list[Row]:
    return list(wl.evaluate(clf, data, methods=[method], metrics=(), progress=False).explanations)


def row(number: int, text: str, scores: list[float], method: str = "m") -> Row:
    ends = np.cumsum([len(word) + 1 for word in text.split()])
    places = [[0, int(end) - 1 - len(word), int(end) - 1] for word, end in zip(text.split(), ends, strict=True)]
    return {"example_id": str(number), "method": method, "places": places, "scores": scores}


def delete(clf: Any = None) -> Any:
    return text_removal(clf or quick.classifier("bert"), "delete", {})


@given(share=st.floats(0.01, 1), n=st.integers(2, 400))
def test_at_least_one_word_goes_and_at_least_one_stays(share: float, n: int) -> None:
    count = removed_count(share, n)
    assert 1 <= count <= n - 1
    assert count - 1 <= share * (n - 1) <= max(1, count) + 1e-6


def test_the_count_is_that_of_the_published_code() -> None:
    counts = {n: [removed_count(share, n) for share in (0.1, 0.2, 0.3)] for n in (2, 11, 12, 21, 31)}
    assert counts == {2: [1, 1, 1], 11: [1, 2, 3], 12: [2, 3, 4], 21: [2, 4, 6], 31: [3, 6, 9]}
    assert removed_count(0.29, 101) == 29  # 0.29 * 100 is 28.999999999999996


def test_the_highest_signed_scores_go_and_ties_in_reading_order() -> None:
    text = "a b c d e f"
    data = dataset(text, text)
    given_rows = [
        row(0, text, [0.0, -9.0, 2.0, 1.0, 2.0, 2.0]),
        row(0, text, [9.0, 0.0, 0.0, 0.0, 0.0, 0.0], "other"),
        row(1, text, [-3.0, -2.0, -2.0, -1.0, -4.0, -5.0]),
    ]
    found = without_top(data, given_rows, method="m", share=0.4, removal=delete())
    assert [record.example.text for record in found] == ["a b d f", "a c e f"]  # type: ignore[attr-defined]
    assert [record.labels for record in found] == [record.labels for record in data]
    assert [record.id for record in found] == ["0", "1"]
    assert found.notes == ("delete took the top 40% of the words of each text, by m",)


def test_the_decisive_word_goes_and_nothing_else() -> None:
    clf, data = planted_model.ruled(), planted_model.texts("train", 12)
    found = without_top(data, rows(clf, data), method="occlusion", share=0.1, removal=delete(clf))
    for before, after in zip(data, found, strict=True):
        words = [word for word in before.example.key.split() if word not in planted_model.DECISIVE]
        assert after.example.key.split() == words


def test_infill_writes_the_likeliest_words_and_leaves_the_rest_as_it_is() -> None:
    clf, data = planted_model.ruled(), planted_model.texts("train", 3)
    explained = rows(clf, data)
    settings = {"model": masked.folder()}
    for share, modes in ((0.1, ("auto", "marginal", "top1")), (0.3, ("auto", "top1"))):
        texts = []
        for mode in modes:
            removal = text_removal(clf, "infill", {**settings, "mode": mode})
            found = without_top(data, explained, method="occlusion", share=share, removal=removal)
            texts.append([record.example.key.split() for record in found])
        assert all(one == texts[0] for one in texts)  # of weighted draws, the likeliest is the first choice
        for before, after in zip(data, texts[0], strict=True):
            old = before.example.key.split()
            changed = [new for one, new in zip(old, after, strict=True) if one != new]
            assert 1 <= len(changed) <= removed_count(share, len(old))


def test_explanations_of_other_texts_are_refused() -> None:
    with pytest.raises(InputError, match="'0' has no explanation at its place"):
        without_top(dataset("a b"), [row(7, "a b", [1.0, 0.0])], method="m", share=0.1, removal=delete())


@pytest.mark.parametrize("name", ["mask", "unk", "pad", "zero"])
def test_a_remover_of_tokens_writes_no_text(name: str) -> None:
    with pytest.raises(SettingError, match=f"'{name}' changes tokens.*use delete or infill"):
        text_removal(quick.classifier("bert"), name, {})


def test_texts_of_one_word_are_left_out_and_pairs_refused() -> None:
    found = removable(dataset("good", "a good film", "?"))
    assert [record.id for record in found] == ["1"]
    assert found.losses == found.notes
    assert "2 of train that have one word" in found.notes[0]
    assert "'0' (\"good\"), '2' (\"?\")" in found.notes[0]
    assert removable(dataset("a film")).notes == ()
    with pytest.raises(InputError, match="no text of two words"):
        removable(dataset("good"))
    with pytest.raises(InputError, match="pairs of texts"):
        removable(dataset(Text("a film", "a plot")))
