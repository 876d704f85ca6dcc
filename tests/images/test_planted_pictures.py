"""A detector that needs all of a patch, in a picture of 224 pixels: MaRC ranks the patch above everything else.

What is marked is what ranks highest, as many pixels as the patch has: the metric `iou`. A mask itself fades over about
five pixels around the patch, because neighbours are kept alike; where it is cut at 0.5, a small patch has a low IoU.
"""

from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

import whylight as wl
from whylight.core.image import Box, Image
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS

SIDE, TOP, LEFT, CELLS = 224, 60, 70, 8


class Detector(nn.Module):
    """Finds a texture at its place, as far as each of 8 x 8 cells shows it, or as far as it shows in the mean."""

    def __init__(self, texture: np.ndarray, *, every_cell: bool) -> None:
        super().__init__()
        self.register_buffer("texture", torch.as_tensor(texture / 255, dtype=torch.float32).permute(2, 0, 1))
        self.every_cell = every_cell

    def forward(self, values: Tensor) -> Tensor:
        """Return logits of `absent` and `there`."""
        size = len(self.texture[0])
        part = values[:, :, TOP : TOP + size, LEFT : LEFT + size]
        alike = torch.exp(-(part - self.texture).square().mean(1, keepdim=True) / (2 * 0.2**2))
        cells = adaptive_avg_pool2d(alike, CELLS).flatten(1)
        least = -(torch.logsumexp(-20 * cells, 1) - np.log(CELLS**2)) / 20  # nearly that of the poorest cell
        logit = 14 * ((least if self.every_cell else cells.mean(1)) - 0.5)
        return torch.stack([torch.zeros_like(logit), logit], 1)


def prepare(pillow: object) -> Tensor:
    return torch.as_tensor(np.asarray(pillow).copy()).permute(2, 0, 1) / 255


@cache
def explained(size: int, *, every_cell: bool, **settings: float) -> wl.Explanation:
    """Explain grey noise with a patch of colours, by the preset for convolutional networks."""
    draw = np.random.default_rng(0)
    pixels = draw.integers(90, 166, (SIDE, SIDE, 3), dtype=np.uint8)
    texture = np.where(draw.random((size, size, 3)) < 0.5, 25, 230).astype(np.uint8)
    pixels[TOP : TOP + size, LEFT : LEFT + size] = texture
    clf = wl.load(Detector(texture, every_cell=every_cell), prepare, labels=["absent", "there"])
    found = wl.explain(
        clf,
        Image.of(pixels),
        method="marc",
        target="there",
        score="log_mixture",
        evidence_sign="none",
        progress=False,
        **settings,  # type: ignore[arg-type]
    )
    assert isinstance(found, wl.Explanation)
    assert found.provenance.settings["preset"] == "cnn"
    assert not found.provenance.notes  # it has settled
    return found


def iou(found: wl.Explanation, size: int) -> float:
    """Return what the metric says: of the highest pixels, as many as are planted."""
    gold = Rationale((Box(TOP, LEFT, TOP + size, LEFT + size),))
    value: np.ndarray = METRICS["iou"].function(found, gold, **METRICS["iou"].complete_settings({}))
    return float(value[0])


def iou_at_half(found: wl.Explanation, size: int) -> float:
    marked, planted = found.scores[0].reshape(SIDE, SIDE) > 0.5, np.zeros((SIDE, SIDE), dtype=bool)
    planted[TOP : TOP + size, LEFT : LEFT + size] = True
    return float((marked & planted).sum() / (marked | planted).sum())


@pytest.mark.parametrize("every_cell", [True, False])
def test_the_patch_is_found(every_cell: bool) -> None:  # noqa: FBT001
    assert iou(explained(24, every_cell=every_cell, pace=5), 24) >= 0.9


def test_the_mask_fades_because_neighbours_are_kept_alike() -> None:
    published, sharp = (explained(24, every_cell=True, pace=5, **own) for own in ({}, {"neighbours": 0.0}))
    assert iou_at_half(published, 24) < 0.7
    assert iou_at_half(sharp, 24) >= 0.99
    assert iou(sharp, 24) >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("every_cell", [True, False])
@pytest.mark.parametrize("size", [16, 32, 64, 128])
def test_patches_of_any_size_are_found_at_the_pace_of_the_paper(size: int, every_cell: bool) -> None:  # noqa: FBT001
    assert iou(explained(size, every_cell=every_cell), size) >= 0.94
