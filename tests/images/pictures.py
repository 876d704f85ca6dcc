"""Tiny models of pictures, with known answers, and pictures to show them."""

import numpy as np
import torch
from PIL import Image as Pillow
from torch import Tensor, nn

from whylight.core.image import Image
from whylight.core.labels import Labels
from whylight.models.images import ImageClassifier
from whylight.models.preparation import Preparation

SIDE = 28
MEAN, DEVIATION = (0.5, 0.25, 0.75), (0.5, 0.25, 0.25)


def picture(height: int = SIDE, width: int = SIDE, *, seed: int = 0) -> Image:
    """Draw a picture of noise."""
    return Image.of(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8), name="noise.png")


def prepare(pillow: object) -> Tensor:
    """Shorten the shorter side to 32, cut 28 x 28 out of the middle, and normalise."""
    assert isinstance(pillow, Pillow.Image)
    width, height = pillow.size
    scale = 32 / min(width, height)
    resized = pillow.resize((round(width * scale), round(height * scale)), Pillow.Resampling.BILINEAR)
    left, top = (resized.width - SIDE) // 2, (resized.height - SIDE) // 2
    values = torch.as_tensor(np.asarray(resized.crop((left, top, left + SIDE, top + SIDE))).copy()) / 255
    return ((values - torch.tensor(MEAN)) / torch.tensor(DEVIATION)).permute(2, 0, 1)


def normalise(pillow: object) -> Tensor:
    """Normalise alone: the picture is as the model wants it."""
    values = torch.as_tensor(np.asarray(pillow).copy()) / 255
    return ((values - torch.tensor(MEAN)) / torch.tensor(DEVIATION)).permute(2, 0, 1)


class Linear(nn.Module):
    """Logits that are weighted sums of the input."""

    def __init__(self, *, labels: int = 2, side: int = SIDE) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(3)
        self.weight = nn.Parameter(torch.randn((labels, 3, side, side), generator=draw) / side)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        return torch.einsum("bchw,lchw->bl", values, self.weight)


class Curved(Linear):
    """The same behind a convolution and a bend."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.bend = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Tanh())

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        return super().forward(self.bend(values))


def classifier(model: nn.Module | None = None, *, preparation: object = normalise) -> ImageClassifier:
    """Make a classifier of a tiny model."""
    labels = Labels(("cat", "dog"))
    return ImageClassifier(model or Linear(), Preparation(preparation), labels=labels, identity="tiny")  # type: ignore[arg-type]


def weights(clf: ImageClassifier, label: int) -> np.ndarray:
    """Return what a linear model multiplies each colour of each pixel with, `[height, width, 3]`."""
    assert isinstance(clf.model, Linear)
    own = clf.model.weight[label].detach().double().numpy().transpose(1, 2, 0)
    return own * clf.preparation.colours.scale
