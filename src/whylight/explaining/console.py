"""The one door through which text leaves for a terminal.

Nothing else in the package prints: a test looks for it. What is handed over as a string is a text and never markup; all
that comes out is clean (`core/printable.py`), but for the colours that we choose ourselves.
"""

import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

import rich.console
from rich.cells import cell_len
from rich.progress import TextColumn
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from whylight.core.printable import clean, one_line

PIPED_WIDTH = 80
"""Places of a line that goes into a pipe or a file, at least."""


ARROWS = ("↑", "↓", "→0")
"""What says where better figures lie."""


class Console(rich.console.Console):
    """A terminal that shows what it is given: no markup, no emoji names, no colours but the given style.

    Strings (printed ones, cells, titles) are cleaned before they are measured, so that columns stay aligned; whatever
    is left in other things, such as a `Text`, is cleaned on its way out. Where nobody watches, as in a pipe or a file,
    a line has 80 places at least, however narrow a window it was started from.
    """

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  as rich has it
        # in a notebook, rich would show every line by itself, and write none into the file that it is given
        super().__init__(**{"force_jupyter": False, **given})
        if given.get("width") is None and not self.file.isatty():
            self.width = max(self.width, PIPED_WIDTH)

    def render_str(self, text: str, *, style: Any = "", **given: Any) -> Text:  # noqa: ANN401  as rich has it
        """Return a string as one line of plain text."""
        return Text(one_line(text), style=style, justify=given.get("justify"), overflow=given.get("overflow"))

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of what is shown, each of them clean; commands are those that rich itself gives."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(clean(piece.text), self._shown_here(piece.style))

    def _shown_here(self, style: Style | None) -> Style | None:
        """Return a style in colours that this terminal has.

        rich remembers the codes of a style from the first terminal that it was shown on, and shares styles that are
        equal: without this, a later terminal of more or fewer colours would get the codes of the first.
        """
        system = self._color_system
        if style is None or system is None or (style.color is None and style.bgcolor is None):
            return style
        front, back = (None if one is None else one.downgrade(system) for one in (style.color, style.bgcolor))
        return style.without_color + Style.from_color(front, back)


def broken_at_blanks(text: str, width: int) -> list[str]:
    """Return a text in lines of a width, broken at blanks alone."""
    lines = [""]
    for word in pieces_of_line(text):
        line = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_len(line) > width:
            lines.append(word)
        else:
            lines[-1] = line
    return lines


def pieces_of_line(text: str) -> list[str]:
    """Return the words of a text; an arrow belongs to the word before it."""
    pieces: list[str] = []
    for word in text.split():
        if word in ARROWS and pieces:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    return pieces


def say(text: str, *, style: str | None = None) -> None:
    """Print one line to standard output; a long one is wrapped, between words alone."""
    console = Console()
    for line in broken_at_blanks(one_line(text), console.width):
        console.print(line, style=style, soft_wrap=True)


def say_lines(lines: Iterable[Text]) -> None:
    """Print lines that are laid out already, each as it is."""
    console = Console()
    for line in lines:
        console.print(line, soft_wrap=True)


def put(content: str, *, stream: TextIO | None = None) -> None:
    """Write what a program reads (JSON, CSV, HTML, a command) as it is, or clean if the stream is a terminal."""
    stream = sys.stdout if stream is None else stream
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8")  # whatever the terminal's own encoding could not hold
    stream.write(clean(content) if stream.isatty() else content)


def complain(text: str) -> None:
    """Write one line to standard error, after the name of the program; it is not wrapped."""
    sys.stderr.write(f"whylight: {one_line(text)}\n")


def say_written(path: object) -> None:
    """Say on standard error what was written, so that standard output stays what it is."""
    complain(f"wrote {path}")


def text_column(template: str) -> TextColumn:
    """Return a column of a progress bar that shows text, such as `{task.description}`."""
    return TextColumn(template, markup=False)
