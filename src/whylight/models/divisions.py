"""How a picture is cut into features: pixels, patches of a grid, or superpixels.

Superpixels are connected regions of about one colour, by SLIC of scikit-image (Achanta et al. 2012).
"""

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.encoded import Unit
from whylight.core.errors import SettingError
from whylight.core.image import Division, Image, Pixels

PATCHES = 14
"""Patches on a side, at most: as many as a vision transformer with patches of 16 pixels has at 224."""
REGIONS, COMPACTNESS = 100, 10.0
"""About how many, and how much nearness counts beside colour."""


def division_of(seen: Image, unit: Unit) -> Division:
    """Return how a picture is cut into features of a unit."""
    if unit == "pixel":
        return Division(seen.height, seen.width)
    return grid_of_patches(seen) if unit == "patch" else Division.into_regions(superpixels(seen.array))


def grid_of_patches(seen: Image) -> Division:
    """Return the grid of patches, which are squares if the picture is one."""
    return Division(min(PATCHES, seen.height), min(PATCHES, seen.width))


def superpixels(pixels: Pixels) -> Ints:
    """Return the region of each pixel, `[height, width]`, numbered from 0 without a gap."""
    try:
        from skimage.segmentation import slic  # noqa: PLC0415  an extra
    except ImportError:
        raise SettingError("superpixels need scikit-image: pip install 'whylight[superpixels]'.") from None
    regions = slic(pixels, n_segments=REGIONS, compactness=COMPACTNESS, start_label=0, channel_axis=-1)
    found: Ints = np.unique(regions, return_inverse=True)[1].reshape(regions.shape)
    return found
