"""A first look: a few reviews, several methods, the bundled model.

Shows highlights in the terminal and writes demo.html; `make demo` runs it.
"""

import whylight as wl

REVIEWS = (
    "A gripping, moving film, though the ending drags.",
    "Two hours of lifeless jokes that not even its charming lead can save.",
    "I expected another dull sequel. What I got was funny, sharp and surprisingly tender.",
)
METHODS = ("integrated_gradients", "lime", "attingrad", "occlusion")
OUT = "demo.html"


def main() -> None:
    """Explain the reviews, show them and write the page."""
    explanations = wl.explain(wl.load(), list(REVIEWS), method=list(METHODS))
    wl.show(explanations)
    explanations.save(OUT)
    print(f"The same as a page, with receipts: {OUT}. Now try your own:")
    print('.venv/bin/whylight explain "your text" --method lime')


if __name__ == "__main__":
    main()
