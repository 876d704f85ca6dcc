"""Make the figures of the gallery, by the very lines that stand above them there.

    python scripts/make_plots.py

Every block of Python in `docs/gallery.md` is run, in order; the figure that its last line makes goes to the picture
below the block. Needs what the extra `plot` brings.
"""

import ast
import contextlib
import re
from pathlib import Path
from typing import Any

from small_pictures import in_few_colours

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery.md"
DOTS_PER_INCH = 110
_STEP = re.compile(r"```python\n(.*?)```(?:\n+```\{image\} (\S+))?", re.DOTALL)


def steps(page: str) -> list[tuple[str, str]]:
    """Return the blocks of a page, each with the picture right below it, or "" if there is none."""
    return _STEP.findall(page)


def last_value(code: str, names: dict[str, Any]) -> Any:  # noqa: ANN401  whatever the line makes
    """Run a block, and return what its last line is worth."""
    *before, last = ast.parse(code).body
    exec(compile(ast.Module(before, []), "gallery", "exec"), names)  # noqa: S102  our own page
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), "gallery", "exec"), names)  # noqa: S102
        return None
    return eval(compile(ast.Expression(last.value), "gallery", "eval"), names)  # noqa: S307


def main() -> None:
    """Make all of them."""
    names: dict[str, Any] = {}
    with contextlib.chdir(ROOT / "examples"):
        for code, picture in steps(GALLERY.read_text(encoding="utf-8")):
            value = last_value(code, names)
            if picture:
                out = GALLERY.parent / picture
                value.savefig(out, dpi=DOTS_PER_INCH)
                in_few_colours(out)
                print(f"{picture}: {out.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
