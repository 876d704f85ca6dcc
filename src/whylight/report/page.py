"""Explanations as a web page that stands alone: no script, and nothing is fetched."""

from collections.abc import Sequence
from pathlib import Path

from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.report.cards import cards
from whylight.report.highlight import environment, shown
from whylight.store import files

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
    files.write(Path(path), html.encode("utf-8", "replace"))
