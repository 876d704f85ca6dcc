"""Files of pictures from the command line: what is odd is read rightly, what is broken is said in one sentence."""

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from transformers import ViTImageProcessorPil

from images.test_image_peers import classifier

NOISE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
SMOOTH = np.stack([np.linspace(20, 230, 60 * 40).reshape(40, 60)] * 3, axis=-1).astype(np.uint8)
WIDE = np.tile(NOISE, (5, 334, 1))[:, :20_000]
Save = Callable[[Path], object]


def of(pixels: np.ndarray, **options: Any) -> Save:
    return lambda path: Pillow.fromarray(pixels).save(path, **options)


def cut(path: Path) -> None:
    of(NOISE, format="JPEG")(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def turned(path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6  # a quarter turn
    of(NOISE, exif=exif)(path)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, bits: int, rows: bytes) -> bytes:
    """Write a PNG as Pillow does not."""
    head = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def deep(path: Path) -> None:
    """Write red, green and blue of sixteen bits each."""
    rows = b"".join(b"\0" + (line.astype(np.uint16) * 257).astype(">u2").tobytes() for line in NOISE)
    path.write_bytes(png(60, 40, 16, rows))


def claimed(side: int) -> Save:
    """Write a small file that claims to be large."""
    return lambda path: path.write_bytes(png(side, side, 8, bytes(1000)))


def two(path: Path) -> None:
    of(NOISE, save_all=True, append_images=[Pillow.fromarray(NOISE[::-1].copy())])(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    classifier("vit", large=True).model.save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 28, "width": 28}).save_pretrained(folder)
    return str(folder)


def explained(cli: Any, path: Path, model: str) -> tuple[int, str, str]:
    found: tuple[int, str, str] = cli(
        "explain", "--image", str(path), "--model", model, "--method", "saliency", "--format", "json"
    )
    return found


@pytest.mark.parametrize(
    ("name", "save", "same"),
    [
        ("one.png", of(NOISE[:1, :1]), np.broadcast_to(NOISE[:1, :1], (7, 7, 3)).copy()),
        ("opaque.png", lambda path: Pillow.fromarray(NOISE).convert("RGBA").save(path), NOISE),
        ("grey.png", of(NOISE[..., 0]), np.repeat(NOISE[..., :1], 3, axis=2)),
        ("deep_grey.png", of(NOISE[..., 0].astype(np.uint16) * 257), np.repeat(NOISE[..., :1], 3, axis=2)),
        ("deep.png", deep, NOISE),
        ("cmyk.tif", lambda path: Pillow.fromarray(NOISE).convert("CMYK").save(path), NOISE),
        ("cmyk.jpg", lambda path: Pillow.fromarray(SMOOTH).convert("CMYK").save(path, quality=95), SMOOTH),
        ("turned.png", turned, np.rot90(NOISE, -1)),
        ("wide.png", of(WIDE, compress_level=1), WIDE),
        ("still.gif", lambda path: Pillow.fromarray(NOISE).quantize(16).save(path), None),
    ],
)
def test_odd_files_are_explained_as_plain_ones_are(
    name: str, save: Save, same: np.ndarray | None, tmp_path: Path, cli: Any, model: str
) -> None:
    save(tmp_path / name)
    plain = np.asarray(Pillow.open(tmp_path / name).convert("RGB")) if same is None else same
    of(plain, compress_level=1)(tmp_path / "plain.png")
    found = []
    for path in (tmp_path / name, tmp_path / "plain.png"):
        code, out, said = explained(cli, path, model)
        assert code == 0, said
        found.append(np.asarray([one["score"] for one in json.loads(out)["features"]]))
    loose = 0.2 if name.endswith(".jpg") else 1e-6  # a JPEG is not what was saved
    assert np.abs(found[1]).max() > 0
    assert np.abs(found[0] - found[1]).max() <= loose * np.abs(found[1]).max()


@pytest.mark.parametrize(
    ("name", "save", "sentence"),
    [
        ("cut.jpg", cut, "'{}' cannot be read as a picture: image file is truncated"),
        (
            "text.jpg",
            lambda path: path.write_text("not a picture"),
            "'{}' cannot be read as a picture: cannot identify",
        ),
        ("empty.png", lambda path: path.touch(), "'{}' cannot be read as a picture: cannot identify"),
        ("folder.png", lambda path: path.mkdir(), "'{}' is a folder, not a picture."),
        ("absent.png", lambda _: None, "there is no file '{}'."),
        ("clear.png", of(np.dstack([NOISE, NOISE[..., 0]])), "'{}' is partly transparent, which no model sees"),
        ("moving.gif", two, "'{}' has 2 frames; give one picture."),
        ("pages.tif", two, "'{}' has 2 frames; give one picture."),
        ("thin.png", of(WIDE[:2]), "'{}' has 20,000 x 2 pixels, too long and narrow for a model; cut it first."),
        ("large.png", claimed(12_000), "at most 100,000,000 are read."),
        (
            "bomb.png",
            claimed(30_000),
            "'{}' has far more than 100,000,000 pixels",
        ),
        (
            "real.tif",
            of(NOISE[..., 0].astype(np.float32)),
            "'{}' must hold whole numbers of 8 or 16 bits, not float32.",
        ),
    ],
)
def test_broken_files_are_said_in_a_sentence(
    name: str, save: Save, sentence: str, tmp_path: Path, cli: Any, model: str
) -> None:
    save(tmp_path / name)
    code, out, said = explained(cli, tmp_path / name, model)
    assert (code, out) == (2, "")
    assert sentence.format(tmp_path / name) in " ".join(said.split())
    assert said.count("whylight:") == 1
    assert "Traceback" not in said
