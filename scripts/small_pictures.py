"""Pictures in small files, for the documentation."""

from pathlib import Path

from PIL import Image

COLOURS = 256
"""Of a picture; more are not seen."""


def in_few_colours(path: Path) -> None:
    """Make a picture's file small."""
    taken = Image.open(path).convert("RGB")
    taken.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=2).save(path, optimize=True)
