"""A contact sheet: some pictures, each beside what methods make of it."""

from collections.abc import Mapping, Sequence

from PIL import Image as Pillow, ImageDraw, ImageFont

from whylight.core.explanation import Explanation
from whylight.core.image import Image
from whylight.report.heat import blended, image_of
from whylight.run.evaluation import Evaluation
from whylight.store.explanations import explanation_of

SIDE, GAP, HEAD = 160, 6, 22
"""Pixels of a small picture, between two, and of the line of names above them."""
INK, PAPER = "#1f2328", "#ffffff"


def contact_sheet(runs: Sequence[Evaluation], ids: Sequence[str], methods: Sequence[str]) -> Pillow.Image:
    """Draw one row per picture: what the network sees, then its grey copy under the colours of each method.

    Args:
        runs: Where explanations are.
        ids: The pictures.
        methods: The methods, from left to right.
    """
    found = _found(runs, ids, methods)
    columns = ["what the network sees", *(name.split("[")[0].replace("_", " ") for name in methods)]
    size = (len(columns) * (SIDE + GAP) - GAP, HEAD + len(ids) * (SIDE + GAP) - GAP)
    sheet = Pillow.new("RGB", size, PAPER)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for number, name in enumerate(columns):
        pen.text((number * (SIDE + GAP), 3), name, fill=INK, font=font)
    for row, example in enumerate(ids):
        first = next(one for (own, _), one in found.items() if own == example)
        drawn = [image_of(first.example).array]
        drawn += [blended(one, one.targets[0]) for one in (found[example, name] for name in methods)]
        for number, pixels in enumerate(drawn):
            small = Pillow.fromarray(pixels).resize((SIDE, SIDE), Pillow.Resampling.LANCZOS)
            sheet.paste(small, (number * (SIDE + GAP), HEAD + row * (SIDE + GAP)))
    return sheet


def _found(
    runs: Sequence[Evaluation], ids: Sequence[str], methods: Sequence[str]
) -> Mapping[tuple[str, str], Explanation]:
    """Return the explanation of each picture by each method, of its gold class."""
    wanted = {(example, name) for example in ids for name in methods}
    found = {}
    for run in runs:
        for row in run.explanations:
            key = row["example_id"], row["method"]
            if key in wanted and key not in found:
                found[key] = explanation_of(row)
    if missing := wanted - found.keys():
        raise SystemExit(f"no run has explained {min(missing)}")
    if not all(isinstance(one.example, Image) for one in found.values()):
        raise SystemExit("a contact sheet is of pictures")
    return found
