"""Files of one's own: JSON lines, CSV, TSV or Parquet.

Layout: one record per line (row), with

- `text`, and `pair` for a second text;
- `label`, or, multi-label, `labels` as a list; with `unlabelled=true` a record may have neither;
- `words` (or `tokens`): the words of the text as a list of strings, and `pair_words` (`pair_tokens`) for the pair. They
  spell the text, white space aside, and are the features of explanations; without `text` they are joined by one blank;
- `rationale`, what people marked for the one label, or `rationales` as `{label: rationale}`;
- `id` (else the line number), and `split`: where it is there, only rows of the split asked for are read.

`text_column`, `pair_column`, `label_column` and `rationale_column` say how the file calls them (`text_column=review`).
A file that ends in `.txt` has one text per line, and no labels.

A rationale is a list of spans or a list of marks:

- `[start, end]`; `[part, start, end]` says which text it is in (0 the text, 1 the pair);
- `{"start": 2, "end": 6}`, also with `part` and with `text`, which must then be the text there;
- one 0 or 1 for each of the record's `words`, those of the pair after those of the text.

Several annotators: `rationales` as a list with what each marked, a rationale each, or `{label: rationale}` each; `null`
is one who was not asked. `vote=majority` takes the characters that more than half of them marked (of two: both),
`vote=union` those that any did.

In CSV and TSV (quotes as in CSV), lists and objects are cells of JSON; an empty cell is an absent one. A path is a file
(.jsonl, .jsonl.gz, .csv, .tsv, .parquet), or a folder with one per split, `train.jsonl` and so on. Instead of a file,
a table may be in parts with numbers in their names, read in the order of the names: `train-00000-of-00002.parquet` and
so on, or, where the folder holds one table alone, any name (`part-0001.jsonl`). The number of a row, which is its `id`
where it has none, goes on from part to part; all parts together are no larger than one file may be.

Offsets are Python character indices. A span that is empty, or lies outside its text, is an error that names the line;
`invalid=drop` drops the span and counts it into the notes. Labels are all that the file has, in order.

Other columns are not read, and named in the notes. One that is almost called like one that is read (`rational`), in a
record without the latter, is refused; `ignore=NAME,NAME` says that it is meant so. So are `label` beside `labels`,
`rationale` beside `rationales` or `labels`, and rows without a `split` among rows with one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from whylight.core.errors import InputError, unknown
from whylight.core.rationale import Vote
from whylight.core.text import Text
from whylight.data._checks import Flaw, add, label_of, name_of, quotable, visible_text
from whylight.data._columns import Columns, Named
from whylight.data._marks import Marks, listed, located, own_words
from whylight.data._reading import RawRow, Reading
from whylight.data._tables import ENDINGS, LINES, ends_in, table_rows, unit
from whylight.data.dataset import LOST, Dataset, Record, in_order
from whylight.data.registry import corpus

SPLIT_FILES = {"dev": ("dev", "val", "validation", "valid")}
SPLIT_NAMES = ("train", *SPLIT_FILES["dev"], "test")
_NUMBER = r"\d+(?:-of-\d+)?(?:-[0-9a-f-]{6,})?"
_PART = re.compile(rf"{_NUMBER}|(?P<table>.+?)[-_]{_NUMBER}")
"""How parts are called, endings aside: the table, a number, perhaps of how many, perhaps a hash."""
_LABELS = {"label", "labels"}


@corpus(cite="")
def files(  # noqa: PLR0913  settings, each with its default
    path: Path,
    split: str,
    reading: Reading,
    *,
    invalid: Literal["error", "drop"] = "error",
    vote: Vote = "majority",
    ignore: str = "",
    unlabelled: bool = False,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    rationale_column: str | None = None,
) -> Dataset:
    """A file of one's own: JSON lines, CSV, TSV or Parquet, or a text per line (.txt)."""
    names = SPLIT_FILES.get(split, (split,))
    parts = [path] if path.is_file() else files_of_split(path, names)
    unlabelled = unlabelled or ends_in(path.name, LINES)
    named = Named(text_column, pair_column, label_column, rationale_column)
    found = table_of(split, named, invalid=invalid, vote=vote, ignore=ignore, unlabelled=unlabelled)
    columns, marks = found.columns, found.marks
    found.read(parts, reading)
    if columns.found:  # else no row could be read, and that is what is wrong
        columns.named.check(columns.found, path)
    if not found.records and found.splits and not found.splits & {*names}:
        where = quotable(path if len(parts) > 1 else parts[0])
        raise unknown(f"split of '{where}'", quotable(split), [quotable(one) for one in sorted(found.splits)[:20]])
    notes = [f"{count} {what}" for what, count in marks.counts.items() if count]
    notes += [f"{len(parts)} files are read as parts of one table"] if len(parts) > 1 else []
    if not found.splits and not {_table_of(file) for file in parts} & {*names}:
        notes.append(f"the file is read whole; the split '{quotable(split)}' is only its name")
    notes += [f"{LOST}{note}" for note in [found.columns.note] if note]
    title = path.name.removesuffix(".gz").rpartition(".")[0] if parts == [path] else path.name
    records = tuple(found.records.values())
    return Dataset(title, split, label_order(records), records, bool(found.multi_label), tuple(notes))


def table_of(
    split: str,
    named: Named,
    *,
    invalid: str = "error",
    vote: Vote = "majority",
    ignore: str = "",
    unlabelled: bool = False,
) -> "Table":
    """Return what reads the rows of a table under the settings of `files`."""
    columns = Columns(
        frozenset(form for name in ignore.split(",") for form in (name, name.strip())),
        named,
        needed=("text",) if unlabelled else ("text", "label"),
    )
    marks = Marks(vote, keep_going=invalid == "drop", counts=Counter())
    return Table(SPLIT_FILES.get(split, (split,)), columns, marks, unlabelled=unlabelled)


@dataclass(slots=True)
class Table:
    """The records of a table so far, and what all of them must have in common."""

    names: tuple[str, ...]
    columns: Columns
    marks: Marks
    unlabelled: bool
    records: dict[str, Record] = field(default_factory=dict)
    splits: set[str] = field(default_factory=set)
    multi_label: bool | None = None
    _has_splits: bool | None = None

    def read(self, parts: Sequence[Path], reading: Reading) -> None:
        """Add the records of files that are one table."""
        if len(parts) > 1 and sum(file.stat().st_size for file in parts) > reading.max_file_bytes:
            raise InputError(f"'{quotable(parts[0].parent)}' {reading.too_large()}.")
        for _ in self.records_in(parts, reading, check=lambda record: add(self.records, record.id, record)):
            pass

    def records_in(
        self, parts: Iterable[Path], reading: Reading, *, check: Callable[[Record], None]
    ) -> Iterator[Record]:
        """Yield the records of files that are one table, as they come.

        Args:
            parts: The files.
            reading: How they are read.
            check: Refuses a record whose id has come before.
        """
        before = 0
        for file in parts:
            line = 0
            for line, row in table_rows(file, reading, self.columns.named):
                try:
                    record = self.taken(before + line, self.columns.read(row))
                    if record is not None:
                        check(record)
                except InputError as flaw:
                    reading.drop(file, line, flaw, unit=unit(file))
                else:
                    yield from () if record is None else (record,)
            before += line

    def taken(self, line: int, row: RawRow) -> Record | None:
        """Return the record of a row, if it is of the split."""
        if self._has_splits is None:
            self._has_splits = "split" in row
        if self._has_splits != ("split" in row):
            raise Flaw(f"has {'no' if self._has_splits else 'a'} 'split', unlike the lines before it")
        if "split" in row:
            self.splits.add(of := name_of(row["split"], "split"))
            if of not in self.names:
                return None
        record = self._record(row, name=name_of(row.get("id", line), "id"))
        several = "labels" in row if row.keys() & _LABELS else self.multi_label
        if self.multi_label not in (None, several):
            raise Flaw("mixes 'label' and 'labels'; use one of them in the whole file")
        self.multi_label = several
        return record

    def _record(self, row: RawRow, *, name: str) -> Record:
        example = example_of(row)
        labels = () if self.unlabelled and not row.keys() & _LABELS else _labels(row)
        return Record(name, example, labels, self.marks.rationales(row, labels, example))


def files_of_split(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Return the file of a split, or its parts in order, in a folder that has these for each split or for one table."""
    if not folder.is_dir():
        raise InputError(f"'{quotable(folder)}' is neither a file nor a folder.")
    there = [one for one in sorted(folder.iterdir()) if ends_in(one.name, *ENDINGS) and not one.name.startswith(".")]
    if not there:
        raise InputError(f"the folder '{quotable(folder)}' holds no data file; one ends in {', '.join(ENDINGS)}.")
    whole = {_stem(file): file for file in there}
    tables: dict[str, list[Path]] = {}
    for file in there:
        tables.setdefault(_table_of(file), []).append(file)
    chosen = next(([whole[name]] for name in names if name in whole), None)
    chosen = chosen or next((tables[name] for name in names if name in tables), None)
    only = next(iter(tables))
    if chosen is None and len(tables) == 1 and only not in SPLIT_NAMES and all(map(_PART.fullmatch, whole)):
        chosen = there
    if chosen is None:
        raise unknown(f"split of '{quotable(folder)}'", quotable(names[0]), [quotable(name) for name in [*tables][:20]])
    kinds = {file.name.partition(".")[2] for file in chosen}
    if len(kinds) > 1:
        listed = quotable(", ".join(sorted(kinds)))
        raise InputError(f"the parts in '{quotable(folder)}' must be files of one kind; they end in {listed}.")
    return chosen


def _stem(file: Path) -> str:
    return file.name.partition(".")[0]


def _table_of(file: Path) -> str:
    """Return the name of the table that a file is, or is a part of."""
    part = _PART.fullmatch(_stem(file))
    return _stem(file) if part is None else part["table"] or ""


def example_of(row: RawRow) -> Text:
    """Return the text and pair of a row with the words that came with them, or say what is wrong with them."""
    words, pair_words = own_words(row)
    if words and not row.get("text"):
        row = {**row, "text": " ".join(words)}
    if pair_words and "pair" not in row:
        row = {**row, "pair": " ".join(pair_words)}
    if not isinstance(row.get("text"), str):
        raise Flaw("has no 'text' that is a string; a record needs 'text' and 'label' (or 'labels')")
    text = visible_text(row["text"], "text")
    pair = visible_text(row["pair"], "pair") if "pair" in row else None
    if not words:
        return Text(text, pair)
    if pair is not None and not pair_words:
        raise Flaw("has 'words' for its text, but no 'pair_words' for its pair")
    of_pair = located(pair_words, pair, part=1) if pair_words and pair is not None else ()
    return Text(text, pair, words=(*located(words, text, part=0), *of_pair))


def label_order(records: Iterable[Record]) -> tuple[str, ...]:
    """Return all labels of some records: by value if they are whole numbers, else by the alphabet."""
    return tuple(in_order(label for one in records for label in (*one.labels, *one.rationales)))


def _labels(row: RawRow) -> tuple[str, ...]:
    if "label" in row and "labels" in row:
        raise Flaw("mixes 'label' and 'labels'; use one of them in the whole file")
    if "labels" in row:
        return tuple(dict.fromkeys(map(label_of, listed(row["labels"], "'labels'", '["first", "second"]'))))
    if "label" not in row:
        raise Flaw(
            "has no 'label' (or 'labels'); --label-column (label_column=) says how it is called, the setting "
            "unlabelled=true is for texts without one"
        )
    return (label_of(row["label"]),)
