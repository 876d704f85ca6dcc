"""Claim E4 on pictures: methods on EfficientNet-Lite0, by faithfulness as paper 5 measures it, and by masks of animals.

    python findings/pictures.py path/to/data            all of it: about five hours of processor time, by two processes
    python findings/pictures.py path/to/data quick      four pictures of each kind; tables and section stay in build/

Accuracy is that on 150 photos, one per class of ImageNet, and on 140 photos of pets. Faithfulness: the probability of
the gold class without the top 5, 10, ..., 95 % of the pixels (Comp) and with them alone (Suff), mean over four
backgrounds. Plausibility, on the pets: is the highest pixel on the animal, which share of the scores, IoU and average
precision. MaRC scores as its authors do, by `log_mixture`. Slow methods explain 30 photos and 30 pets that are drawn
with a seed, the others these and all pets. Every run keeps what it has done text by text, so that a stopped script
goes on.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import lite0
import numpy as np
import torch
from document import HERE, WORK, Table, preview, put
from picture_tables import FAITHFUL, comparison_tables, joined, rows_of, table_of
from sheet import contact_sheet

import whylight as wl
from whylight.core.image import Image
from whylight.core.labels import ScoreSpace
from whylight.data.dataset import Dataset, Record
from whylight.models.images import ImageClassifier
from whylight.run.evaluation import Evaluation
from whylight.views.pixels import PixelBatch

MARC = "marc"
SLOW = ("occlusion", "meaningful_perturbation")
FAST = (
    "grad_cam",
    "excitation_backprop",
    "guided_backprop",
    "saliency",
    "input_x_gradient",
    "integrated_gradients[steps=100]",
)
PLAUSIBLE = ("pointing_game", "mass_in_rationale", "iou", "average_precision")
SOME, FEW = 30, 4
"""Pictures of each kind that slow methods explain, and those of a quick run."""
BACKGROUNDS = "backgrounds"
PROCESSES = 2
SHEET = HERE.parent / "docs" / "images" / "pets_by_method.jpg"
SHOWN = (MARC, *SLOW, "grad_cam", "guided_backprop", "integrated_gradients[steps=100]")
"""Methods of the contact sheet."""


@dataclass(frozen=True)
class Piece:
    """A run of its own: some methods on some pictures.

    Attributes:
        name: Of its folder.
        pets: Whether its pictures are of pets, which have masks.
        methods: The methods.
        some: How many pictures are drawn; all, if None.
        score: What methods explain; of each its own, if None.
    """

    name: str
    pets: bool
    methods: tuple[str, ...]
    some: int | None
    score: ScoreSpace | None = None


def pieces(some: int, *, every: bool) -> tuple[Piece, ...]:
    """Return the runs, the longest first: two at a time are worked on."""
    return (
        Piece("photos-marc", pets=False, methods=(MARC,), some=some, score="log_mixture"),
        Piece("pets-marc", pets=True, methods=(MARC,), some=some, score="log_mixture"),
        Piece("pets-fast", pets=True, methods=FAST, some=None if every else some),
        Piece("photos-others", pets=False, methods=(*SLOW, *FAST), some=some),
        Piece("pets-slow", pets=True, methods=SLOW, some=some),
    )


def main() -> None:
    """Measure, and put the tables into the document."""
    asked = argparse.ArgumentParser()
    asked.add_argument("data", type=Path)
    asked.add_argument("size", nargs="?", choices=["quick"])
    given = asked.parse_args()
    quick = given.size is not None
    place, some = WORK / ("pictures-quick" if quick else "pictures"), FEW if quick else SOME
    work = pieces(some, every=not quick)
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        done = [pool.submit(run_piece, given.data, one, place) for one in work]
        for one in done:
            print(one.result(), flush=True)
    runs = {one.name: wl.open_run(place / one.name) for one in work}
    photos, pets = read_photos(given.data), read_pets(given.data)
    tables = {"accuracy": accuracies({"photos": photos, "pets": pets}, most=some if quick else None)}
    tables |= tables_of(runs, {record.id for record in pets.sample(some, seed=0)})
    shown = [record.id for record in pets.sample(some, seed=0)][:6]
    sheet = contact_sheet([runs[name] for name in ("pets-marc", "pets-slow", "pets-fast")], shown, SHOWN)
    if quick:
        sheet.save(place / SHEET.name)
        preview("pictures", tables)
    else:
        sheet.save(SHEET, quality=85, optimize=True)
        put("pictures", tables)


def run_piece(data: Path, piece: Piece, place: Path) -> str:
    """Work on a run, in a process of its own with one thread; say how long that took."""
    os.nice(5)
    torch.set_num_threads(1)
    began = time.process_time()
    pictures = read_pets(data) if piece.pets else read_photos(data)
    found = measured(
        lite0.classifier(numbered=True),
        pictures if piece.some is None else pictures.sample(piece.some, seed=0),
        piece.methods,
        (*FAITHFUL, *PLAUSIBLE) if piece.pets else FAITHFUL,
        place / piece.name,
        score=piece.score,
    )
    costs = ", ".join(f"{line.method} {line.seconds:.1f} s" for line in found.summary.lines)
    return f"{piece.name}: {(time.process_time() - began) / 60:.1f} minutes of processor time; a picture: {costs}"


def read_photos(folder: Path) -> Dataset:
    """Read photos whose file names begin with the WordNet id of their class."""
    numbers = {one: str(number) for number, one in enumerate(lite0.synsets())}
    files = sorted((folder / "imagenet_samples").glob("n*.JPEG"))
    records = [Record(one.name, wl.image(one), (numbers[one.name.split("_")[0]],)) for one in files]
    return Dataset("photos", "test", tuple(sorted({one.labels[0] for one in records})), tuple(records))


def read_pets(folder: Path) -> Dataset:
    """Read pets, by the number of their class, with masks of the animal and its border."""
    return wl.dataset(f"pets:{folder / 'pets'}", label="imagenet_index", border=True)


def measured(
    clf: ImageClassifier,
    data: Dataset,
    methods: Sequence[str],
    metrics: Sequence[str],
    place: Path,
    *,
    score: ScoreSpace | None = None,
) -> Evaluation:
    """Explain and measure; the gold class is explained, as in the paper."""
    return wl.evaluate(
        clf,
        data,
        methods=list(methods),
        metrics=list(metrics),
        metric_removers=[BACKGROUNDS],
        options=wl.Options(target="gold", score=score),
        settings={f"{name}.steps": 19 for name in FAITHFUL},
        out=place,
        progress=False,
    )


def accuracies(data: Mapping[str, Dataset], *, most: int | None) -> Table:
    """Say how often the network is right, with the share of classes that it has among its first five."""
    clf, rows = lite0.classifier(numbered=True), []
    for name, own in data.items():
        some = own.records[:most]
        ranks = [_rank(clf, record) for record in some]
        first, five = (np.mean([rank < count for rank in ranks]) for count in (1, 5))
        rows.append([name, str(len(some)), f"{first:.3f}", f"{five:.3f}"])
    return Table(["pictures", "number", "accuracy", "among the first five"], rows)


def _rank(clf: ImageClassifier, record: Record) -> int:
    if not isinstance(record.example, Image):
        raise TypeError(type(record.example))
    seen = clf.preparation.seen(record.example)
    with torch.inference_mode():
        logits = clf.batch_logits(PixelBatch(clf.preparation.frame(seen)[None]))[0]
    return int((logits > logits[int(record.labels[0])]).sum())


def tables_of(runs: Mapping[str, Evaluation], drawn: set[str]) -> dict[str, Table]:
    """Return the tables of all runs; those of pets are of the pictures that every method has explained."""
    groups = {
        "photos": joined([rows_of(runs[name]) for name in ("photos-marc", "photos-others")]),
        "pets": joined([rows_of(runs[name], drawn) for name in ("pets-marc", "pets-slow", "pets-fast")]),
    }
    every = joined([rows_of(runs["pets-fast"])])
    return {"all pets": table_of(every), **comparison_tables(groups, MARC)}


if __name__ == "__main__":
    main()
