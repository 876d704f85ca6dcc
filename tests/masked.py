"""Masked language models for tests: a tiny one with random weights, and one that says what it is told."""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM

import tiny
from whylight.core.arrays import Ints
from whylight.core.registry import REMOVERS
from whylight.models.infill import MaskedFiller
from whylight.models.masked import MaskedModel
from whylight.models.quiet import quiet
from whylight.views.filling import Filler, Likely
from whylight.views.tokens import TokenBatch

Says = Callable[[Ints, int], dict[str, float]]
"""A row without its blanks filled, and a place -> words and probabilities."""


def network(architecture: str = "bert", seed: int = 3) -> Any:
    torch.manual_seed(seed)
    return tiny.enlarge(AutoModelForMaskedLM.from_config(tiny.config(architecture))).eval()


def model(architecture: str = "bert") -> MaskedModel:
    return MaskedModel(network(architecture), tiny.tokenizer(tiny.style_of(architecture)), name=f"tiny {architecture}")


@cache
def folder() -> str:
    """A folder with the tiny one."""
    place = tempfile.mkdtemp(prefix="whylight-masked-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return str(saved(Path(place)))


def saved(place: Path) -> Path:
    """Write the tiny one into a folder."""
    with quiet():
        network().save_pretrained(place)
        tiny.tokenizer("bert").save_pretrained(place)
    return place


def given(remover: str) -> dict[str, str]:
    """A masked language model, for a remover that needs one; the bundled one would take its time."""
    return {"model": folder()} if Filler in REMOVERS[remover].consumes else {}


def filler(clf: Any, architecture: str = "bert") -> MaskedFiller:
    own = getattr(clf, "network", None)
    return MaskedFiller(model(architecture), own and own.tokenizer, limit=None if own is None else own.limit)


class Told(MaskedFiller):
    """One that fills blanks with words that a test names."""

    def __init__(self, clf: Any, says: Says) -> None:
        own = getattr(clf, "network", None)
        super().__init__(model(), own and own.tokenizer, limit=None if own is None else own.limit)
        self.says = says

    def likely(
        self, rows: TokenBatch, blanks: Sequence[Ints], stands: Sequence[Ints], *, top: int, fragments: bool
    ) -> list[Likely]:
        del stands, fragments
        found = []
        for row, own in zip(rows.ids, blanks, strict=True):
            said = [self.says(row, int(place)) for place in own]
            tokens = [[self.masked.tokenizer.convert_tokens_to_ids(word) for word in one] for one in said]
            found.append(Likely(np.asarray(tokens)[:, :top], np.asarray([list(one.values()) for one in said])[:, :top]))
        return found
