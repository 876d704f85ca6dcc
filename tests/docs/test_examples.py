"""What the documentation shows is run: notebooks, the Python of guides, and the examples of public docstrings.

`make test-docs` runs these; they need what the extra `docs` brings, and minutes.
"""

import doctest
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow
from transformers import ViTImageProcessorPil
from written_pages import DOCS, ROOT

import whylight as wl
from images.pictures import picture
from images.test_image_peers import classifier
from whylight import testing
from whylight.models.load import BUNDLED

pytestmark = pytest.mark.docs

NOTEBOOKS = [DOCS / "start.md", *(path for path in sorted(DOCS.glob("tutorials/*.md")) if path.stem != "index")]
GUIDES = [path for path in (ROOT / "README.md", *sorted(DOCS.glob("howto/*.md"))) if "```python\n" in path.read_text()]
PUBLIC = {**{f"wl.{name}": getattr(wl, name) for name in wl.__all__}, "whylight.testing": testing}
EXAMPLES = {name: value for name, value in PUBLIC.items() if ">>>" in (inspect.getdoc(value) or "")}
LONGEST = 600
"""Seconds that a notebook may take."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder: their reviews, a photo, and models of their own."""
    shutil.copy(ROOT / "examples" / "reviews.jsonl", tmp_path)
    shutil.copytree(BUNDLED, tmp_path / "my-model")
    classifier("vit", large=True).model.save_pretrained(tmp_path / "my-image-model")
    ViTImageProcessorPil(size={"height": 28, "width": 28}).save_pretrained(tmp_path / "my-image-model")
    Pillow.fromarray(picture(60, 80).array).save(tmp_path / "cat.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_public_function_has_an_example() -> None:
    functions = {name for name, value in PUBLIC.items() if inspect.isfunction(value)}
    assert functions - EXAMPLES.keys() == set()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.usefixtures("folder")
def test_the_example_of_a_docstring_says_what_comes_out(name: str) -> None:
    value = EXAMPLES[name]
    module: Any = sys.modules[value.__module__] if not inspect.ismodule(value) else value
    found = doctest.DocTestFinder(recurse=False).find(value, name, module=module, globs=dict(vars(module)))
    results = [doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(one) for one in found]
    assert sum(len(one.examples) for one in found) > 0
    assert sum(one.failed for one in results) == 0


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_python_of_a_guide_runs(page: Path, folder: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks).replace("path-or-hub-id", "my-model")
    (folder / "page.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_a_notebook_runs_to_its_end(page: Path, tmp_path: Path) -> None:
    import jupytext  # noqa: PLC0415  comes with the extra `docs`
    from nbclient import NotebookClient  # noqa: PLC0415
    from notebooks import LocalKernelManager  # noqa: PLC0415

    book = jupytext.read(page)
    where = {"metadata": {"path": str(tmp_path)}}
    os.environ |= {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    NotebookClient(book, timeout=LONGEST, resources=where, kernel_manager_class=LocalKernelManager).execute()
    assert sum(bool(cell.get("outputs")) for cell in book.cells) > 3
