"""Explanations as a web page that stands alone, or as a part of a notebook: no script, and nothing is fetched."""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.core.inputs import common_noun
from whylight.report.cards import Card, cards
from whylight.report.renderers import styles_of
from whylight.report.templating import environment
from whylight.store import files

TITLE = "Why this label?"
WORDS_IN_NOTEBOOK = 10_000
"""Words that a cell of a notebook shows, counted once for each label and method: it is stored with the notebook."""


def page(explanations: Sequence[Explanation], *, title: str = TITLE, evidence: int = SPANS) -> str:
    """Return a complete HTML document.

    Args:
        explanations: What to show; those of the same text are placed below each other.
        title: Heading and window title.
        evidence: How many evidence spans are listed for each label and method at most; 0 for none.
    """
    methods = list(dict.fromkeys(one.provenance.method for one in explanations))
    models = list(dict.fromkeys(one.provenance.model for one in explanations))
    variables = page_variables(cards(explanations, evidence=evidence))
    return environment().get_template("page.html").render(variables, title=title, methods=methods, models=models)


def fragment(explanations: Sequence[Explanation]) -> str:
    """Return explanations as HTML to be placed in a notebook cell, in colours that follow the notebook's theme.

    Of very many, those of the first inputs are shown, and a sentence counts the others.
    """
    shown = first_few(explanations, words=WORDS_IN_NOTEBOOK)
    left = len(explanations) - len(shown)
    more = f"{left:,} more are not shown here; .save writes a page with all of them." if left else ""
    return environment().get_template("fragment.html").render(page_variables(cards(shown)), more=more)


def first_few(explanations: Sequence[Explanation], *, words: int) -> Sequence[Explanation]:
    """Return the first explanations, at least one, that together have no more features than that over all labels."""
    sizes = [len(one.places) * (len(one.targets) if one.provenance.class_specific else 1) for one in explanations]
    return explanations[: max(1, sum(total <= words for total in accumulate(sizes)))]


def write_page(path: str | Path, html: str) -> None:
    """Write a page to a file, which at every moment holds either its old content or all of the new one.

    Args:
        path: The file; its directory must exist.
        html: What to write.

    Raises:
        InputError: The file cannot be written there.
    """
    files.write(Path(path), html.encode("utf-8", "replace"))


def page_variables(all_cards: list[Card]) -> dict[str, object]:
    """Return the variables that page and fragment need."""
    rows = [row for card in all_cards for section in card.sections for row in section.rows]
    return {
        "cards": all_cards,
        "any_signed": any(row.signed for row in rows),
        "any_unsigned": any(not row.signed for row in rows),
        "any_coloured": not all(card.manner.once for card in all_cards),
        "any_layers": any(row.stacked for row in rows),
        "noun": common_noun(row.kind for row in rows),
        "styles": styles_of(row.kind for row in rows),
    }
