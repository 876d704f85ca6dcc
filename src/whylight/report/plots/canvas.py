"""What pictures are drawn on: a figure that no global state knows of, with the alternative text that goes into files.

A picture is a `matplotlib.figure.Figure`, to be styled and saved as any other; it belongs to no window and no notebook,
and is gone when nobody holds it. Whoever cannot see it finds what it says in words: in `alt_text`, in the description
of a PNG or PDF, and in `<title>` and `<desc>` of an SVG.
"""

import base64
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal

import matplotlib as mpl
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.report import numbers
from whylight.report.colours import Palette, shades
from whylight.report.plots.fonts import families, short_label
from whylight.report.plots.subject import alt_text_of
from whylight.report.templating import displayable
from whylight.store import files

DPI, SCREEN, INCH = 200, 96, 72.0
"""Dots per inch of a picture and of the screen of a notebook, and points of an inch."""
MUTED, LINE = "#6f7782", "#c9ced4"
"""Colours of small print, which can be read on white and on black, and of lines that lead the eye."""
SMALL, USUAL, LARGE = 8.5, 10.0, 12.0
"""Sizes of letters, in points."""
_DESCRIBED = {"png": ("Title", "Description"), "svg": ("Title", "Description"), "pdf": ("Title", "Subject")}
"""What formats call the title and the alternative text."""


class DescribedFigure(Figure):
    """A figure that says in words what it shows.

    Attributes:
        headline: What it is of.
        alt_text: What it shows.
    """

    headline: str = ""
    alt_text: str = ""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:  # noqa: ANN401  as in matplotlib
        """Write the picture as `Figure.savefig` does, with the alternative text in it.

        Args:
            fname: A path, whose file at every moment holds either its old content or all of the new one, or a stream.
            transparent: Whether nothing stands behind it.
            **kwargs: As in `Figure.savefig`.
        """
        kind = str(kwargs.pop("format", None) or _ending(fname) or mpl.rcParams["savefig.format"])
        names = _DESCRIBED.get(kind, ())
        words = dict(zip(names, (self.headline, self.alt_text), strict=False))
        dated = {"Date": None} if kind == "svg" else {}  # without it, the same picture is the same file
        metadata = {**words, **dated, **(kwargs.pop("metadata", None) or {})} or None
        buffer = BytesIO()
        with mpl.rc_context({"svg.hashsalt": "whylight"}):
            super().savefig(buffer, format=kind, transparent=transparent, metadata=metadata, **kwargs)
        content = buffer.getvalue()
        _put(fname, self._described(content) if kind == "svg" else content)

    def _described(self, content: bytes) -> bytes:
        """Give the root of an SVG its title and description, which matplotlib writes into metadata alone."""
        head, tag, rest = content.partition(b"<svg ")
        inside, end, body = rest.partition(b">")
        known = f"<title>{escape(displayable(self.headline))}</title>".encode()
        words = known + f"<desc>{escape(displayable(self.alt_text))}</desc>".encode()
        return head + tag + b'role="img" ' + inside + end + words + body.replace(known, b"", 1)

    def _repr_html_(self) -> str:
        """Return the picture for a notebook, with its alternative text."""
        buffer = BytesIO()
        super().savefig(buffer, format="png")
        data, width = base64.b64encode(buffer.getvalue()).decode(), round(self.get_figwidth() * SCREEN)
        text = escape(displayable(self.alt_text))
        return (
            f'<img alt="{text}" width="{width}" style="max-width:100%;height:auto" src="data:image/png;base64,{data}">'
        )


def styled(texts: Iterable[str]) -> AbstractContextManager[None]:
    """Draw inside the block in one style, where no text is a formula, with fonts that have the letters of texts."""
    style: dict[Any, Any] = {  # names that matplotlib lists one by one
        "font.family": families(texts),
        "font.size": USUAL,
        "text.parse_math": False,
        "text.usetex": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "axes.edgecolor": LINE,
        "xtick.color": LINE,
        "xtick.labelcolor": MUTED,
        "xtick.labelsize": SMALL,
        "ytick.color": LINE,
        "ytick.labelcolor": mpl.rcParams["text.color"],
        "axes.labelcolor": MUTED,
        "axes.labelsize": SMALL,
    }
    return mpl.rc_context(style)


def new_picture(
    width: float, height: float, *, layout: Literal["constrained"] | None = "constrained"
) -> DescribedFigure:
    """Return an empty picture of some inches."""
    picture = DescribedFigure(figsize=(width, height), dpi=DPI, layout=layout)
    FigureCanvasAgg(picture)
    return picture


def described(figure: Figure, headline: str, words: str) -> Figure:
    """Say in words what a figure shows; one of the user's own may show several things."""
    before = alt_text_of(figure)
    text = f"{headline}. {words}"
    figure.alt_text = f"{before} {text}" if before else text  # type: ignore[attr-defined]
    if isinstance(figure, DescribedFigure):
        figure.headline = headline
    return figure


def laid_out(axes: Axes) -> float:
    """Return how wide axes are, in points, once their figure has found its layout."""
    figure = figure_of(axes)
    figure.draw_without_rendering()
    return axes.get_window_extent().width / figure.dpi * INCH


def figure_of(axes: Axes) -> Figure:
    """Return the figure that holds some axes."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise SettingError("these axes belong to no figure; take some of a figure, e.g. figure.subplots().")
    return figure


def colour(palette: Palette, step: int = 9) -> str:
    """Return one of the ten shades that pages have, too."""
    return shades(palette, scheme="light")[step - 1].background


def colour_map(*, signed: bool) -> ListedColormap:
    """Return the shades of scores, from against to for, or from nothing to important."""
    up = [one.background for one in shades("for" if signed else "importance", scheme="light")]
    down = [one.background for one in reversed(shades("against", scheme="light"))] if signed else []
    return ListedColormap([*down, "#ffffff", *up])


def heading(axes: Axes, title: str, caption: Sequence[str] = (), *, gap: float = 6.0) -> None:
    """Write a title above axes, and lines of small print below it, for which the axes are not made narrower."""
    axes.set_title(title, loc="left", fontsize=LARGE, pad=gap + 1.5 * SMALL * len(caption), **bold(title))
    for number, line in enumerate(reversed(caption)):
        away = (0, gap + 1.5 * SMALL * number)
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        small = axes.annotate(line, (0, 1), away, fontsize=SMALL, color=MUTED, annotation_clip=False, **place)
        small.set_in_layout(False)


def bold(text: str) -> dict[str, Any]:
    """Return the font of a title; fonts that it does not need may have no bold letters, and would complain."""
    return {"fontweight": "bold", "fontfamily": families([text])}


def answered(explanation: Explanation, target: Target) -> str:
    """Return a label and its probability."""
    return f"{short_label(target.label, widest=40)} {numbers.answered(explanation.prediction, target.index)}"


def _ending(fname: object) -> str:
    return Path(os.fspath(fname)).suffix.lower().removeprefix(".") if isinstance(fname, str | os.PathLike) else ""


def _put(fname: str | os.PathLike[str] | IO[bytes], content: bytes) -> None:
    if isinstance(fname, str | os.PathLike):
        files.write(Path(fname), content)
    else:
        fname.write(content)
