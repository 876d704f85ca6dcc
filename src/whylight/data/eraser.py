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
from typing import Literal

from whylight.core.errors import InputError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data import _reading, _tokens
from whylight.data._checks import Flaw, add, label_of, name_of, quotable, visible_text
from whylight.data._reading import RawRow, Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

FILES = {"train": "train.jsonl", "dev": "val.jsonl", "test": "test.jsonl"}
SENTIMENT = {"NEG": "negative", "POS": "positive"}
"""The movies' classes get the names that they have in the other sentiment corpora."""
TOKEN = re.compile(r"[^ \r\n]+")


@corpus(cite="deyoung2020", splits=tuple(FILES))
def eraser(path: Path, split: str, reading: Reading, *, query: Literal["auto", "pair", "ignore"] = "auto") -> Dataset:
    """Any ERASER folder with one document a record, such as the movie reviews."""
    file = _reading.find_file(path, FILES[split])
    rows = _rows_by_split(path, split, reading)
    every = [row for some in rows.values() for _, row in some]
    queries = {row["query"] for row in every if isinstance(row.get("query"), str)}
    as_pair = query == "pair" or (query == "auto" and len(queries) > 1)
    documents = _listed_documents(path, reading.aside())
    records: dict[str, Record] = {}
    counts: Counter[str] = Counter()
    for number, row in rows[split]:
        try:
            evidences = _evidences(row)
            text = _document_text(_document_identifier(row, evidences), documents, path, reading)
            own = Counter[str]()
            record = _record(row, evidences, text, as_pair=as_pair, counts=own)
            add(records, record.id, record)
            counts += own
        except InputError as flaw:
            reading.drop(file, number, flaw)
    labels = tuple(sorted({_label(row) for row in every if isinstance(row.get("classification"), str)}))
    notes = [f"{count} {what}" for what, count in sorted(counts.items()) if count]
    notes += ["the query is the pair"] if as_pair else []
    return Dataset("eraser", split, labels, tuple(records.values()), notes=tuple(notes))


def _rows_by_split(path: Path, split: str, reading: Reading) -> dict[str, list[tuple[int, RawRow]]]:
    """Return the rows of every split that is there; only what is broken in the one asked for counts as dropped."""
    return {
        s: list((reading if s == split else reading.aside()).json_lines(path / name))
        for s, name in FILES.items()
        if (path / name).is_file()
    }


def _listed_documents(path: Path, reading: Reading) -> Mapping[str, object]:
    """Return the documents of `docs.jsonl`; those of a `docs` folder are read when they are needed."""
    file = path / "docs.jsonl"
    if not file.is_file():
        return {}
    rows = (row for _, row in reading.json_lines(file))
    return {row["docid"]: row.get("document") for row in rows if isinstance(row.get("docid"), str)}


def _evidences(row: RawRow) -> list[RawRow]:
    """Return the pieces of evidence of a record, whatever groups they are in."""
    if not isinstance(row.get("classification"), str) or not isinstance(row.get("evidences"), list):
        raise Flaw("has no 'classification' or no 'evidences', as ERASER records do")
    groups = row["evidences"]
    found = [evidence for group in groups if isinstance(group, list) for evidence in group]
    if not all(isinstance(group, list) for group in groups) or not all(isinstance(one, dict) for one in found):
        raise Flaw("has 'evidences' that are not groups of {docid, start_token, end_token, text}")
    return found


def _record(row: RawRow, evidences: list[RawRow], text: str, *, as_pair: bool, counts: Counter[str]) -> Record:
    """Build one record; what does not fit is counted."""
    tokens = _tokens.found(text, pattern=TOKEN)
    spans: dict[Span, None] = {}  # in the order of the file, each once
    for evidence in evidences:
        span = _span(tokens, evidence)
        if span is None:
            counts["empty evidences are dropped"] += 1
            continue
        spans[span] = None
        written = evidence.get("text")
        counts["evidence texts are not those of their tokens; the token ranges are taken"] += (
            isinstance(written, str) and text[span.start : span.end].split() != written.split()
        )
    example = _example(text, tokens, row.get("query") if as_pair else None)
    label = _label(row)
    return Record(
        name_of(row.get("annotation_id"), "annotation_id"),
        example,
        (label,),
        {label: Rationale(tuple(spans))} if spans else {},
    )


def _label(row: RawRow) -> str:
    name = label_of(row["classification"])
    return SENTIMENT.get(name, name)


def _document_text(identifier: str, documents: Mapping[str, object], path: Path, reading: Reading) -> str:
    if identifier in documents:
        return visible_text(documents[identifier], "document")
    file = _reading.inside(path / "docs", identifier)
    if file is None:
        raise Flaw(f"names the document '{quotable(identifier)}', which is neither in docs/ nor in docs.jsonl")
    return visible_text(reading.whole(file), "document")


def _document_identifier(row: RawRow, evidences: list[RawRow]) -> str:
    """Return the one document that a record is about."""
    listed = row.get("docids") or []
    if not isinstance(listed, list):
        raise Flaw(f"has the 'docids' {quotable(listed)} instead of a list")
    named = {name_of(name, "docid") for name in (*listed, *(evidence.get("docid") for evidence in evidences))}
    if len(named) > 1:
        raise Flaw(f"is about {len(named)} documents; only ERASER tasks with one document a record are read")
    return named.pop() if named else name_of(row.get("annotation_id"), "annotation_id")


def _span(tokens: tuple[Span, ...], evidence: RawRow) -> Span | None:
    """Return the characters of an evidence, or None if it marks nothing."""
    start, end = evidence.get("start_token"), evidence.get("end_token")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= len(tokens):
        raise Flaw(f"marks the tokens {quotable(start)} to {quotable(end)}; its document has {len(tokens)}")
    return _tokens.cover(tokens, start, end) if start < end else None


def _example(text: str, tokens: tuple[Span, ...], query: object) -> Text:
    if query is None or query == "":
        return Text(text, words=tokens)
    query = visible_text(query, "query")
    return Text(text, query, words=(*tokens, *_tokens.found(query, part=1, pattern=TOKEN)))
