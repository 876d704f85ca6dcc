r"""Yelp polarity, the sample of 1000 test reviews that TextFooler made.

Layout: a folder with the file `yelp`, or the file itself; `label text` a line, 0 negative and 1 positive. Only
`test`, 1000 reviews (482 positive). No rationale.

Text: as in the file, which holds escaped line breaks and quotes (`\n`, `\""`); `clean=True` puts a blank for a break
and a plain quote, as paper 3 does. Words: the usual cut, since escapes stick to their neighbours.

Reference: Zhang et al. 2015; the sample is Jin et al. 2020's.
"""

import re
from pathlib import Path

from whylight.core.text import Text
from whylight.data import _reading
from whylight.data._checks import Flaw, visible_text
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.data.sst import LABELS

_LINE = re.compile(r"([01])\s+(\S.*)")
_BREAKS = re.compile(r"(?<!\s)(?:\s*\\n\s*)+")
_QUOTES = re.compile(r'\\\s*"{1,2}')


@corpus(cite="zhang2015", splits=("test",))
def yelp(path: Path, split: str, reading: Reading, *, clean: bool = False) -> Dataset:
    """Yelp reviews, two classes; 1000 test reviews."""
    file = _reading.find_file(path, "yelp", "yelp.txt", or_file=True)
    records = []
    for number, line in reading.lines(file):
        try:
            records.append(_record(line, name=f"{split}-{number}", clean=clean))
        except Flaw as flaw:
            reading.drop(file, number, flaw)
    return Dataset("yelp", split, LABELS, tuple(records), notes=("escaped breaks and quotes undone",) if clean else ())


def _record(line: str, *, name: str, clean: bool) -> Record:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise Flaw("is not 'label text' with a label of 0 or 1")
    text = visible_text(_cleaned(match[2]) if clean else match[2], "text")
    return Record(name, Text(text), (LABELS[int(match[1])],))


def _cleaned(text: str) -> str:
    return _QUOTES.sub('"', _BREAKS.sub(" ", text)).strip()
