"""The reference, written anew at every build from registries, signatures and the parser of the command line.

So a new plug-in, option or public name has its page with no other edit. Pages go to folders of `docs/reference`, which
git ignores; those of what is gone are removed.
"""

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from command_pages import command_pages
from name_pages import name_pages
from plugin_pages import plugin_pages
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import stringify_annotation

import whylight as wl

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "reference"
_FORMULA = re.compile(r"^(\S.*[^:\n])\n\n( {4,}\S)", re.MULTILINE)
_BACKTICKS = re.compile(r"(?<![:`\w])`([^`]+)`(?!`)")
_RETURNS = re.compile(r"^(Returns:\n {4})(\S)", re.MULTILINE)


def reference_pages() -> dict[str, str]:
    """Return every page, by its path below `reference/`."""
    return plugin_pages() | command_pages() | name_pages()


def write_reference(_: "Sphinx | None" = None, *, folder: Path = FOLDER) -> None:
    """Write the pages that are new or have changed, and remove the others."""
    pages = reference_pages()
    for path in folder.glob("*/*.md"):
        if str(path.relative_to(folder)) not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def marked(_app: object, _what: str, _name: str, value: object, _options: object, lines: list[str]) -> None:
    """Turn a docstring, in place, into what Sphinx reads: formulas are literal, backticks code, returns have a type."""
    text = _FORMULA.sub(r"\1\n\n::\n\n\2", "\n".join(lines))
    text = _BACKTICKS.sub(r"``\1``", text)
    if inspect.isfunction(value):
        returned = stringify_annotation(inspect.signature(value).return_annotation, "smart")
        text = _RETURNS.sub(lambda found: f"{found[1]}{returned}: {found[2]}", text)
    lines[:] = text.split("\n")


def forget_overloads(_: "Sphinx") -> None:
    """Have functions shown by the one signature that does the work."""
    for name in wl.__all__:
        value = getattr(wl, name)
        module = getattr(value, "__module__", value.__name__)  # of a function or class, or a module itself
        ModuleAnalyzer.for_module(module).analyze()
        ModuleAnalyzer.for_module(module).overloads.clear()


def setup(app: "Sphinx") -> dict[str, Any]:
    """Register what Sphinx is to call."""
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", forget_overloads)
    app.connect("autodoc-process-docstring", marked, priority=100)  # before napoleon, which reads the sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}
