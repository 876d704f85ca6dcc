"""ERASER folders: documents with human rationales, such as the movie reviews.

Layout: `train.jsonl`, `val.jsonl`, `test.jsonl` and the documents, in `docs/DOCID` or in `docs.jsonl` (`docid`,
`document`). A record has `annotation_id`, `classification`, `query` and `evidences`, groups of `{docid, start_token,
end_token, text}`. Tokens are what blanks and line ends separate. Counts of the movies: 1600/200/199; their test split
is the comprehensive re-annotation (31 % of the tokens marked, 9 % in train), so that train and test rationales differ
in kind.

Text: the document untouched, with line ends and the few control characters. Words: its tokens. Rationale: each
evidence, as annotated, from its first to its last token (overlapping ones are not merged). Evidence
without a token is dropped, and evidence whose text is not that of its tokens is kept; both are counted into the notes.
A range outside the document is an error.

The query becomes the pair if queries differ within the corpus (`query=pair` and `query=ignore` force it): the movies
ask one question of all. A record over several documents is refused.

Reference: DeYoung et al. 2020; the movies are Zaidan and Eisner's 2008. Paper 3 marks every occurrence of an
evidence's words in the document, which this does not.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from whylight.core.errors import InputError
from whylight.core.example import Example, Span
from whylight.core.rationale import Rationale
from whylight.data import _reading, _tokens
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

FILES = {"train": "train.jsonl", "dev": "val.jsonl", "test": "test.jsonl"}
SENTIMENT = {"NEG": "negative", "POS": "positive"}
"""The movies' classes get the names that they have in the other sentiment corpora."""
TOKEN = re.compile(r"[^ \r\n]+")
Row = dict[str, Any]


@corpus(cite="deyoung2020", splits=tuple(FILES))
def eraser(path: Path, split: str, *, query: Literal["auto", "pair", "ignore"] = "auto") -> Dataset:
    """Any ERASER folder with one document a record, such as the movie reviews."""
    file = _reading.find(path, FILES[split])
    rows = {s: list(_reading.json_lines(path / name)) for s, name in FILES.items() if (path / name).is_file()}
    every = [row for some in rows.values() for _, row in some]
    as_pair = query == "pair" or (query == "auto" and len({str(row.get("query")) for row in every}) > 1)
    documents = _documents(path)
    records: list[Record] = []
    counts: Counter[str] = Counter()
    for number, row in rows[split]:
        try:
            records.append(_record(row, documents, path=path, as_pair=as_pair, counts=counts))
        except InputError as error:
            raise _reading.broken(file, number, str(error)) from None
    labels = tuple(sorted({_label(row) for row in every}))
    notes = [f"{count} {what}" for what, count in sorted(counts.items()) if count]
    notes += ["the query is the pair"] if as_pair else []
    return Dataset("eraser", split, labels, tuple(records), notes=tuple(notes))


def _documents(path: Path) -> Mapping[str, str]:
    """Return the documents of `docs.jsonl`; those of a `docs` folder are read when they are needed."""
    file = path / "docs.jsonl"
    if not file.is_file():
        return {}
    return {str(row.get("docid")): str(row.get("document")) for _, row in _reading.json_lines(file)}


def _record(row: Row, documents: Mapping[str, str], *, path: Path, as_pair: bool, counts: Counter[str]) -> Record:
    """Build one record; what does not fit is counted."""
    if not isinstance(row.get("classification"), str) or not isinstance(row.get("evidences"), list):
        raise InputError("has no 'classification' or no 'evidences', as ERASER records do")
    evidences = [evidence for group in row["evidences"] for evidence in group]
    if not all(isinstance(evidence, dict) for evidence in evidences):
        raise InputError("has 'evidences' that are not groups of {docid, start_token, end_token, text}")
    text = _text(_document_identifier(row, evidences), documents, path)
    tokens = _tokens.found(text, pattern=TOKEN)
    spans: dict[Span, None] = {}  # in the order of the file, each once
    for evidence in evidences:
        span = _span(tokens, evidence)
        if span is None:
            counts["empty evidences are dropped"] += 1
            continue
        spans[span] = None
        written = str(evidence.get("text", "")).split()
        counts["evidence texts are not those of their tokens; the token ranges are taken"] += (
            "text" in evidence and text[span.start : span.end].split() != written
        )
    example = _example(text, tokens, str(row.get("query") or "") if as_pair else "")
    label = _label(row)
    return Record(str(row.get("annotation_id")), example, (label,), {label: Rationale(tuple(spans))} if spans else {})


def _label(row: Row) -> str:
    name = str(row.get("classification"))
    return SENTIMENT.get(name, name)


def _text(identifier: str, documents: Mapping[str, str], path: Path) -> str:
    if identifier in documents:
        return documents[identifier]
    file = path / "docs" / identifier
    if not file.is_file():
        raise InputError(f"names the document '{identifier}', which is neither in docs/ nor in docs.jsonl")
    return _reading.whole(file)


def _document_identifier(row: Row, evidences: list[Row]) -> str:
    """Return the one document that a record is about."""
    named = {str(name) for name in row.get("docids") or ()} | {str(e.get("docid")) for e in evidences}
    if len(named) > 1:
        raise InputError(f"is about {len(named)} documents; only ERASER tasks with one document a record are read")
    return named.pop() if named else str(row.get("annotation_id"))


def _span(tokens: tuple[Span, ...], evidence: Row) -> Span | None:
    """Return the characters of an evidence, or None if it marks nothing."""
    start, end = evidence.get("start_token"), evidence.get("end_token")
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(tokens):
        raise InputError(f"marks the tokens {start} to {end}; its document has {len(tokens)}")
    return _tokens.cover(tokens, start, end) if start < end else None


def _example(text: str, tokens: tuple[Span, ...], query: str) -> Example:
    if not query.strip():
        return Example(text, words=tokens)
    return Example(text, query, words=(*tokens, *_tokens.found(query, part=1, pattern=TOKEN)))
