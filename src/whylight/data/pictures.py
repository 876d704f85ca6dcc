"""Reading pictures: any file that Pillow reads, as red, green and blue, or one sentence that says why not.

A picture is turned as its camera says, sixteen bits become eight, and grey, CMYK and palettes become red, green and
blue. What would be guessed is refused: transparency, several frames, numbers that may be bytes or not, sizes at which a
file is an attack. Of a photo with copies of itself beside it (MPO, which many cameras write) the photo is read.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import InputError
from whylight.core.image import CHANNELS, Image, Pixels

T = TypeVar("T")
MOST_PIXELS, MOST_STRETCHED = 100_000_000, 100
"""Pixels of a picture, and how many times as long as wide it may be: models stretch the short side to their own."""
OPAQUE = 255
GREY = 2
SIXTEEN_BITS = 257
"""What a step of eight bits is in sixteen."""
SIXTEEN_BIT_FORMATS = {"PNG", "PPM"}
"""Whose grey pictures of more than eight bits are of sixteen, whatever number Pillow keeps them in."""
PHOTO_FIRST = "MPO"
"""A photo, behind which lie copies of it: a smaller one, one of another eye, or one of brightness."""
EXACT, LOSSY = {"PNG", "BMP", "GIF", "PPM", "TIFF"}, {"jpeg", "tiff_jpeg", "webp", "tiff_sgilog", "tiff_sgilog24"}
"""Formats in which black stays black, and what a TIFF may be compressed by such that it does not."""


def image(source: Any, *, name: str | None = None) -> Image:  # noqa: ANN401  a path, a Pillow picture or an array
    """Make an input of a picture.

    Args:
        source: The path of a file, a picture of Pillow, or an array `[height, width, 3]` or `[height, width]` of bytes.
        name: What to call it; of a file, its name.

    Returns:
        The picture, to be explained by a classifier of images.

    Example:
        >>> import numpy as np
        >>> import whylight as wl
        >>> wl.image(np.zeros((4, 6, 3), dtype=np.uint8)).size
        24
    """
    if isinstance(source, Image):
        return source
    if isinstance(source, str | Path):
        return Image.of(_opened(Path(source), _pixels), name=Path(source).name if name is None else name)
    if isinstance(source, np.ndarray):
        return Image.of(_from_array(source, "this array"), name=name or "")
    if hasattr(source, "convert") and hasattr(source, "size"):
        return Image.of(_taken(source, _pixels, "this picture"), name=name or "")
    raise InputError(f"a picture is a file, a picture of Pillow or an array of bytes, not a {type(source).__name__}.")


def numbers_in(path: Path) -> Ints:
    """Return the numbers of a picture of one channel, `[height, width]`; of one in colours, the largest."""
    return _opened(path, _numbers)


def is_drawn(path: Path) -> Bools:
    """Return what is not black in a mask, `[height, width]`."""
    return _opened(path, _drawn)


def _numbers(opened: Any, called: str) -> Ints:  # noqa: ANN401  a picture of Pillow
    values = np.asarray(_upright(opened, called), dtype=np.int64)
    found: Ints = values if values.ndim == GREY else values[..., :CHANNELS].max(axis=-1)
    return found


def _drawn(opened: Any, called: str) -> Bools:  # noqa: ANN401
    compressed = opened.info.get("compression") if opened.format == "TIFF" else None
    if opened.format not in EXACT or compressed in LOSSY:
        kind = f"a TIFF compressed as {compressed}" if compressed in LOSSY else f"of the format {opened.format}"
        raise InputError(f"{called} is {kind}, in which black may not stay quite black; save masks as PNG.")
    upright = _upright(opened, called)
    if _is_clear(upright):
        raise InputError(f"{called} is partly transparent, so that there is no telling what it marks; save it opaque.")
    plain = len(upright.getbands()) == 1 and upright.mode != "P"  # of any number of bits
    return np.asarray(np.asarray(upright) != 0) if plain else np.asarray(np.asarray(upright.convert("RGB")).any(-1))


def _opened(path: Path, take: Callable[[Any, str], T]) -> T:
    """Open a file, and take from it what is wanted."""
    from PIL import Image as Pillow  # noqa: PLC0415  only who explains pictures needs it

    if not path.is_file():
        raise InputError(f"'{path}' is a folder, not a picture." if path.is_dir() else f"there is no file '{path}'.")

    def opened(_path: Path, called: str) -> T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sizes, which are looked at here
            found = Pillow.open(path)
            _check_size(*found.size, called)
            return take(found, called)

    try:
        return _taken(path, opened, f"'{path}'")
    except Pillow.DecompressionBombError:  # so large that its size is not even told
        raise InputError(
            f"'{path}' has far more than {MOST_PIXELS:,} pixels, which are the most that are read."
        ) from None


def _taken(source: Any, take: Callable[[Any, str], T], called: str) -> T:  # noqa: ANN401
    """Take from a picture what is wanted; what is wrong with it shows when it is first unpacked."""
    try:
        return take(source, called)
    except InputError:
        raise
    except (OSError, ValueError, SyntaxError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{called} cannot be read as a picture: {reason}.") from None


def _check_size(width: int, height: int, called: str) -> None:
    if width < 1 or height < 1:
        raise InputError(f"{called} has no pixels.")
    if width * height > MOST_PIXELS:
        raise InputError(f"{called} has {width:,} x {height:,} pixels; at most {MOST_PIXELS:,} are read.")
    if max(width, height) > MOST_STRETCHED * min(width, height):
        raise InputError(f"{called} has {width:,} x {height:,} pixels, too long and narrow for a model; cut it first.")


def _upright(opened: Any, called: str) -> Any:  # noqa: ANN401  a picture of Pillow
    """Return the only picture of a file, turned as its camera says."""
    from PIL import ImageOps  # noqa: PLC0415

    if getattr(opened, "n_frames", 1) > 1 and opened.format != PHOTO_FIRST:
        raise InputError(f"{called} has {opened.n_frames} frames; give one picture.")
    return ImageOps.exif_transpose(opened)


def _is_deep(upright: Any) -> bool:  # noqa: ANN401
    """Say whether a grey picture has more than eight bits; of such transparency is not looked for."""
    return bool(upright.mode.startswith("I") or upright.mode == "F")


def _is_clear(upright: Any) -> bool:  # noqa: ANN401
    """Say whether anything in a picture is transparent."""
    if _is_deep(upright) or not ("A" in upright.getbands() or "transparency" in upright.info):
        return False
    return bool(np.asarray(upright.convert("RGBA").getchannel("A")).min() < OPAQUE)


def _pixels(opened: Any, called: str) -> Pixels:  # noqa: ANN401
    """Return red, green and blue of a picture of Pillow."""
    upright = _upright(opened, called)
    if _is_deep(upright):
        values = np.asarray(upright)
        sixteen = opened.format in SIXTEEN_BIT_FORMATS and upright.mode == "I"
        return _from_array(values.astype(np.uint16) if sixteen else values, called)
    if _is_clear(upright):
        raise InputError(f"{called} is partly transparent, which no model sees; put it on a background.")
    return np.asarray(upright.convert("RGB"))


def _from_array(values: Any, called: str) -> Pixels:  # noqa: ANN401  an array of any type
    """Return red, green and blue of an array of eight or sixteen bits, grey or in colours."""
    if values.ndim == GREY:
        values = np.repeat(values[..., None], CHANNELS, axis=2)
    if values.ndim != CHANNELS or values.shape[2] != CHANNELS or 0 in values.shape:
        raise InputError(f"{called} must be [height, width, 3] or [height, width], not {list(values.shape)}.")
    _check_size(values.shape[1], values.shape[0], called)
    if values.dtype == np.uint8:
        return np.asarray(values)
    if values.dtype.kind == "u" and values.dtype.itemsize == np.uint16().itemsize:  # in either order of bytes
        return np.asarray(np.round(values / SIXTEEN_BITS), dtype=np.uint8)
    raise InputError(f"{called} must hold whole numbers of 8 or 16 bits, not {values.dtype}{_hint(values)}.")


def _hint(values: Any) -> str:  # noqa: ANN401
    """Return what would make bytes, or sixteen bits, of whole numbers of another type, if these can be such."""
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() > np.iinfo(np.uint16).max:
        return ""
    kind = np.uint8 if values.max() <= np.iinfo(np.uint8).max else np.uint16
    return f"; if they go from 0 to {np.iinfo(kind).max}, give numpy.asarray(...).astype(numpy.{kind.__name__})"
