"""A first look: a few reviews, several methods, the bundled model.

Prints highlights to the terminal and writes demo.html; `make demo` runs it.
"""

from pathlib import Path

from rich.console import Console

import whylight as wl
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
    console = Console()
    classifier = wl.load()
    explanations = wl.explain(classifier, list(REVIEWS), method=list(METHODS))
    terminal.render(explanations, console=console)
    page.write(OUT, page.page(explanations, title="whylight demo"))
    console.print(f"\nThe same as a page, with receipts: [bold]{OUT}[/]. Now try your own:")
    console.print('  .venv/bin/whylight explain "your text" --method lime', markup=False)


if __name__ == "__main__":
    main()
