"""What tests of runs that are asked for more share."""

from pathlib import Path
from typing import Any

import numpy as np

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.run.evaluation import Evaluation

LABELS = ["negative", "positive"]
MEASURED = ("seconds", "rows_run", "peak_megabytes")


def decide(texts: list[str]) -> Any:
    """A bag of words that is often wrong, so that texts have two labels to look at: the predicted and the gold one."""
    odds = np.exp([sum(np.sin(len(word) * ord(word[0])) for word in text.split()) for text in texts])
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


def classifier(function: Any = decide) -> Any:
    return wl.load(function, labels=LABELS, identity="decide", mask_string="_")


def texts(split: str = "test", size: int = 4) -> Dataset:
    return wl.dataset("planted:", split=split, size=size, length=8)


def plain(rows: Any) -> list[str]:
    """Rows but for what depends on the clock; as text, since what has no value equals nothing."""
    return [repr({name: value for name, value in row.items() if name not in MEASURED}) for row in rows]


def said(found: Evaluation) -> dict[str, Any]:
    """All that a run says, but for what depends on the clock; figures follow from it."""
    tables = {"explanations": found.explanations, "scores": found.scores, "curves": found.curves}
    return {name: plain(rows) for name, rows in (tables | {"tuning": found.tuning}).items()} | {"asked": found.asked}


def run(clf: Any, out: Path | None, *, data: Dataset | None = None, **asked: Any) -> Evaluation:
    return wl.evaluate(clf, data or texts(), out=out, progress=False, **{"methods": ["occlusion"], **asked})


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.parquet")}
