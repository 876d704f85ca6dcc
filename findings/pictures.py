"""Claim E4 on pictures: methods on EfficientNet-Lite0, by faithfulness as paper 5 measures it, and by masks of animals.

    python findings/pictures.py path/to/data            all of it: hours
    python findings/pictures.py path/to/data --few 2    two pictures of each kind; tables are printed alone

Accuracy is that on 150 photos, one per class of ImageNet, and on 140 photos of pets. Faithfulness: the probability of
the gold class without the top 5, 10, ..., 95 % of the pixels (Comp) and with them alone (Suff), mean over four
backgrounds. Plausibility, on the pets: is the highest pixel on the animal, which share of the scores, IoU and average
precision. Slow methods explain 30 photos and 30 pets that are drawn with a seed, the others these and all pets.
Everything is kept, so that a stopped script goes on.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import lite0
import numpy as np
import torch
from document import WORK, Table, put, told

import whylight as wl
from whylight.core.image import Image
from whylight.data.dataset import Dataset, Record
from whylight.models.images import ImageClassifier
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.views.pixels import PixelBatch

SLOW = ("marc[pace=10]", "occlusion", "meaningful_perturbation")
QUICK = (
    "grad_cam",
    "excitation_backprop",
    "guided_backprop",
    "saliency",
    "input_x_gradient",
    "integrated_gradients[steps=100]",
)
FAITHFUL = ("aopc_sufficiency", "aopc_comprehensiveness")
PLAUSIBLE = ("pointing_game", "mass_in_rationale", "iou", "average_precision")
SOME = 30
BACKGROUNDS = "backgrounds"


def main() -> None:
    """Measure, and put the tables into the document."""
    asked = argparse.ArgumentParser()
    asked.add_argument("data", type=Path)
    asked.add_argument("--few", type=int)
    given = asked.parse_args()
    clf, photos, pets = lite0.classifier(numbered=True), read_photos(given.data), read_pets(given.data)
    some = given.few or SOME
    place = WORK / ("pictures" if given.few is None else f"pictures-{some}")
    runs = {
        "photos": measured(clf, photos.sample(some, seed=0), (*SLOW, *QUICK), FAITHFUL, place / "photos"),
        "some pets": measured(clf, pets.sample(some, seed=0), (*SLOW, *QUICK), (*FAITHFUL, *PLAUSIBLE), place / "pets"),
    }
    if given.few is None:
        runs["all pets"] = measured(clf, pets, QUICK, (*FAITHFUL, *PLAUSIBLE), place / "all")
    tables = {"accuracy": accuracies(clf, {"photos": photos, "pets": pets}, most=given.few)}
    tables |= {name: table_of(run) for name, run in runs.items()}
    tables["differences"] = differences({name: run for name, run in runs.items() if name != "all pets"})
    if given.few is None:
        put("pictures", tables)
    else:
        print("\n\n".join(f"{name}\n{one}" for name, one in tables.items()))


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
    clf: ImageClassifier, data: Dataset, methods: Sequence[str], metrics: Sequence[str], place: Path
) -> Evaluation:
    """Explain and measure; the gold class is explained, as in the paper."""
    return wl.evaluate(
        clf,
        data,
        methods=list(methods),
        metrics=list(metrics),
        metric_removers=[BACKGROUNDS],
        options=wl.Options(target="gold"),
        settings={f"{name}.steps": 19 for name in FAITHFUL},
        out=place,
    )


def accuracies(clf: ImageClassifier, data: dict[str, Dataset], *, most: int | None) -> Table:
    """Say how often the network is right, with the share of classes that it has among its first five."""
    rows = []
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


def table_of(run: Evaluation) -> Table:
    """Return the means of all methods, with their intervals over pictures."""
    found = run.summary
    rows = [
        [
            line.method,
            *(told(line.cells[name]) if name in line.cells else "" for name in found.metrics),
            f"{line.seconds:.1f}",
        ]
        for line in found.lines
    ]
    signs = [f"{name} {'↑' if found.higher_is_better[name] else '↓'}" for name in found.metrics]
    return Table(["method", *signs, "seconds"], rows)


def differences(runs: dict[str, Evaluation], marc: str = SLOW[0]) -> Table:
    """Say how MaRC stands to each other method, picture by picture."""
    rows = [
        [where, other, one.metric, told(one.difference, sign="+"), one.standing]
        for where, run in runs.items()
        for other in [line.method for line in run.summary.lines if line.method not in {marc, "human"}]
        for one in compare_rows(select(run.scores, marc), select(run.scores, other))
        if one.metric in FAITHFUL
    ]
    return Table(["pictures", "MaRC beside", "metric", "difference", "MaRC is"], rows, names=3)


if __name__ == "__main__":
    main()
