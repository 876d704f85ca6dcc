"""Whole data of every format and layout, for `files`."""

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

Files = Mapping[str, bytes]
Rows = list[dict[str, Any]]
OUTSIDE, SECRET = "outside.txt", "nobody may read this"
"""A file beside the data of each case, and what it holds."""


@dataclass(frozen=True)
class Case:
    """Some files, and how they are read.

    Attributes:
        name: What it is.
        files: Contents by path.
        corpus: Name of the corpus; empty for a file of one's own.
        entry: What is read, below the folder of the case.
        split: The split asked for.
        settings: Settings of the corpus.
        links: Symbolic links: where they are, and where they lead.
        sparse: Files of nothing but zeros: how many.
    """

    name: str
    files: Files
    corpus: str = ""
    entry: str = ""
    split: str = "test"
    settings: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    sparse: Mapping[str, int] = field(default_factory=dict)

    def but(self, name: str, files: Files, **changes: Any) -> "Case":
        """Return the case with other files in the place of some."""
        return replace(self, name=name, files={**self.files, **files}, **changes)

    def write(self, root: Path) -> None:
        """Write the files below a folder."""
        root.mkdir(parents=True)
        for path, content in self.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        for path, target in self.links.items():
            (root / path).unlink(missing_ok=True)
            (root / path).symlink_to(target)
        for path, size in self.sparse.items():
            with (root / path).open("wb") as stream:
                stream.truncate(size)


SINGLE: Rows = [
    {"id": "x", "text": "a fine 🎬 film", "label": "positive", "rationale": [[2, 6]], "source": "here"},
    {"id": "y", "text": "so dull", "label": "negative", "rationale": [{"start": 3, "end": 7, "text": "dull"}]},
    {"id": "z", "text": "a film", "label": "negative", "rationale": []},
]
MULTI: Rows = [
    {"text": "fever and cough", "labels": ["r50", "r05"], "rationales": {"r50": [[0, 5]], "r05": [[10, 15]]}},
    {"text": "nothing to report", "labels": [], "rationales": {}},
]
WORDS: Rows = [
    {"words": ["a", "fine", "film"], "label": 1, "rationale": [0, 1, 0], "split": "test"},
    {"text": "so dull", "tokens": ["so", "dull"], "label": 0, "rationales": [[0, 1], [1, 1], None], "split": "test"},
    {"text": "he ran", "label": 0, "pair": "he sat", "rationales": [[[0, 2]], [[1, 0, 2], [3, 6]]], "split": "test"},
]
PEOPLE: Rows = [{"text": "fever", "labels": ["r50"], "rationales": [{"r50": [[0, 5]]}, {"r50": [[0, 3]]}, {}]}]
EVIDENCE = {"docid": "one.txt", "start_token": 1, "end_token": 3, "text": "plot is"}
ERASER: Rows = [
    {"annotation_id": "one.txt", "classification": "POS", "query": "?", "evidences": [[EVIDENCE]]},
    {"annotation_id": "two.txt", "classification": "NEG", "query": "?", "evidences": []},
]
ESNLI = {"label": "entailment", "premise": ["a", "man"], "hypothesis": ["he"], "dev_index": 7}
ESNLI |= {"premise_highlight": [0, 1], "hypothesis_highlight": [1]}
CODIESP = "c1\tDIAGNOSTICO\tr50\tfiebre\t0 6\nc1\tDIAGNOSTICO\tr05\ttos\t9 12;0 6\nc2\tPROCEDIMIENTO\tb1\tx\t0 1\n"


def jsonl(rows: Rows) -> bytes:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(rows: Rows, delimiter: str = ",") -> bytes:
    """Return rows as a table, with JSON in cells that are no text."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), delimiter=delimiter)
    writer.writeheader()
    writer.writerows({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows)
    return out.getvalue().encode()


def columns(rows: Rows | Mapping[str, Any], **options: Any) -> bytes:
    """Return rows, or columns, as Parquet."""
    out = io.BytesIO()
    made = pa.Table.from_pylist(rows) if isinstance(rows, list) else pa.table(dict(rows))
    parquet.write_table(made, out, **options)
    return out.getvalue()


def own(name: str, content: bytes, **changes: Any) -> Case:
    """Return the case of one file of one's own; its ending says its format."""
    entry = "mine" + name[name.index(".") :].partition(" ")[0]
    return Case(name, {entry: content}, entry=entry, **changes)


def layouts() -> list[Case]:
    """Return whole data of every format and layout."""
    return [*_own_layouts(), *_corpora()]


def _own_layouts() -> Iterator[Case]:
    for name, rows in {"single": SINGLE, "multi": MULTI, "words": WORDS, "people": PEOPLE}.items():
        yield own(f"{name}.jsonl", jsonl(rows))
        yield own(f"{name}.csv", table(rows))
    yield own("single.jsonl.gz", gzip.compress(jsonl(SINGLE), mtime=0))
    yield own("single.tsv", table(SINGLE, "\t"))
    yield own("single.parquet", columns([{**row, "rationale": [[2, 6]]} for row in SINGLE[:1]]))
    yield own("multi.parquet", columns(MULTI))
    yield Case("folder", {"train.jsonl": jsonl(SINGLE), "validation.csv": table(SINGLE)}, split="dev")


def _corpora() -> Iterator[Case]:
    trees = b"(3 (2 a) (4 gem))\n(1 (3 good) (0 (2 but) (1 dull)))\n(2 film)\n"
    yield Case("sst", {"test.txt": trees}, "sst")
    yield Case("sst phrases", {"test.txt": trees}, "sst", settings={"rationale": "phrases"})
    yield Case("sst2", {"dev.tsv": b"sentence\tlabel\na gem \t1\nso dull \t0\n"}, "sst2", split="dev")
    yield Case("emotion", {"test.txt": b"text;label\ni feel fine;joy\ni am; sad;sadness\n"}, "emotion")
    yield Case(
        "rt", {"rt-polarity.neg": b"so dull\n" * 4, "rt-polarity.pos": b"caf\xe9\n" * 4}, "rt_polarity", split="all"
    )
    yield Case("imdb", {"test/pos/1_9.txt": b"a gem<br />yes", "test/neg/2_1.txt": b"dull"}, "imdb")
    yield Case("imdb lines", {"test.jsonl": jsonl([{"id": 1, "text": "gem", "label": "pos"}])}, "imdb")
    yield Case("yelp", {"yelp": b'1 a gem\\n\\""yes\\""\n0 dull\n'}, "yelp", settings={"clean": True})
    yield Case("esnli", {"dev_highlights.jsonl": jsonl([ESNLI, {**ESNLI, "dev_index": 8}])}, "esnli", split="dev")
    documents = {"docs/one.txt": b"the plot is thin .\nbut a joy !\n", "docs/two.txt": b"dull"}
    splits = {"test.jsonl": jsonl(ERASER), "val.jsonl": jsonl(ERASER[:1])}
    yield Case("eraser", {**splits, **documents}, "eraser")
    listed = jsonl([{"docid": Path(path).name, "document": text.decode()} for path, text in documents.items()])
    yield Case(
        "eraser lines", {"test.jsonl": jsonl(ERASER), "docs.jsonl": listed}, "eraser", settings={"query": "pair"}
    )
    cases = {f"test/text_files/c{i}.txt": b"fiebre y tos" for i in (1, 2)}
    yield Case("codiesp", {**cases, "test/testX.tsv": CODIESP.encode()}, "codiesp")
