"""A method gets a new setting that nobody sets: runs from before it go on, grow, and are verified."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grown
import pytest
from test_driving import TEXTS, model, written

import whylight as wl
from whylight.core.errors import InputError
from whylight.core.registry import METHODS
from whylight.run.running import run_corpus
from whylight.run.verifying import verify
from whylight.store import runs


@contextmanager
def before_the_setting(name: str) -> Iterator[None]:
    """Let `occlusion` be as it was before it had a setting, so that folders are written as they were then."""
    with pytest.MonkeyPatch.context() as patch:
        spec = METHODS["occlusion"]
        patch.setitem(
            METHODS._specs,
            "occlusion",
            replace(spec, settings={own: one for own, one in spec.settings.items() if own != name}),
        )
        yield


def asked_of(folder: Path) -> Any:
    return json.loads((folder / runs.MANIFEST).read_text())["asked"]


def test_a_folder_from_before_the_setting_stride_goes_on_and_grows(tmp_path: Path) -> None:
    clf, out = grown.classifier(), tmp_path / "run"
    asked: dict[str, Any] = {"metrics": ["aopc_sufficiency"]}
    with before_the_setting("stride"):
        first = grown.run(clf, out, **asked)
    assert asked_of(out)["methods"]["occlusion"] == {"window": 1}
    bytes_before, rows_run = grown.contents(out), first.rows_run
    again = grown.run(clf, out, **asked)
    assert grown.contents(out) == bytes_before, "nothing is computed again"
    assert again.rows_run == rows_run
    more = grown.run(clf, out, methods=["occlusion", "lime[samples=5]"], **asked)
    assert bytes_before.items() <= grown.contents(out).items()
    assert {row["method"] for row in more.scores} >= {"occlusion", "lime[samples=5]"}
    with pytest.raises(InputError, match=r"occlusion.stride"):
        grown.run(clf, out, methods=["occlusion"], settings={"occlusion.window": 2, "occlusion.stride": 2}, **asked)


def test_a_stopped_folder_from_before_the_setting_is_completed(tmp_path: Path) -> None:
    clf, data, out = grown.classifier(), grown.texts(size=6), tmp_path / "run"
    with before_the_setting("stride"):
        grown.run(clf, out, data=replace(data, records=data.records[:3]))
    found = grown.run(clf, out, data=data)
    whole = grown.run(clf, None, data=data)
    values = [
        [(row["example_id"], row["method"], row["metric"], row["value"]) for row in own.scores]
        for own in (found, whole)
    ]
    assert values[0] == values[1]


def test_a_run_from_before_the_setting_is_verified_and_compared(tmp_path: Path) -> None:
    data, out = written(tmp_path / "texts.jsonl"), tmp_path / "run"
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_sufficiency"], "progress": False}
    with before_the_setting("stride"):
        run_corpus(model(), data, out=out, **asked)
    found = verify(out, lambda _: model(), rows=4)
    assert (found.texts, found.differing, found.same) == (4, (), found.rows)
    run_corpus(model(), data, out=tmp_path / "new", **asked)
    (one,) = wl.compare(out, "occlusion", other=tmp_path / "new").comparisons
    assert (one.difference.mean, one.difference.texts) == (0, len(TEXTS))
    with before_the_setting("window"):
        run_corpus(model(), data, out=tmp_path / "other", **asked)
    assert verify(tmp_path / "other", lambda _: model(), rows=4).differing, "a setting that is set does count"
