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
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whylight.core.errors import InputError, SettingError
from whylight.core.example import Example, Span
from whylight.core.rationale import Rationale
from whylight.data import _reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

SPLITS = ("train", "dev", "test")
KINDS = {"diagnosis": "DIAGNOSTICO", "procedure": "PROCEDIMIENTO"}
CATEGORY = 3
"""Characters of a category."""
_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Mention:
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
    *,
    level: Literal["code", "category"] = "code",
    kind: Literal["diagnosis", "procedure"] = "diagnosis",
    top: int | None = None,
) -> Dataset:
    """Spanish clinical cases with ICD-10 codes, multi-label, evidence for every code."""
    root = _root(path)
    cut = CATEGORY if level == "category" else None
    labels = _label_names(root, split, kind=kind, cut=cut, top=top)
    by_case: dict[str, list[Mention]] = {file.stem: [] for file in sorted((root / split / "text_files").glob("*.txt"))}
    for mention in _mentions(root, split, kind=kind, cut=cut):
        if mention.case not in by_case:
            raise _reading.broken(
                _table(root, split), mention.line, f"names the case '{mention.case}', which has no text"
            )
        if mention.label in labels:
            by_case[mention.case].append(mention)
    counts: Counter[str] = Counter()
    records = tuple(_record(root, split, case, mentions, counts) for case, mentions in by_case.items())
    without = sum(not record.labels for record in records)
    notes = [f"{count} {what}" for what, count in sorted(counts.items()) if count]
    notes += [f"{without} cases have none of the labels"] if without else []
    return Dataset("codiesp", split, tuple(sorted(labels)), records, multi_label=True, notes=tuple(notes))


def _root(path: Path) -> Path:
    inner = path / "final_dataset_v4_to_publish"
    return inner if inner.is_dir() else path


def _table(root: Path, split: str) -> Path:
    return _reading.find(root / split, f"{split}X.tsv")


def _mentions(root: Path, split: str, *, kind: str, cut: int | None) -> Iterator[Mention]:
    """Yield the mentions of one kind, their codes cut to `cut` characters."""
    file = _table(root, split)
    for number, line in _reading.lines(file):
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise _reading.broken(file, number, f"has {len(cells)} columns instead of {_COLUMNS}")
        case, found, code, annotated, offsets = cells
        if found not in KINDS.values():
            raise _reading.broken(file, number, f"has the type '{found}' instead of {' or '.join(KINDS.values())}")
        if found != KINDS[kind]:
            continue
        try:
            pieces = tuple((int(begin), int(end)) for begin, end in map(str.split, offsets.split(";")))
        except ValueError:
            raise _reading.broken(file, number, f"has the offsets '{offsets}' instead of 'begin end;...'") from None
        yield Mention(case, code[:cut], annotated, pieces, number)


def _label_names(root: Path, split: str, *, kind: str, cut: int | None, top: int | None) -> frozenset[str]:
    """Return the labels that are kept: the `top` most frequent of train, or those of every split that is there."""
    if top is None:
        there = [s for s in SPLITS if s == split or (root / s).is_dir()]
        return frozenset(m.label for s in there for m in _mentions(root, s, kind=kind, cut=cut))
    if top < 1:
        raise SettingError(f"the setting 'top' must be at least 1, not {top}.")
    pairs = {(m.case, m.label) for m in _mentions(root, "train", kind=kind, cut=cut)}
    frequency = Counter(label for _, label in pairs)
    return frozenset(sorted(frequency, key=lambda label: (-frequency[label], label))[:top])


def _record(root: Path, split: str, case: str, mentions: list[Mention], counts: Counter[str]) -> Record:
    """Build one record; what does not fit is counted."""
    text = _reading.whole(root / split / "text_files" / f"{case}.txt")
    spans: dict[str, set[Span]] = {}
    for mention in mentions:
        pieces = [(begin, end) for begin, end in mention.pieces if begin != end]
        counts["empty pieces of evidence are dropped"] += len(mention.pieces) - len(pieces)
        if not all(0 <= begin < end <= len(text) and text[begin:end].strip() for begin, end in pieces):
            problem = f"has an offset outside '{case}.txt', or one of white space alone"
            raise _reading.broken(_table(root, split), mention.line, problem)
        counts["mentions differ from their annotated text"] += _differs(text, mention.annotated, pieces)
        spans.setdefault(mention.label, set()).update(Span(0, begin, end) for begin, end in pieces)
    if not text.strip():
        raise InputError(f"the text of the case '{case}' is empty.")
    rationales = {label: Rationale(tuple(sorted(found))) for label, found in sorted(spans.items()) if found}
    return Record(case, Example(text), tuple(sorted(spans)), rationales)


def _differs(text: str, annotated: str, pieces: list[tuple[int, int]]) -> bool:
    """Say whether pieces are not the annotated text; an ellipsis in it stands for what nobody can check."""
    if "..." in annotated or "…" in annotated:
        return False
    return " ".join(text[begin:end] for begin, end in pieces).split() != annotated.split()
