"""PNG files, written here: a page with pictures needs no picture library to be read or made."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

COLOUR_TYPES = {3: 2, 4: 6}
"""Channels -> what the format calls them: red, green and blue, perhaps with transparency."""


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return a picture `[height, width, 3]`, or `[height, width, 4]` with transparency, as a PNG file."""
    height, width, channels = pixels.shape
    header = struct.pack(">2I5B", width, height, 8, COLOUR_TYPES[channels], 0, 0, 0)
    # every line begins with a byte that says that it is not filtered
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(png(pixels)).decode('ascii')}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
