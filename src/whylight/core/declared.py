"""Names of plug-ins, read from the files that declare them: nothing is imported, so that it takes next to no time.

Plug-ins of other packages are not among them: where their files are, only importing says.
"""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

DECORATORS = ("method", "metric", "objective", "remover", "corpus")


def declared_names(package: str) -> list[str]:
    """Return the names of the plug-ins that the public modules of a package declare, in the order of the alphabet.

    Args:
        package: Dotted name, e.g. `"whylight.methods"`.
    """
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    files = [file for folder in folders for file in Path(folder).glob("*.py") if not file.name.startswith("_")]
    return sorted(name for file in files for name in _declared_in(file.read_text(encoding="utf-8")))


def _declared_in(source: str) -> Iterator[str]:
    """Yield the functions of a module that a decorator registers."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            called = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
            if any(isinstance(one, ast.Name) and one.id in DECORATORS for one in called):
                yield node.name
