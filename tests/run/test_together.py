"""Methods that take several texts at once, in a run: the same blocks of texts however often it is stopped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import fitted
import tiny
import whylight as wl
from whylight.core.errors import InputError
from whylight.core.registry import METHODS
from whylight.explaining import explain as explaining
from whylight.explaining.explain import groups_of
from whylight.explaining.variants import Variant
from whylight.run import book, shards as module

TEXTS = 7


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(explaining, "TOGETHER", 3)
    monkeypatch.setattr(book, "WRITE_EVERY", -1.0)
    return {
        "classifier": tiny.classifier("bert", labels=["negative", "positive"]),
        "data": wl.dataset("planted:", split="dev", size=TEXTS + 1, length=8).sample(TEXTS, seed=0),
        "methods": ["marc", "occlusion"],
        "metrics": ["comprehensiveness"],
        "settings": {"steps": 8},
        "progress": False,
    }


def told(found: Any) -> list[tuple[Any, ...]]:
    keys = ("example_id", "method", "target")
    return [(*(row[key] for key in keys), row["scores"]) for row in found.explanations]


@pytest.mark.parametrize("stop", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(5, marks=pytest.mark.slow)])
def test_a_stopped_run_gives_the_same_bytes(
    stop: int, question: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = wl.evaluate(**question)
    real, blocks, done = module.work_together, list[int](), list[None]()

    def stopping(classifier: Any, records: Any, *given: Any, **options: Any) -> Iterator[Any]:
        blocks.append(len(records))
        for one in real(classifier, records, *given, **options):
            if len(done) == stop:
                done.append(None)
                raise KeyboardInterrupt
            done.append(None)
            yield one

    monkeypatch.setattr(module, "work_together", stopping)
    with pytest.raises(KeyboardInterrupt):
        wl.evaluate(**question, out=tmp_path)
    assert len(list((tmp_path / "texts").iterdir())) == stop
    again = wl.evaluate(**question, out=tmp_path)
    assert told(again) == told(whole)
    first, rest = blocks[: -(-(stop + 1) // 3)], blocks[-(-(stop + 1) // 3) :]
    assert first == [3, 3, 1][: len(first)]  # a block of which a part is done is worked on as a whole again
    assert rest == [3, 3, 1][stop // 3 :]


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([10] * 17, [16, 1]),
        ([9_000, 900, 200, 9_900, 20_000, 5], [2, 1, 1, 1, 1]),  # long texts are on their own, and so a stop costs one
        ([5_000, 5_000, 1], [2, 1]),
        ([], []),
    ],
)
def test_texts_that_are_long_together_are_worked_on_apart(sizes: list[int], groups: list[int]) -> None:
    marc, occlusion = (Variant(name, METHODS[name], {}) for name in ("marc", "occlusion"))
    found = groups_of(sizes, [occlusion, marc])
    assert [len(one) for one in found] == groups
    assert [number for one in found for number in one] == [*range(len(sizes))]
    assert groups_of(sizes, [occlusion]) == [range(i, i + 1) for i in range(len(sizes))]


def test_a_folder_knows_the_network_that_a_method_was_given_and_not_only_its_path(tmp_path: Path) -> None:
    clf = tiny.classifier("bert", labels=["negative", "positive"])
    data = wl.dataset("planted:", split="dev", size=4, length=8)
    fitted.save(fitted.attributor(clf), tmp_path / "aml")
    asked: dict[str, Any] = {"methods": ["aml"], "metrics": ["comprehensiveness"], "progress": False}
    asked |= {"settings": {"folder": str(tmp_path / "aml")}, "out": tmp_path / "run"}
    first = wl.evaluate(clf, data, **asked)
    assert told(wl.evaluate(clf, data, **asked)) == told(first)
    other = fitted.attributor(clf)
    with torch.no_grad():
        next(iter(other.network.parameters())).mul_(2.0)
    fitted.save(other, tmp_path / "aml")
    with pytest.raises(InputError, match=r"aml\.folder"):
        wl.evaluate(clf, data, **asked)
