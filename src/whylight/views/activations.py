"""ActivationView: the maps of a layer of a network on pictures, and how much each target depends on them."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from torch import Tensor
from torch.nn.functional import interpolate

from whylight.core.arrays import Floats, Ints
from whylight.views.view import View


class ActivationView(View):
    """What one layer computes of a picture: a stack of maps, smaller than the picture.

    Args:
        run: Gives the maps `[channels, rows, columns]` and the gradients of the targets by them, `[targets, channels,
            rows, columns]`.
        labels: The feature of each pixel of the picture, `[height, width]`.
        layer: What the layer is called.
    """

    seen = "maps of a layer"

    def __init__(self, run: Callable[[], tuple[Tensor, Tensor]], *, labels: Ints, layer: Callable[[], str]) -> None:
        self._run, self._labels, self._layer = run, labels, layer

    @cached_property
    def _both(self) -> tuple[Tensor, Tensor]:
        return self._run()

    @property
    def maps(self) -> Tensor:
        """The maps of the layer, `[channels, rows, columns]`."""
        return self._both[0]

    @property
    def gradients(self) -> Tensor:
        """What each target gains from each point of each map, `[targets, channels, rows, columns]`."""
        return self._both[1]

    @property
    def layer(self) -> str:
        """What the layer is called."""
        return self._layer()

    def to_features(self, fields: Tensor) -> Floats:
        """Enlarge fields `[targets, rows, columns]` to the picture, and add up over features, `[targets, features]`."""
        return enlarged(fields, self._labels)


def enlarged(fields: Tensor, labels: Ints) -> Floats:
    """Enlarge fields to a picture by linear interpolation, and add up over features, `[targets, features]`.

    Args:
        fields: `[targets, rows, columns]`.
        labels: The feature of each pixel, `[height, width]`.
    """
    height, width = labels.shape
    large = interpolate(fields[None].double(), size=(height, width), mode="bilinear", align_corners=False)[0]
    return np.stack(
        [np.bincount(labels.ravel(), one, int(labels.max()) + 1) for one in large.flatten(1).detach().cpu().numpy()]
    )
