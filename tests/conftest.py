"""Shared by all tests: the path to `tiny`, one thread (workers share the cores, processes too), and no network."""

import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that a test starts
sys.path.insert(0, str(Path(__file__).parent))

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("whylight", deadline=None, max_examples=150, derandomize=True, database=None)
settings.load_profile("whylight")
