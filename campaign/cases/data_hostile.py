"""Data that were made by hand to break their readers, for `files`."""

import gzip
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from cases.data_layouts import CODIESP, ERASER, EVIDENCE, OUTSIDE, Case, Rows, columns, jsonl, layouts, own

BYTES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n", b"\n\n", b"\xc3", b"\xed\xa0\x80", b"\x1b[31m"),
    *(
        b'"',
        b"'",
        b",",
        b"\t",
        b";",
        b"(",
        b")",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b"\\ud800",
        b"\\u0000",
        b"\xe2\x80\xa8",
    ),
    *(b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b"(2 " * 3000, b"NaN", b"-Infinity", b"null", b"../", b"\xc2\x85"),
)
"""What is put into files."""
KEYS = (
    "text",
    "texts",
    "Text",
    "pair",
    "label",
    "labels",
    "rational",
    "rationales",
    "words",
    "tokens",
    "split",
    "id",
    "",
)


def cases(scale: float) -> Iterator[Case]:
    """Yield the layouts as they are, and what was made by hand to break them."""
    yield from layouts()
    good = '{"text": "good", "label": "x"}\n'
    for number, line in enumerate(LINES):
        yield own(f"line {number}.jsonl", f"{good}{line}\n{good}".encode("utf-8", "surrogatepass"))
    for number, content in enumerate(TABLES):
        yield own(f"table {number}.csv", content)
        yield own(f"table {number}.tsv", content.replace(b",", b"\t"))
    yield from _trees_and_tables()
    yield from _ways_out()
    yield from _odd_parquet()
    yield from _bombs(scale)


DEEP = 100_000
LINES = (
    *(
        '{"text": "a", "label": ' + value + "}"
        for value in ("true", "null", "1.5", "{}", "[]", "NaN", "1e999", '""', '" "')
    ),
    *('{"text": "a", "label": ' + "9" * digits + "}" for digits in (4000, 5000, 100_000)),
    '{"text": "a", "label": "' + "9" * 5000 + '"}',
    *(
        '{"text": ' + value + ', "label": "x"}'
        for value in ("3", "null", "[]", '"\\ud83d"', '" "', '"\\u0000"', '"a\\u202eb"')
    ),
    '{"text": "a", "label": "\\ud800"}',
    '{"text": "a", "label": "x", "id": ["y"]}',
    '{"text": "a", "label": "x", "id": true}',
    '{"text": "a", "label": "x", "id": "\\ud800"}',
    '{"text": "a", "label": "x", "id": ' + "[" * 900 + "]" * 900 + "}",
    '{"text": "a", "label": "x", "split": {}}',
    '{"text": "a", "label": "x", "split": "train"}',
    *(
        '{"text": "abc", "label": "x", "rationale": ' + value + "}"
        for value in (
            *(
                "5",
                "null",
                '"a"',
                "{}",
                "[0, 1]",
                "[[1, 2, 3]]",
                "[[0]]",
                "[[2, 1]]",
                "[[-1, 2]]",
                "[[0, 99]]",
                "[[0, 1.5]]",
            ),
            *(
                '[["0", "1"]]',
                "[[false, true]]",
                "[[NaN, 1]]",
                "[[0, 1], null]",
                "[[0, 1], 5]",
                "[[" + "9" * 4000 + ", 1]]",
            ),
            *('[{"start": 0}]', '[{"start": 0, "end": "1"}]', '[{"start": 1, "end": 2, "text": "zz"}]', "[[[[0, 1]]]]"),
            "[" * 900 + "]" * 900,
        )
    ),
    *(
        '{"text": "abc", "labels": ["x"], "rationales": ' + value + "}"
        for value in (
            *(
                "[1, 2]",
                "[[1, 2, 3]]",
                '[["x", [[0, 1]]]]',
                '[[["x"], 1]]',
                '{"x": 5}',
                '{"y": [[0, 1]]}',
                "[null]",
                "[[]]",
            ),
            *('[{"x": [[0, 1]]}, 5]', '"{"', '"[1]"', '{"x": {"start": 0, "end": 1}}'),
        )
    ),
    '{"text": "abc", "label": "x", "rationales": {"x": [[0, 1]]}}',
    '{"text": "abc", "label": "x", "rationales": [[[0, 1]], [[1, 2]], []]}',
    '{"text": "abc", "label": "x", "labels": ["x"]}',
    '{"text": "abc", "label": "x", "rational": [[0, 1]]}',
    '{"text": "abc", "label": "x", "text": "twice"}',
    '{"text": "abc", "label": "x", "words": ["a"], "rationale": [1]}',
    '{"text": "abc", "label": "x", "words": ["abc"], "pair": "p", "rationale": [1]}',
    '{"text": "abc", "label": "x", "tokens": 57}',
    "[" * DEEP,
    '{"a":' * DEEP,
    '{"text": "a", "label": "x", "more": ' + "[" * DEEP + "]" * DEEP + "}",
    '{"text": "a", "label": "x", "more": 0.' + "1" * 100_000 + "}",
    "\ud800",
    *("null", "5", '"text"', "[]", "{}", "\x00", "'", "{'text': 'a'}", "\ufeff{}", "text", "\x85"),
)
"""Lines between two good ones."""
TABLES = (
    *(b"", b"\n", b"text,label\n", b"label\nx\n", b"text,label\na\n", b"text,label\na,b,c\n", b'text,label\n"a,x\n'),
    *(
        b'text,label\n"a"b,x\n',
        b"text,text\na,b\n",
        b"text,label,text\na,b,c\n",
        b"Text,Label\na,b\n",
        b",text,label\n0,a,x\n",
    ),
    *(
        b"text,label\n\x00,x\n",
        b"text,label\ncaf\xe9,x\nok,y\n",
        b"\xff\xfet\x00",
        b"text,label\r\na,x\r\n",
        b"text,label\ra,x\r",
    ),
    *(b"text,label,rationale\nab,x,0-1\n", b"text,label,rationale\nab,x," + b"[" * 5000 + b"\n", b"text,labels\na,x\n"),
    *(
        b"text,label\n" + b"a" * 200_000 + b",x\n",
        b"text," * 5000 + b"label\n",
        b"text,label\n" + b'"' * 9999 + b",x\n",
    ),
    *(
        b"text,label,words\na b,x,[\n",
        b'text,label\n"two\nlines",x\n',
        b"text,label\n,x\n",
        b"text,label\na,\n",
        b"text;label\na;x\n",
    ),
)
"""Tables, with commas or tabs."""


def _trees_and_tables() -> Iterator[Case]:
    by_name = {case.name: case for case in layouts()}
    deep = "(3 " * 3000 + "gem" + ")" * 3000
    side = "(2 (2 a) " * 20_000 + "(4 gem)" + ")" * 20_000
    for number, line in enumerate(
        (deep, side, "(3 " * 3000, ")" * 3000, "(3", "()", "(9 a)", "(3 (2 a) b)", "3 a", "\x00")
    ):
        for name in ("sst", "sst phrases"):
            yield by_name[name].but(f"{name} tree {number}", {"test.txt": f"(3 gem)\n{line}\n".encode()})
    for number, rows in enumerate(
        ("c1\n", "c1\tX\tr\tt\t0 6\n", "c1\tDIAGNOSTICO\t\tt\t0 6\n", "c9\tDIAGNOSTICO\tr\tt\t0 6\n")
    ):
        yield by_name["codiesp"].but(f"codiesp row {number}", {"test/testX.tsv": rows.encode()})
    for number, offsets in enumerate(
        ("6 0", "-1 2", "0 99", "a b", "0", "0 " + "9" * 5000, "0 6;", "7 7", "6 7", "0.5 2")
    ):
        row = f"c1\tDIAGNOSTICO\tr50\tx\t{offsets}\n".encode()
        yield by_name["codiesp"].but(f"codiesp offsets {number}", {"test/testX.tsv": row + CODIESP.encode()})
    for number, change in enumerate(ERASER_CHANGES):
        changed = jsonl([{**ERASER[0], **change}, ERASER[1]])
        yield by_name["eraser"].but(f"eraser change {number}", {"test.jsonl": changed})
    yield by_name["eraser"].but("eraser id twice", {"test.jsonl": jsonl([ERASER[0], ERASER[0]])})
    yield by_name["sst2"].but("sst2 empty", {"dev.tsv": b"sentence\tlabel\n \t1\nok\t1\n"})


ERASER_CHANGES: Rows = [
    *({"evidences": value} for value in (5, None, [5], [None], [[5]], [[None]], [[]], {"a": 1}, [[{}]], "x")),
    *({"evidences": [[{**EVIDENCE, "start_token": value}]]} for value in (None, "1", 1.5, True, -1, 3, 99, 10**30, [])),
    *(
        {"evidences": [[{**EVIDENCE, "docid": value}]]}
        for value in (None, 5, [], "", "\x00", "a" * 5000, "\ud800", ".")
    ),
    *({"annotation_id": value, "evidences": []} for value in (None, [], {}, 5, True, "", "none.txt", "a/b", "docs")),
    *({"classification": value} for value in (None, 5, "", "\ud800", [])),
    *({"docids": value} for value in (5, "one.txt", [None], ["one.txt"], [[]])),
    *({"query": value} for value in (None, 5, "\ud800", "", " ", [])),
]


def _ways_out() -> Iterator[Case]:
    """Names and links that lead out of the data."""
    by_name = {case.name: case for case in layouts()}
    out = f"../../{OUTSIDE}"
    for name in (out, f"../docs/{out}", f"./{out}", f"one.txt/../{out}", "/etc/passwd", "../test.jsonl"):
        row = {**ERASER[0], "annotation_id": name, "evidences": []}
        yield by_name["eraser"].but(f"eraser names {name}", {"test.jsonl": jsonl([row, ERASER[1]])})
    yield by_name["eraser"].but("eraser link", {}, links={"docs/one.txt": f"../../{OUTSIDE}"})
    yield by_name["eraser"].but("eraser loop", {}, links={"docs/one.txt": "one.txt"})
    yield by_name["codiesp"].but("codiesp link", {}, links={"test/text_files/c1.txt": f"../../../{OUTSIDE}"})
    yield by_name["imdb"].but("imdb link", {}, links={"test/pos/1_9.txt": f"../../../{OUTSIDE}"})
    mention = f"../../../{OUTSIDE[:-4]}\tDIAGNOSTICO\tr50\tx\t0 1\n".encode()
    yield by_name["codiesp"].but("codiesp names", {"test/testX.tsv": mention})
    for name in ("a\nb.jsonl", "a\x1b[31m.jsonl", "a\u202eb.jsonl", "[red].jsonl"):
        yield Case(f"called {name!r}", {name: b"{}\n"}, entry=name)
    yield Case("a folder called as a file", {"mine.jsonl/x.txt": b""}, entry="mine.jsonl")
    yield Case("a folder for a split", {"test.txt/x": b""}, "sst")
    for name in ("mine.zip", "mine.jsonl.bz2", "mine.jsonl.zst", "mine.txt", "mine", "mine.json"):
        yield Case(name, {name: b"PK\x03\x04"}, entry=name)


def _odd_parquet() -> Iterator[Case]:
    text = pa.array(["ab"])
    values: dict[str, Any] = {
        "bytes": pa.array([b"\xff"]),
        "a date": pa.array([10**17], pa.timestamp("ms")),
        "a decimal": pa.array([1]).cast(pa.decimal128(38)),
        "a map": pa.array([[("ab", [[0, 1]]), ("ab", [[1, 2]])]], pa.map_(pa.string(), pa.list_(pa.list_(pa.int64())))),
        "a dictionary": pa.array(["ab"]).dictionary_encode(),
        "nothing": pa.nulls(1),
        "a structure": pa.array([{"x": [[0, 1]]}]),
        "truth": pa.array([True]),
        "not a number": pa.array([float("nan")]),
    }
    for what, value in values.items():
        yield own(f"text is {what}.parquet", columns({"text": value, "label": text}))
        yield own(f"label is {what}.parquet", columns({"text": text, "label": value}))
        yield own(f"rationales are {what}.parquet", columns({"text": text, "label": text, "rationales": value}))
        yield own(f"more is {what}.parquet", columns({"text": text, "label": text, "more": value}))
    yield own("not UTF-8.parquet", columns({"text": pa.array([b"\xff"]).view(pa.string()), "label": text}))
    yield own("no row.parquet", columns({"text": text[:0], "label": text[:0]}))
    yield own("no column.parquet", columns({"label": text}))


def _bombs(scale: float) -> Iterator[Case]:
    """Small files that unpack to much, and long lines; smaller ones in a short run."""
    size = 2**31 if scale >= 1 else 2**28
    block = gzip.compress(b"a" * 2**22, mtime=0)
    yield own("one line.jsonl.gz", block * (size >> 22))
    yield own("blank lines.jsonl.gz", gzip.compress(b"\n" * 2**22, mtime=0) * (size >> 22))
    record = b'{"text": "a", "label": "x", "id": null}\n'
    yield own("records.jsonl.gz", gzip.compress(record * 2**17, mtime=0) * (size >> 23))
    for ending in (".jsonl", ".csv", ".tsv"):
        entry = f"mine{ending}"
        yield Case(f"one line{ending}", {}, entry=entry, sparse={entry: size})
    yield Case("one document", {"test/pos/1.txt": b"", "test/neg/2.txt": b"x"}, "imdb", sparse={"test/pos/1.txt": size})
    repeated = pa.array(["a" * 2**22]).dictionary_encode().take(pa.array([0] * (size >> 22)))
    bomb = columns({"text": repeated, "label": repeated}, compression="zstd", use_dictionary=True)
    yield own("one value again and again.parquet", bomb, settings={"max_file_bytes": 2**27})
