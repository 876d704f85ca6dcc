"""Results as files: which endings a result has, and what is written for each.

    .html      a page that stands alone
    .json      all of it; `Explanation.from_dict` reads an explanation back
    .jsonl     its records, one per line, where that is what data files are
    .parquet   what `to_frame` has, as a table
    .png .svg  its picture (`report/plots`)

A file at every moment holds either its old content or all of the new one (`store/files.py`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whylight.core.errors import SettingError
from whylight.core.inputs import JsonValue
from whylight.core.printable import to_json
from whylight.core.showing import Display
from whylight.report.sheets import Sheet, print_sheet, sheet_html, sheet_page, sheet_text
from whylight.store import files, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Records = Sequence[Mapping[str, Any]]
Writer = Callable[[Any, Path], None]
PICTURES = (".png", ".svg")


def display(  # noqa: PLR0913  a form each
    noun: str,
    *,
    text: Callable[[Any], str],
    show: Callable[[Any], None],
    html: Callable[[Any], str],
    records: Callable[[Any], Records],
    page: Callable[[Any], str],
    plain: Callable[[Any], object] | None = None,
    lines: bool = False,
    picture: "Callable[[Any], Figure] | None" = None,
    hint: str = "",
) -> Display:
    """Say how things are shown and saved.

    Args:
        noun: What one is called, with its article.
        text: A few lines.
        show: Prints all of it.
        html: A card or table for a notebook.
        records: Flat records, for a data frame and a table.
        page: A complete HTML document.
        plain: All of it as JSON; the records, if left out.
        lines: Whether records, one per line, are a form of their own.
        picture: A picture; None where there is none.
        hint: What else to say where an ending is refused.
    """
    writers: dict[str, Writer] = {
        ".html": lambda thing, path: files.write(path, page(thing).encode("utf-8", "replace")),
        ".json": lambda thing, path: _write_lines(path, [(plain or records)(thing)]),
        ".parquet": lambda thing, path: tables.write_table(path, record_table(records(thing))),
    }
    if lines:
        writers[".jsonl"] = lambda thing, path: _write_lines(path, records(thing))
    if picture is not None:
        drawn = picture  # which is not None in the functions below, either
        writers |= {ending: lambda thing, path: _write_picture(path, drawn(thing)) for ending in PICTURES}
    return Display(text=text, show=show, html=html, records=records, save=_saver(noun, writers, hint))


def sheet_display(  # noqa: PLR0913  a form each
    noun: str,
    sheet: Callable[[Any], Sheet],
    *,
    records: Callable[[Any], Records],
    page: Callable[[Any], str] | None = None,
    plain: Callable[[Any], object] | None = None,
    lines: bool = False,
    picture: "Callable[[Any], Figure] | None" = None,
    hint: str = "",
) -> Display:
    """Say how things are shown and saved that are shown as a sheet; `page` is a page of their own, if they have one."""
    return display(
        noun,
        text=lambda thing: sheet_text(sheet(thing)),
        show=lambda thing: print_sheet(sheet(thing)),
        html=lambda thing: sheet_html(sheet(thing)),
        records=records,
        page=page or (lambda thing: sheet_page(sheet(thing))),
        plain=plain,
        lines=lines,
        picture=picture,
        hint=hint,
    )


def record_table(records: Records) -> pa.Table:
    """Return flat records as a table; an object in a cell is the JSON of it."""
    return pa.Table.from_pylist([{name: _as_cell(value) for name, value in one.items()} for one in records])


def finite_json(value: object) -> JsonValue:
    """Return a value as JSON has it: numbers that are none are null, and what has a name is that name."""
    if isinstance(value, Mapping):
        return {str(name): finite_json(one) for name, one in value.items()}
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Iterable):
        return [finite_json(one) for one in value]
    return str(value)


def _as_cell(value: object) -> object:
    return to_json(finite_json(value)) if isinstance(value, Mapping) else value


def _saver(noun: str, writers: Mapping[str, Writer], hint: str) -> Writer:
    def write(thing: object, path: Path) -> None:
        writer = writers.get(path.suffix.lower())
        if writer is None:
            *first, last = sorted(writers)
            more = f"; {hint}" if hint else ""
            raise SettingError(
                f"{noun} is saved as {', '.join(first)} or {last}, and '{path.name}' is none of these{more}."
            )
        files.check_place(path)
        writer(thing, path)

    return write


def _write_lines(path: Path, values: Iterable[object]) -> None:
    files.write(path, "".join(f"{to_json(finite_json(one))}\n" for one in values).encode())


def _write_picture(path: Path, figure: "Figure") -> None:
    figure.savefig(path)
