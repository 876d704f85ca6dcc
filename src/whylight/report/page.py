"""Explanations as a web page that stands alone: no script, and nothing is fetched."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.report.cards import cards
from whylight.report.highlight import environment, shown

TITLE = "Why this label?"


def page(explanations: Sequence[Explanation], *, title: str = TITLE, evidence: int = SPANS) -> str:
    """Return a complete HTML document.

    Args:
        explanations: What to show; those of the same text are placed below each other.
        title: Heading and window title.
        evidence: How many evidence spans are listed for each label and method at most; 0 for none.
    """
    methods = list(dict.fromkeys(one.provenance.method for one in explanations))
    models = list(dict.fromkeys(one.provenance.model for one in explanations))
    variables = shown(cards(explanations, evidence=evidence))
    return environment().get_template("page.html").render(variables, title=title, methods=methods, models=models)


def write(path: str | Path, html: str) -> None:
    """Write a page to a file, which at every moment holds either its old content or all of the new one.

    Args:
        path: The file; its directory must exist.
        html: What to write.

    Raises:
        InputError: The file cannot be written there.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot write '{target}': there is no directory '{target.parent}'.")
    if target.is_dir():
        raise InputError(f"cannot write '{target}': it is a directory, not a file.")
    try:
        _replace(target, html)
    except OSError as error:
        raise InputError(f"cannot write '{target}': {error.strerror or error}.") from None


def _replace(target: Path, html: str) -> None:
    """Write beside the target, then rename: only within a directory is that one step."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(html)
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _mode(target: Path) -> int:
    """Return the permissions that an ordinary write would leave; a temporary file is private otherwise."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
