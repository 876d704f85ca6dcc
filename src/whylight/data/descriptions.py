"""What labels stand for, in words: `I50.9` is "Heart failure, unspecified".

A file of descriptions is a JSON object, label to text, or a CSV or TSV file of two columns, label and text, with or
without the header `label,description`. A label that stands twice is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from whylight.core.errors import InputError, SettingError
from whylight.data._checks import Flaw, is_whole, quotable
from whylight.data._reading import Reading, broken, parsed
from whylight.data._tables import delimited_cells

Descriptions = Mapping[str, str]
HEADER = ("label", "description")
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_descriptions(given: object, labels: Sequence[str]) -> dict[str, str]:
    """Return descriptions of labels, read if a file is given; what is no description of a label is refused.

    Args:
        given: A mapping, or the path of a file.
        labels: The labels that there are.
    """
    found = read_descriptions(Path(given)) if isinstance(given, str | Path) else given
    if not isinstance(found, Mapping):
        raise SettingError(
            f"label_descriptions is a mapping from labels to texts, or a file, not {type(found).__name__}."
        )
    for label, text in found.items():
        if label not in labels:
            raise InputError(f"the label '{quotable(label)}' is described, and the data have no such label.")
        if not isinstance(text, str) or not is_whole(text):
            raise InputError(f"the description of the label '{quotable(label)}' is not a text, but {quotable(text)}.")
    return {label: text.strip() for label, text in found.items() if text.strip()}


def read_descriptions(file: Path) -> dict[str, object]:
    """Read what a file says of labels; labels are texts, and each stands once."""
    if file.suffix == ".json":
        try:
            found = parsed(Reading().whole(file))
        except Flaw as flaw:
            raise InputError(f"'{quotable(file)}' {flaw}.") from None
        if not isinstance(found, dict):
            raise InputError(f"'{quotable(file)}' is not a JSON object that gives each label a text.")
        return found
    if file.suffix not in DELIMITERS:
        raise InputError(f"'{quotable(file)}' is of no kind that can be read; descriptions are in .json, .csv or .tsv.")
    described: dict[str, object] = {}
    for number, label, text in _pairs(file):
        if label in described:
            raise broken(file, number, f"describes the label '{quotable(label)}' once more")
        described[label] = text
    return described


def _pairs(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the rows of a table, but for its header."""
    for place, (number, cells) in enumerate(delimited_cells(file, Reading(), DELIMITERS[file.suffix])):
        if len(cells) != len(HEADER):
            raise broken(file, number, f"has {len(cells)} columns, and not two: a label and its description")
        if not all(map(is_whole, cells)):
            raise broken(file, number, "is not UTF-8; convert the file")
        label, text = (cell.strip() for cell in cells)
        if place or (label.lower(), text.lower()) != HEADER:
            yield number, label, text
