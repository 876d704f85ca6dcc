"""Functions that stand for models in runs of several processes, which must be able to import them."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

LABELS = {"labels": ["negative", "positive"], "identity": "rule"}
DIED = "DIED_IN"
"""The environment variable that names a folder in which deaths are noted."""


def by_length(texts: list[str]) -> Any:
    """More characters speak for the second label."""
    share = np.asarray([min(0.9, 0.1 + 0.01 * len(text)) for text in texts])
    return np.stack([1 - share, share], axis=1)


def failing(texts: list[str]) -> Any:
    """Answer, but for some texts."""
    if any("FAILS" in text for text in texts):
        raise ValueError("there is no answer")
    return by_length(texts)


def slow(texts: list[str]) -> Any:
    """Answer after a while, and not always."""
    time.sleep(0.1)
    return failing(texts)


def deadly(texts: list[str]) -> Any:
    """Answer, or end the process."""
    if any("KILLS" in text for text in texts):
        os._exit(9)
    return by_length(texts)


def mortal(texts: list[str]) -> Any:
    """Answer, or end the process once."""
    mark = Path(os.environ[DIED]) / "died"
    if any("ONCE" in text for text in texts) and not mark.exists():
        mark.touch()
        os._exit(9)
    return by_length(texts)
