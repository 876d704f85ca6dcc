"""CodiEsp: Spanish clinical cases with ICD-10 codes and the text that each code was given for.

Layout: `train`, `dev` and `test`, each with `text_files/CASE.txt` and `SPLITX.tsv`: case, `DIAGNOSTICO` or
`PROCEDIMIENTO`, code, annotated text, offsets `begin end;begin end` into the Spanish text (a fifth of the mentions is
in several pieces). The folder `final_dataset_v4_to_publish` may be given, or the one that holds it. Counts:
500/250/250 cases; 1767 diagnosis codes in train.

Multi-label. `kind` takes diagnoses (ICD-10-CM) or procedures (ICD-10-PCS); `level=category` cuts codes to three
characters: the category of a diagnosis, the table of a procedure; `top=K` keeps the K most frequent labels of train
(by cases, ties in the order of the alphabet). Without `top`, the labels are those of all three splits, so that each
split has the same. Cases without a label stay in, unlabelled, since "none" is an answer.

Text: untouched. Rationale of a label: the pieces of all its mentions, in reading order. Empty pieces (four in the
corpus) are dropped, and mentions whose text is not the annotated one up to white space are counted; both go into the
notes.

Reference: Miranda-Escalada et al. 2020.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from whylight.core.errors import InputError, SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data import _reading
from whylight.data._checks import Flaw, label_of, quotable
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

SPLITS = ("train", "dev", "test")
KINDS = {"diagnosis": "DIAGNOSTICO", "procedure": "PROCEDIMIENTO"}
CATEGORY = 3
"""Characters of a category."""
_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class CodedRow:
    """One row of an X file: a label, the pieces of text that it was given for, and where the row stands."""

    case: str
    label: str
    annotated: str
    pieces: tuple[tuple[int, int], ...]
    line: int


@corpus(cite="miranda2020", splits=SPLITS)
def codiesp(
    path: Path,
    split: str,
    reading: Reading,
    *,
    level: Literal["code", "category"] = "code",
    kind: Literal["diagnosis", "procedure"] = "diagnosis",
    top: int | None = None,
) -> Dataset:
    """Spanish clinical cases with ICD-10 codes, multi-label, evidence for every code."""
    root = _release_folder(path)
    cut = CATEGORY if level == "category" else None
    rows = _Rows(root, kind, cut, reading)
    labels = _label_names(rows, split, top=top)
    folder = root / split / "text_files"
    by_case: dict[str, list[CodedRow]] = {file.stem: [] for file in sorted(folder.glob("*.txt"))}
    for mention in rows.mentions(split):
        if mention.case not in by_case:
            rows.spoil(
                split, mention.case, mention.line, f"names the case '{quotable(mention.case)}', which has no text"
            )
        elif mention.label in labels:
            by_case[mention.case].append(mention)
    counts: Counter[str] = Counter()
    records: list[Record] = []
    for case, mentions in by_case.items():
        try:
            text = _case_text(folder, case, reading)
            records += [] if case in rows.spoilt else [_record(case, text, mentions, counts)]
        except _Misplaced as flaw:
            rows.spoil(split, case, flaw.line, str(flaw))
        except InputError as flaw:
            rows.spoil(split, case, 1, flaw)
    without = sum(not record.labels for record in records)
    notes = [f"{count} {what}" for what, count in sorted(counts.items()) if count]
    notes += [f"{without} cases have none of the labels"] if without else []
    return Dataset("codiesp", split, tuple(sorted(labels)), tuple(records), multi_label=True, notes=tuple(notes))


def _release_folder(path: Path) -> Path:
    inner = path / "final_dataset_v4_to_publish"
    return inner if inner.is_dir() else path


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the X files; a case of which one row cannot be read is spoilt, since a label of it might be missing.

    Attributes:
        root: The folder of the splits.
        kind: `diagnosis` or `procedure`.
        cut: Characters of a code that are its label; None for all.
        reading: How files are read.
        spoilt: Cases that are left out, with the split each is of.
    """

    root: Path
    kind: str
    cut: int | None
    reading: Reading
    spoilt: set[str] = field(default_factory=set)

    def mentions(self, split: str, *, count: bool = True) -> Iterator[CodedRow]:
        """Yield the mentions of a split; with `count`, broken rows spoil their case, else they are passed over."""
        file = self.table(split)
        for number, line in self.reading.aside(strict=True).lines(file):  # of a broken line nobody knows the case
            cells = line.split("\t")
            try:
                mention = self._mention(cells, number)
            except Flaw as flaw:
                if count or not self.reading.drop_broken:
                    self.spoil(split, cells[0], number, flaw)
                continue
            if mention is not None:
                yield mention

    def spoil(self, split: str, case: str, line: int, problem: object) -> None:
        """Refuse a row, or leave out its case and count that once."""
        if case not in self.spoilt:
            flaw = problem if isinstance(problem, InputError) else Flaw(str(problem))
            self.reading.drop(self.table(split), line, flaw)
            self.spoilt.add(case)

    def table(self, split: str) -> Path:
        """Return the X file of a split."""
        return _reading.find_file(self.root / split, f"{split}X.tsv")

    def _mention(self, cells: list[str], line: int) -> CodedRow | None:
        """Return the mention of a row, or None if it is of the other kind."""
        if len(cells) != _COLUMNS:
            raise Flaw(f"has {len(cells)} columns instead of {_COLUMNS}")
        case, found, code, annotated, offsets = cells
        if found not in KINDS.values():
            raise Flaw(f"has the type '{quotable(found)}' instead of {' or '.join(KINDS.values())}")
        if found != KINDS[self.kind]:
            return None
        try:
            pieces = tuple((int(begin), int(end)) for begin, end in map(str.split, offsets.split(";")))
        except ValueError:
            raise Flaw(f"has the offsets '{quotable(offsets)}' instead of 'begin end;...'") from None
        return CodedRow(case, label_of(code[: self.cut]), annotated, pieces, line)


def _label_names(rows: _Rows, split: str, *, top: int | None) -> frozenset[str]:
    """Return the labels that are kept: the `top` most frequent of train, or those of every split that is there."""
    if top is None:
        there = [s for s in SPLITS if s == split or (rows.root / s).is_dir()]
        return frozenset(m.label for s in there for m in rows.mentions(s, count=False))
    if top < 1:
        raise SettingError(f"the setting 'top' must be at least 1, not {top}.")
    pairs = {(m.case, m.label) for m in rows.mentions("train", count=False)}
    frequency = Counter(label for _, label in pairs)
    return frozenset(sorted(frequency, key=lambda label: (-frequency[label], label))[:top])


def _case_text(folder: Path, case: str, reading: Reading) -> str:
    try:
        file = _reading.inside(folder, f"{case}.txt")
    except Flaw as flaw:
        raise InputError(f"the case '{quotable(case)}' {flaw}.") from None
    if file is None:
        raise InputError(f"the text of the case '{quotable(case)}' is no file.")
    text = reading.whole(file)
    if not text.strip():
        raise InputError(f"the text of the case '{quotable(case)}' is empty.")
    return text


class _Misplaced(Flaw):
    """An offset that is not in its text, and the line that it stands on."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def _record(case: str, text: str, mentions: list[CodedRow], counts: Counter[str]) -> Record:
    """Build one record; what does not fit is counted."""
    spans: dict[str, set[Span]] = {}
    for mention in mentions:
        pieces = [(begin, end) for begin, end in mention.pieces if begin != end]
        counts["empty pieces of evidence are dropped"] += len(mention.pieces) - len(pieces)
        if not all(0 <= begin < end <= len(text) and text[begin:end].strip() for begin, end in pieces):
            problem = f"has an offset outside '{quotable(case)}.txt', or one of white space alone"
            raise _Misplaced(problem, mention.line)
        counts["mentions differ from their annotated text"] += _differs(text, mention.annotated, pieces)
        spans.setdefault(mention.label, set()).update(Span(0, begin, end) for begin, end in pieces)
    rationales = {label: Rationale(tuple(sorted(found))) for label, found in sorted(spans.items()) if found}
    return Record(case, Text(text), tuple(sorted(spans)), rationales)


def _differs(text: str, annotated: str, pieces: list[tuple[int, int]]) -> bool:
    """Say whether pieces are not the annotated text; an ellipsis in it stands for what nobody can check."""
    if "..." in annotated or "…" in annotated:
        return False
    return " ".join(text[begin:end] for begin, end in pieces).split() != annotated.split()
