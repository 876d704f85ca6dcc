"""Blur, mean, black, white, noise: what shows in a picture where a feature was removed.

    frame_S = picture inside of S, background elsewhere

`blur` is the picture itself without its details (Gaussian, `radius` in pixels), `mean` the mean colour of what the
model was trained on, `noise` noise around that, drawn once per picture. `backgrounds` averages the probabilities under
several of them, as Brinner and Zarriess (2023) measure faithfulness.
"""

import zlib
from collections.abc import Callable, Mapping

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.errors import SettingError, unknown
from whylight.core.registry import remover
from whylight.views.batch import Variants
from whylight.views.pixels import Frames, PixelBatch, PixelWindow

SPREAD = 0.25
"""Standard deviation of noise; colours go from 0 to 1."""
RADIUS, WIDEST = 10.0, 1000
"""Pixels that a picture is blurred by, and that it may be blurred by: a kernel takes memory."""


@remover()
def blur(window: PixelWindow, keep: Bools, *, radius: float = RADIUS) -> Variants:
    """Show the picture without its details where it was removed."""
    return _over(window, keep, blurred(window.frame, radius))


@remover()
def mean(window: PixelWindow, keep: Bools) -> Variants:
    """Show the mean colour of what the model was trained on where the picture was removed."""
    return _over(window, keep, window.mean)


@remover()
def black(window: PixelWindow, keep: Bools) -> Variants:
    """Show black where the picture was removed."""
    return _over(window, keep, np.zeros(3, dtype=np.float32))


@remover()
def white(window: PixelWindow, keep: Bools) -> Variants:
    """Show white where the picture was removed."""
    return _over(window, keep, np.ones(3, dtype=np.float32))


@remover()
def noise(window: PixelWindow, keep: Bools, *, seed: int = 0) -> Variants:
    """Show noise around the mean colour where the picture was removed."""
    return _over(window, keep, noisy(window, seed))


@remover(draws=True)
def backgrounds(window: PixelWindow, keep: Bools, *, over: str = "blur,black,mean,white") -> Variants:
    """Show several backgrounds in turn where the picture was removed, and average the probabilities."""
    names = [name.strip() for name in over.split(",") if name.strip()]
    if not names:
        raise SettingError("the setting 'over' of 'backgrounds' needs one background at least.")
    for name in names:
        if name not in PLAIN:
            raise unknown("background", name, PLAIN)
    drawn = np.stack([window.over(PLAIN[name](window), keep) for name in names], axis=1)
    frames = drawn.reshape(-1, *window.frame.shape)
    return Variants(PixelBatch(frames), np.full((len(keep), len(names)), 1 / len(names)))


def blurred(frame: Frames, radius: float) -> Frames:
    """Return a picture without details finer than a radius, in pixels."""
    if not 0 < radius <= WIDEST:
        raise SettingError(f"the setting 'radius' must be above 0, and at most {WIDEST:,}, not {radius:g}.")
    from scipy.ndimage import gaussian_filter  # noqa: PLC0415  every text would wait for it

    return np.asarray(gaussian_filter(frame, sigma=(radius, radius, 0), mode="nearest"), dtype=np.float32)


def noisy(window: PixelWindow, seed: int) -> Frames:
    """Return noise around the mean colour; the same for the same picture and seed."""
    draw = np.random.default_rng([seed, zlib.crc32(window.frame.tobytes())])
    drawn = window.mean + SPREAD * draw.standard_normal(window.frame.shape)
    return np.asarray(np.clip(drawn, 0, 1), dtype=np.float32)


def _over(window: PixelWindow, keep: Bools, background: Frames) -> Variants:
    return Variants(PixelBatch(window.over(background, keep)))


PLAIN: Mapping[str, Callable[[PixelWindow], Frames]] = {
    "blur": lambda window: blurred(window.frame, RADIUS),
    "mean": lambda window: window.mean,
    "black": lambda _window: np.zeros(3, dtype=np.float32),
    "white": lambda _window: np.ones(3, dtype=np.float32),
    "noise": lambda window: noisy(window, 0),
}
"""What each background shows, by name."""
