"""Superpixels: connected regions of about one colour, by SLIC of scikit-image (Achanta et al. 2012)."""

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.errors import SettingError
from whylight.core.image import Pixels

REGIONS, COMPACTNESS = 100, 10.0
"""About how many, and how much nearness counts beside colour."""


def superpixels(pixels: Pixels) -> Ints:
    """Return the region of each pixel, `[height, width]`, numbered from 0 without a gap."""
    try:
        from skimage.segmentation import slic  # noqa: PLC0415  an extra
    except ImportError:
        raise SettingError("superpixels need scikit-image: pip install 'whylight[superpixels]'.") from None
    regions = slic(pixels, n_segments=REGIONS, compactness=COMPACTNESS, start_label=0, channel_axis=-1)
    found: Ints = np.unique(regions, return_inverse=True)[1].reshape(regions.shape)
    return found
