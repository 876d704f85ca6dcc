"""A notebook with a cell for each thing that people do there: all cells run, and no output floods the page."""

from pathlib import Path
from typing import Any

import jupytext
import pytest
import rich.console
from nbclient import NotebookClient

import whylight

SOURCE = Path(__file__).with_name("notebook.md")
MOST_LINES, MOST_CHARACTERS = 60, 20_000
REVIEWS = {
    "positive": ("warm", "gripping", "a delight", "very funny", "sharp and moving", "superb"),
    "negative": ("dull", "a mess", "boring", "far too long", "stupid and loud", "a waste of time"),
}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place, patch = tmp_path_factory.mktemp("notebook"), pytest.MonkeyPatch()
    rows = [f'"The film was {said}.",{label}' for label, every in REVIEWS.items() for said in every]
    (place / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    patch.setenv("PYTHONPATH", str(Path(whylight.__file__).parents[1]))  # the kernel is a process of its own
    found = jupytext.read(SOURCE)
    NotebookClient(found, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(place)}}).execute()
    patch.undo()
    return found


def cells(found: Any) -> list[Any]:
    return [cell for cell in found.cells if cell.cell_type == "code"]


def plain(output: Any) -> str:
    """What a page without HTML would show of an output."""
    return str(output["text"] if output.output_type == "stream" else output["data"].get("text/plain", ""))


@pytest.mark.slow
def test_every_cell_shows_something_and_none_floods_the_page(executed: Any) -> None:
    assert len(cells(executed)) == 12
    for cell in cells(executed):
        texts = [plain(output) for output in cell.outputs]
        assert any(texts) or "save" in cell.source, cell.source
        for text in texts:
            assert len(text) <= MOST_CHARACTERS, cell.source
            assert len(text.splitlines()) <= MOST_LINES, cell.source


@pytest.mark.slow
def test_a_cell_shows_its_value_once(executed: Any) -> None:
    for cell in cells(executed):
        shown = [output.output_type for output in cell.outputs if output.output_type != "stream"]
        assert shown == ([] if "save" in cell.source else ["execute_result"]), cell.source


def test_text_for_a_result_is_not_shown_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: pytest.fail("shown beside the result"))
    assert "planted" in repr(whylight.dataset("planted:", size=2))


@pytest.mark.slow
def test_pages_of_results_hold_no_code_of_the_text(executed: Any) -> None:
    pages = [
        output["data"].get("text/html", "") for cell in cells(executed) for output in cell.outputs if "data" in output
    ]
    shown = [page for page in pages if "wonderful" in page]
    assert shown
    assert not any("<b>wonderful" in page for page in shown)
    assert not any("<script" in page for page in pages)
