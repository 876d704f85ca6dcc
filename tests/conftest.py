"""Shared by all tests: the path to `tiny`, one thread (workers share the cores, processes too), and no network."""

import gc
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that a test starts
sys.path.insert(0, str(Path(__file__).parent))

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("whylight", deadline=None, max_examples=75, derandomize=True, database=None)
settings.load_profile("whylight")

LONGEST = ("training", "campaign", "findings", "run", "study", "contracts", "testing")
"""Folders with the files that take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is left with one at the end."""

    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Leave what was imported out of every later collection of garbage: each training asks for one, and it is long."""
    gc.freeze()
