"""A few made-up records in the public layout of each corpus that is read from files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

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


def picture(path: Path, pixels: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Pillow.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)


def images(path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (2, 6, 8, 3))
    write(path / "labels.csv", "file,label,mask\na.png,cat,a.png\nb.png,dog,\n")
    for name, pixels in zip("ab", noise, strict=True):
        picture(path / "images" / f"{name}.png", pixels)
    picture(path / "masks" / "a.png", np.pad(np.full((2, 3), 255), ((1, 3), (2, 3))))


def pets(path: Path) -> None:
    write(path / "labels.csv", "file,breed,imagenet_index\na_1.jpg,pug,254\nb_2.jpg,boxer,242\n")
    for name in ("a_1", "b_2"):
        picture(path / "images" / f"{name}.jpg", np.random.default_rng(1).integers(0, 256, (6, 8, 3)))
        picture(path / "trimaps" / f"{name}.png", np.pad(np.full((2, 3), 1), ((1, 3), (2, 3)), constant_values=2))


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
    "images": (images, ("test",)),
    "pets": (pets, ("test",)),
}
"""What writes a corpus into a folder, and the splits that are there then."""
