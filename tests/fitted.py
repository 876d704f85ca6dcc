"""Attribution networks for tiny classifiers: as they are before they are fitted, in folders that say whose they are."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import tiny
from whylight.models.fitting import new_attributor
from whylight.models.quiet import quiet
from whylight.models.trial import quantised
from whylight.views.attributor import DualMask

OWN = {
    f"{name}ForSequenceClassification"
    for name in ("Bert", "Roberta", "XLMRoberta", "DistilBert", "Electra", "Albert", "DebertaV2", "ModernBert",
                 "BigBird", "PlmCa")
}  # fmt: skip
"""Tiny models whose encoder reads both ways, so that a network can start from it."""
_FOLDERS: dict[tuple[str, ...], str] = {}


@cache
def _place() -> Path:
    place = Path(tempfile.mkdtemp(prefix="whylight-fitted-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@cache
def encoder(architecture: str = "bert") -> str:
    """A folder with a tiny encoder."""
    folder = _place() / f"encoder-{architecture}"
    with quiet():
        tiny.model(architecture, seed=7).save_pretrained(folder)
        tiny.tokenizer(tiny.style_of(architecture)).save_pretrained(folder)
    return str(folder)


def folder(clf: Any) -> str:
    """A folder that is of this classifier; its network has a random head."""
    key = tuple(clf.contents().values()) if clf.contents() else ("nobody",)
    if key not in _FOLDERS:
        _FOLDERS[key] = str(_place() / str(len(_FOLDERS)))
        if hasattr(clf, "network"):
            save(attributor(clf), _FOLDERS[key])
    return _FOLDERS[key]


def attributor(clf: Any, **mask: Any) -> Any:
    """A network as it is before it is fitted, on the classifier's own encoder; a tiny BERT where that will not do."""
    own = clf.architecture in OWN and quantised(clf.model) is None
    asked = DualMask(**mask)
    return new_attributor(clf, None if own else encoder(), mask=asked, metric="comprehensiveness", seed=1)


def save(found: Any, place: str | Path) -> None:
    with quiet():
        found.network.save_pretrained(place)
        found.tokenizer.save_pretrained(place)
