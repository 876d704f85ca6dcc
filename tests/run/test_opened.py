"""A run is opened again, and compared, from Python as from the command line."""

from pathlib import Path
from typing import Any

import pytest

import tiny
import whylight as wl
from whylight.core.errors import InputError, WhylightError
from whylight.run.evaluation import Evaluation


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Evaluation]:
    folder = tmp_path_factory.mktemp("runs") / "planted"
    clf = tiny.classifier("bert", labels=["negative", "positive"])
    data = wl.dataset("planted:", split="dev", size=12, length=7)
    return folder, wl.evaluate(clf, data, methods=["occlusion", "ixg"], out=folder, progress=False)


def test_a_run_that_is_opened_again_is_what_it_was(made: tuple[Path, Evaluation]) -> None:
    folder, found = made
    again = wl.open_run(folder)
    assert list(again.explanations) == list(found.explanations)
    assert (again.records(), again.asked, again.rows_run) == (found.records(), found.asked, found.rows_run)


def test_a_run_is_compared_from_memory_from_its_folder_and_by_the_command(
    made: tuple[Path, Evaluation], cli: Any
) -> None:
    folder, found = made
    held, read = (wl.compare(one, "occlusion", against="ixg") for one in (found, folder))
    assert repr(held) == repr(read)
    assert (held.first, held.second) == ("occlusion", "input_x_gradient")
    code, out, _ = cli("compare", str(folder), "--method", "occlusion", "--against", "ixg")
    assert code == 0
    for one in held.comparisons:
        assert f"{one.difference.mean:+.3f}" in out
    assert set(wl.compare(found, "ixg").to_frame()["metric"]) == {one.metric for one in held.comparisons}
    assert wl.compare(found, "ixg").second == "random"
    (same, *_) = wl.compare(found, "ixg", other=folder).comparisons
    assert same.difference.mean == 0


def test_what_is_no_run_is_said(tmp_path: Path, made: tuple[Path, Evaluation]) -> None:
    with pytest.raises(InputError, match="holds no run"):
        wl.open_run(tmp_path)
    with pytest.raises(InputError, match="holds no run"):
        wl.compare(tmp_path / "nowhere", "lime")
    with pytest.raises(WhylightError, match="lime"):
        wl.compare(made[1], "lime")


def test_every_command_that_computes_has_its_call() -> None:
    assert {"audit", "compare", "evaluate", "explain", "fit", "recommend", "roar", "train", "tune"} <= set(wl.__all__)
    assert all(callable(getattr(wl, name)) for name in ("compare", "open_run", "recommend", "tune"))
