"""A first look: a few reviews, several methods, the bundled model.

Prints highlights to the terminal and writes demo.html; `make demo` runs it.
"""

from pathlib import Path

import whylight as wl
from whylight.explaining.console import Console, say
from whylight.report import page, terminal

REVIEWS = (
    "A gripping, moving film, though the ending drags.",
    "Two hours of lifeless jokes that not even its charming lead can save.",
    "I expected another dull sequel. What I got was funny, sharp and surprisingly tender.",
)
METHODS = ("integrated_gradients", "lime", "attingrad", "occlusion")
OUT = Path("demo.html")


def main() -> None:
    """Explain the reviews, show them and write the page."""
    classifier = wl.load()
    explanations = wl.explain(classifier, list(REVIEWS), method=list(METHODS))
    terminal.render(explanations, console=Console())
    page.write_page(OUT, page.page(explanations, title="whylight demo"))
    say(f"The same as a page, with receipts: {OUT}. Now try your own:")
    say('.venv/bin/whylight explain "your text" --method lime', style="bold")


if __name__ == "__main__":
    main()
