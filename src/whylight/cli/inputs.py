"""What `whylight explain` is to explain: texts of the command line, of a file, of its lines or of a table's rows."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whylight.cli.data import say_losses
from whylight.core.errors import InputError, SettingError

if TYPE_CHECKING:
    from whylight.core.image import Image
    from whylight.core.text import Text

MAX_FILE_BYTES = 64 * 2**20
"""As long as a record of a data set may be: ten million words."""
NO_TEXTS = (".json", ".gz", ".xlsx", ".xls", ".zip")
"""How files end that hold texts among other things, all of which would be explained."""
UNASKED = "split,id,label,labels,rationale,rationales"
"""Columns of a table that say nothing to whoever explains its texts, whatever is in them."""


def read_inputs(options: Mapping[str, Any]) -> "Sequence[str | tuple[str, str] | Text | Image]":
    """Collect the texts from the arguments and the file; `options` are those of `explain`, by parameter."""
    texts, file, pair = options["texts"] or [], options["file"], options["pair"]
    if options["image"]:
        return _pictures(options)
    if file is None and not texts:
        raise InputError('there is nothing to explain; give a text or --file, e.g. whylight explain "A gripping film."')
    given = [*texts] if pair is None else [(text, pair) for text in texts]
    return [*given, *_of_file(file, options)]


def _pictures(options: Mapping[str, Any]) -> "Sequence[Image]":
    """Read the pictures; texts beside them would need another model."""
    if options["texts"] or options["file"] is not None or options["pair"] is not None:
        raise SettingError("one model reads texts or pictures; leave out either --image or the texts.")
    if options["model"] is None:
        raise SettingError("the bundled model reads texts; name a model of pictures: --model.")
    from whylight.data.pictures import image  # noqa: PLC0415  loads only when it is needed

    return [image(path) for path in options["image"]]


def _of_file(file: Path | None, options: Mapping[str, Any]) -> "Sequence[str | tuple[str, str] | Text]":
    from whylight.data.load import TABLES, is_table  # noqa: PLC0415  loads only when it is needed

    if file is not None and is_table(file):
        return _of_table(file, options)
    if file is not None and file.suffix.lower() in NO_TEXTS:
        raise InputError(f"'{file}' is no text, and of no kind of table that can be read ({', '.join(TABLES)}).")
    for name in ("text_column", "pair_column", "drop_broken"):
        if options[name]:
            where = "there is no file" if file is None else f"'{file}' is none"
            flag = name.replace("_", "-")
            raise SettingError(f"--{flag} is for the rows of a table ({', '.join(TABLES)}), and {where}.")
    if file is None:
        return []
    pair, content = options["pair"], _read_bounded(file)
    # `splitlines` would also cut at characters that occur inside texts, such as U+2028
    lines = [line.rstrip("\r") for line in content.split("\n") if line.strip()] if options["lines"] else [content]
    if not any(one.strip() for one in lines):
        raise InputError(f"'{file}' is empty; there is no word to explain.")
    return lines if pair is None else [(line, pair) for line in lines]


def _of_table(file: Path, options: Mapping[str, Any]) -> "list[Text]":
    """Return a text per row, or a pair; a header is none."""
    from whylight.core.text import text_of  # noqa: PLC0415  as above
    from whylight.data.load import dataset  # noqa: PLC0415

    if options["lines"]:
        raise SettingError(f"'{file}' is a table, each of whose rows is explained; leave out --lines.")
    named = {name: options[name] for name in ("text_column", "pair_column") if options[name] is not None}
    data = dataset(file, unlabelled=True, ignore=UNASKED, drop_broken=options["drop_broken"], **named)
    if options["drop_broken"]:
        say_losses(data)
    examples, pair = [text_of(record.example) for record in data], options["pair"]
    if pair is None:
        return examples
    if any(one.pair is not None for one in examples):
        raise SettingError(f"'{file}' has second texts of its own; leave out --pair.")
    return [replace(one, pair=pair) for one in examples]


def _read_bounded(file: Path) -> str:
    """Read a file, or standard input, within a bound: a device may have no end."""
    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}.") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"'{file}' is longer than {MAX_FILE_BYTES:,} bytes; cut it into several files.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"'{file}' is not UTF-8 (byte {error.start}); convert it first, e.g. with iconv.") from None
