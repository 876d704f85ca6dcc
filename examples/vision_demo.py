"""A first look at pictures: a cat and a cup of coffee, several methods, EfficientNet-Lite0.

Shows small copies in the terminal and writes vision_demo.html; `make vision-demo` installs what it needs and runs it.
"""

import lite0
from skimage import data

import whylight as wl

METHODS = ("grad_cam", "occlusion", "guided_backprop")
OUT = "vision_demo.html"


def main() -> None:
    """Explain the pictures, show them and write the page."""
    pictures = [wl.image(data.chelsea(), name="chelsea.png"), wl.image(data.coffee(), name="coffee.png")]
    explanations = wl.explain(lite0.classifier(), pictures, method=list(METHODS))
    wl.show(explanations)
    explanations.save(OUT)
    print(f"The same as a page, with receipts: {OUT}. Your own model: docs/howto/images.md.")


if __name__ == "__main__":
    main()
