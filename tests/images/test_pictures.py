"""Files that are no pictures, or pictures of a kind that models do not see, are read rightly or refused."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import whylight as wl
from whylight.core.errors import InputError

NOISE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)


def saved(path: Path, pixels: object, mode: str | None = None, **options: object) -> Path:
    made = pixels if isinstance(pixels, Pillow.Image) else Pillow.fromarray(pixels)  # type: ignore[arg-type]
    (made if mode is None else made.convert(mode)).save(path, **options)
    return path


def test_plain_files_are_read_as_they_are(tmp_path: Path) -> None:
    found = wl.image(saved(tmp_path / "a.png", NOISE))
    np.testing.assert_array_equal(found.array, NOISE)
    assert (found.name, found.height, found.width) == ("a.png", 20, 30)
    np.testing.assert_array_equal(wl.image(NOISE).array, NOISE)
    np.testing.assert_array_equal(wl.image(Pillow.fromarray(NOISE)).array, NOISE)
    assert wl.image(found) is found


def test_grey_and_palettes_and_opaque_alpha_become_colours(tmp_path: Path) -> None:
    grey = NOISE[..., 0]
    np.testing.assert_array_equal(wl.image(saved(tmp_path / "g.png", grey)).array, np.repeat(grey[..., None], 3, 2))
    np.testing.assert_array_equal(wl.image(grey).array[..., 2], grey)
    np.testing.assert_array_equal(wl.image(saved(tmp_path / "o.png", NOISE, "RGBA")).array, NOISE)
    palette = Pillow.fromarray(NOISE).quantize(16)
    expected = np.asarray(palette.convert("RGB"))
    np.testing.assert_array_equal(wl.image(saved(tmp_path / "p.png", palette)).array, expected)
    cmyk = saved(tmp_path / "c.tif", NOISE, "CMYK")
    np.testing.assert_allclose(wl.image(cmyk).array, NOISE, atol=2)


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    deep = (NOISE[..., 0].astype(np.uint16)) * 257
    found = wl.image(saved(tmp_path / "d.png", deep))
    np.testing.assert_array_equal(found.array[..., 1], NOISE[..., 0])


def big_endian_tiff(path: Path, grey: np.ndarray) -> Path:
    """Write a TIFF as Pillow does not: grey of sixteen bits, the large byte first."""
    (height, width), content = grey.shape, grey.astype(">u2").tobytes()
    short = {256: width, 257: height, 258: 16, 259: 1, 262: 1, 277: 1, 278: height}
    tags = {tag: struct.pack(">HHIHH", tag, 3, 1, value, 0) for tag, value in short.items()}
    tags |= {tag: struct.pack(">HHII", tag, 4, 1, value) for tag, value in ((273, 8), (279, len(content)))}
    index = struct.pack(">H", len(tags)) + b"".join(tags[tag] for tag in sorted(tags)) + bytes(4)
    path.write_bytes(b"MM\0*" + struct.pack(">I", 8 + len(content)) + content + index)
    return path


def test_sixteen_bits_are_so_in_either_order_of_bytes(tmp_path: Path) -> None:
    deep = (NOISE[..., 0].astype(np.uint16)) * 257
    for given in (deep, deep.astype(">u2"), big_endian_tiff(tmp_path / "d.tif", deep)):
        np.testing.assert_array_equal(wl.image(given).array[..., 1], NOISE[..., 0])


def test_a_hint_for_whole_numbers_of_another_type_does_not_ruin_them(tmp_path: Path) -> None:
    deep = (NOISE[..., 0].astype(np.uint16)) * 257
    (tmp_path / "d.pgm").write_bytes(b"P5\n30 20\n65535\n" + deep.astype(">u2").tobytes())
    copied = Pillow.open(tmp_path / "d.pgm").copy()  # which does not say any more of how many bits it was
    with pytest.raises(InputError, match=r"from 0 to 65535, give numpy.asarray\(...\).astype\(numpy.uint16\)"):
        wl.image(copied)
    np.testing.assert_array_equal(wl.image(np.asarray(copied).astype(np.uint16)).array[..., 0], NOISE[..., 0])
    with pytest.raises(InputError, match=r"from 0 to 255, give numpy.asarray\(...\).astype\(numpy.uint8\)"):
        wl.image(NOISE.astype(np.int64))
    for none in (NOISE.astype(np.int64) - 300, NOISE.astype(np.int64) * 1000):
        with pytest.raises(InputError, match=r"8 or 16 bits, not int64\.$"):
            wl.image(none)


def test_pictures_are_turned_as_their_camera_says(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6  # a quarter turn
    path = saved(tmp_path / "e.png", NOISE, exif=exif)
    np.testing.assert_array_equal(wl.image(path).array, np.rot90(NOISE, -1))


def test_a_single_pixel_is_a_picture() -> None:
    assert wl.image(np.zeros((1, 1, 3), dtype=np.uint8)).size == 1


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("text.jpg", b"not a picture", "cannot be read as a picture: cannot identify image file"),
        ("empty.png", b"", "cannot be read as a picture"),
    ],
)
def test_files_that_are_no_pictures_are_refused(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        wl.image(tmp_path / name)


def test_what_would_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        wl.image(tmp_path / "absent.png")
    whole = saved(tmp_path / "a.jpg", NOISE).read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot be read as a picture: .*runcated"):
        wl.image(tmp_path / "cut.jpg")
    clear = np.dstack([NOISE, np.full((20, 30), 9, dtype=np.uint8)])
    with pytest.raises(InputError, match="is partly transparent"):
        wl.image(saved(tmp_path / "t.png", clear))
    frames = [Pillow.fromarray(NOISE), Pillow.fromarray(NOISE[::-1].copy())]
    frames[0].save(tmp_path / "m.gif", save_all=True, append_images=frames[1:])
    with pytest.raises(InputError, match="has 2 frames; give one picture"):
        wl.image(tmp_path / "m.gif")
    with pytest.raises(InputError, match="too long and narrow"):
        wl.image(np.zeros((1, 20_000, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"not \[2, 2, 2, 2\]"):
        wl.image(np.zeros((2, 2, 2, 2), dtype=np.uint8))
    with pytest.raises(InputError, match="must hold whole numbers of 8 or 16 bits, not float64"):
        wl.image(np.zeros((2, 2, 3)))
    with pytest.raises(InputError, match="not a dict"):
        wl.image({})
    (tmp_path / "end.png").write_bytes(saved(tmp_path / "a.png", NOISE).read_bytes()[:-400])
    with Pillow.open(tmp_path / "end.png") as cut, pytest.raises(InputError, match="this picture cannot be read"):
        wl.image(cut)


def test_numbers_that_may_be_bytes_or_sixteen_bits_are_refused(tmp_path: Path) -> None:
    for kind in (np.int64, np.int32):
        with pytest.raises(InputError, match=r"of 8 or 16 bits, not int\d\d; if they go from 0 to 255, give"):
            wl.image(NOISE.astype(kind))
    with pytest.raises(InputError, match="of 8 or 16 bits, not int32"):
        wl.image(saved(tmp_path / "i.tif", NOISE[..., 0].astype(np.int32)))
    with pytest.raises(InputError, match="of 8 or 16 bits, not float32"):
        wl.image(saved(tmp_path / "f.tif", NOISE[..., 0].astype(np.float32)))
    np.testing.assert_array_equal(wl.image(NOISE.astype(np.uint16) * 257).array, NOISE)


def test_of_a_photo_with_copies_beside_it_the_photo_is_read(tmp_path: Path) -> None:
    photo = Pillow.fromarray(NOISE)
    path = saved(tmp_path / "p.jpg", photo, format="MPO", save_all=True, append_images=[photo.resize((4, 4))])
    found = wl.image(path)
    assert (found.height, found.width) == NOISE.shape[:2]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = saved(tmp_path / "bomb.png", Pillow.new("1", (12_000, 12_000)))
    with pytest.raises(InputError, match=r"has 12,000 x 12,000 pixels; at most 100,000,000 are read"):
        wl.image(path)


def test_cmyk_photos_and_large_ones_are_read(tmp_path: Path) -> None:
    smooth = np.linspace(0, 255, 64, dtype=np.uint8)[:, None, None] * np.ones((1, 64, 3), dtype=np.uint8)
    photo = saved(tmp_path / "c.jpg", smooth, "CMYK", quality=95)
    np.testing.assert_allclose(wl.image(photo).array.astype(int), smooth, atol=8)
    wide = saved(tmp_path / "w.png", np.zeros((200, 20_000, 3), dtype=np.uint8))
    assert wl.image(wide).width == 20_000


def test_the_command_says_in_a_sentence_what_is_wrong_with_a_file(tmp_path: Path, cli: Any) -> None:
    whole = saved(tmp_path / "a.jpg", NOISE).read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.jpg").write_text("not a picture", encoding="utf-8")
    for name in ("cut.jpg", "text.jpg", "absent.jpg"):
        code, _, said = cli("explain", "--image", str(tmp_path / name), "--model", "nowhere")
        assert code == 2
        assert name in " ".join(said.split())
        assert "Traceback" not in said
    code, _, said = cli("explain", "a text", "--format", "png")
    assert code == 2
    assert "--format png writes a file; say which by --out" in " ".join(said.split())
