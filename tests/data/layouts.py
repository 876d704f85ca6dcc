"""A few made-up records in the public layout of each corpus that is read from files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))


def lines(path: Path, rows: list[Row]) -> None:
    write(path, "".join(json.dumps(row) + "\n" for row in rows))


def sst(path: Path) -> None:
    for split in ("train", "dev", "test"):
        write(path / f"{split}.txt", f"(3 (2 a) (4 (3 fine) (2 {split})))\n(1 (2 a) (0 bore))\n")


def sst2(path: Path) -> None:
    for split in ("train", "dev"):
        write(path / f"{split}.tsv", f"sentence\tlabel\nit 's {split} \t1\na bore \t0\n")
    write(path / "test.tsv", "index\tsentence\n0\tso so .\n")


def emotion(path: Path) -> None:
    for split in ("train", "val", "test"):
        write(path / f"{split}.txt", f"i feel well; {split};joy\ni am afraid;fear\n")


def rt_polarity(path: Path) -> None:
    for suffix in ("pos", "neg"):
        rows = "".join(f"{suffix} sentence {i} – café …\n" for i in range(20))
        write(path / f"rt-polarity.{suffix}", rows, "cp1252")


def imdb(path: Path) -> None:
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            write(path / split / label / "0_9.txt", f"Fine {split}.<br /><br />Really {label}.")


def yelp(path: Path) -> None:
    write(path / "yelp", "1 good food .\n0 bad food .\n")


def esnli(path: Path) -> None:
    row = {
        "dev_index": 7,
        "label": "contradiction",
        "premise": ["Two", "men", "sit", "still", "."],
        "hypothesis": ["They", "", "run", "."],
        "premise_highlight": [0, 0, 1, 1, 0],
        "hypothesis_highlight": [0, 1, 1, 0],
    }
    lines(path / "dev_highlights_some.jsonl", [row])


def eraser(path: Path) -> None:
    write(path / "docs" / "one.txt", "the plot is thin .\nbut the cast is a joy !\n")
    evidence = [{"docid": "one.txt", "start_token": 3, "end_token": 5, "text": "thin ."}]
    row = {"annotation_id": "one.txt", "classification": "NEG", "evidences": [evidence], "query": "good ?"}
    for split in ("train", "val", "test"):
        lines(path / f"{split}.jsonl", [row])


def codiesp(path: Path) -> None:
    for split in ("train", "dev", "test"):
        write(path / split / "text_files" / "c0.txt", "Varón con fiebre.\r\nTos seca.\n")
        write(path / split / f"{split}X.tsv", "c0\tDIAGNOSTICO\tr50.9\tfiebre\t10 16\n")


def files(path: Path) -> None:
    marked = {"text": "a fine film", "label": "positive", "rationale": [[2, 6]]}
    for split in ("train", "test"):
        lines(path / f"{split}.jsonl", [marked, {"text": f"a dull {split}", "label": "negative"}])


LAYOUTS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "sst": (sst, ("train", "dev", "test")),
    "sst2": (sst2, ("train", "dev", "test")),
    "emotion": (emotion, ("train", "dev", "test")),
    "rt_polarity": (rt_polarity, ("train", "dev", "test", "all")),
    "imdb": (imdb, ("train", "test")),
    "yelp": (yelp, ("test",)),
    "esnli": (esnli, ("dev",)),
    "eraser": (eraser, ("train", "dev", "test")),
    "codiesp": (codiesp, ("train", "dev", "test")),
    "files": (files, ("train", "test")),
}
"""What writes a corpus into a folder, and the splits that are there then."""
