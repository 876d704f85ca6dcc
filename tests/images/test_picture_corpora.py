"""Corpora of pictures: what is marked where, folders of labels, and what is wrong with files."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import whylight as wl
from whylight.core.errors import InputError
from whylight.core.image import Box
from whylight.data.dataset import Dataset


def saved(path: Path, pixels: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Pillow.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)


def test_masks_are_marks_of_the_label(tmp_path: Path) -> None:
    saved(tmp_path / "images" / "a.png", np.full((4, 5, 3), 9))
    mask = np.zeros((4, 5))
    mask[1, 2:4] = mask[3, 0] = 255
    saved(tmp_path / "masks" / "m.png", mask)
    (tmp_path / "labels.csv").write_text("file,label,mask\na.png,cat,m.png\n", encoding="utf-8")
    (record,) = wl.dataset(f"images:{tmp_path}")
    assert record.rationales["cat"].places == (Box(1, 2, 2, 4), Box(3, 0, 4, 1))
    np.testing.assert_array_equal(record.example.marked(record.rationales["cat"].places), mask / 255)  # type: ignore[attr-defined]


def test_masks_may_be_called_as_their_pictures(tmp_path: Path) -> None:
    mask = np.zeros((4, 5))
    mask[1, 2:4] = 255
    saved(tmp_path / "a.png", np.full((4, 5, 3), 9))
    saved(tmp_path / "masks" / "a.png", mask)
    (tmp_path / "labels.csv").write_text("file,label,mask\na.png,cat,a.png\n", encoding="utf-8")
    (record,) = wl.dataset(f"images:{tmp_path}")
    assert record.rationales["cat"].places == (Box(1, 2, 2, 4),)
    (tmp_path / "masks" / "a.png").unlink()
    with pytest.raises(InputError, match=r"names 'a.png' as its own mask"):
        wl.dataset(f"images:{tmp_path}")


def test_masks_of_any_form_mark_what_is_not_black(tmp_path: Path) -> None:
    saved(tmp_path / "a.png", np.full((4, 5, 3), 9))
    mask = np.zeros((4, 5), dtype=np.uint8)
    mask[1, 2:4] = 255
    plain = Pillow.fromarray(mask)
    turned = Pillow.fromarray(np.where(mask > 0, 0, 1).astype(np.uint8), mode="P")
    turned.putpalette([255, 255, 255, 0, 0, 0])  # the first colour is white
    forms = {"grey.png": plain, "alpha.png": plain.convert("LA"), "palette.png": turned, "bits.png": plain.convert("1")}
    forms["deep.png"] = Pillow.fromarray(mask.astype(np.uint16))
    forms["colours.png"] = plain.convert("RGB")
    for name, made in forms.items():
        made.save(tmp_path / name)
        (tmp_path / "labels.csv").write_text(f"file,label,mask\na.png,cat,{name}\n", encoding="utf-8")
        (record,) = wl.dataset(f"images:{tmp_path}")
        assert record.rationales["cat"].places == (Box(1, 2, 2, 4),), name


def labelled(folder: Path, mask: str) -> Dataset:
    (folder / "labels.csv").write_text(f"file,label,mask\na.png,cat,{mask}\n", encoding="utf-8")
    return wl.dataset(f"images:{folder}")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("m.jpg", {}),
        ("m.webp", {}),
        ("m.jp2", {"quality_mode": "rates", "quality_layers": [40]}),
        ("m.tif", {"compression": "jpeg"}),
        ("m.png", None),
        ("m.bmp", None),
        ("m.gif", None),
        ("m.pgm", None),
        ("m.tif", {"compression": "tiff_lzw"}),
    ],
)
def test_masks_are_of_formats_in_which_black_stays_black(
    name: str, options: dict[str, object] | None, tmp_path: Path
) -> None:
    disc = np.hypot(*(np.indices((60, 80)) - [[[30]], [[40]]])) < 20
    saved(tmp_path / "a.png", np.full((60, 80, 3), 9))
    exact = options is None or options == {"compression": "tiff_lzw"}
    Pillow.fromarray((disc * 255).astype(np.uint8)).save(tmp_path / name, **(options or {}))
    if exact:
        (record,) = labelled(tmp_path, name)
        np.testing.assert_array_equal(record.example.marked(record.rationales["cat"].places), disc)  # type: ignore[attr-defined]
    else:
        with pytest.raises(InputError, match="in which black may not stay quite black; save masks as PNG"):
            labelled(tmp_path, name)


def test_masks_are_turned_as_their_pictures_and_are_of_one_frame(tmp_path: Path) -> None:
    mask, turn = np.zeros((4, 6), dtype=np.uint8), Pillow.Exif()
    mask[0, :2] = 255
    turn[0x0112] = 6  # a quarter turn
    Pillow.fromarray(np.full((4, 6, 3), 9, dtype=np.uint8)).save(tmp_path / "a.png", exif=turn)
    for kind in ("L", "RGB", "P"):
        Pillow.fromarray(mask).convert(kind).save(tmp_path / "m.png", exif=turn)
        (record,) = labelled(tmp_path, "m.png")
        upright = record.example.marked(record.rationales["cat"].places)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(upright, np.rot90(mask, -1) > 0)
    for kind in ("L", "RGB"):
        both = [Pillow.fromarray(one.copy()).convert(kind) for one in (mask, mask[::-1])]
        both[0].save(tmp_path / "m.tif", save_all=True, append_images=both[1:])
        with pytest.raises(InputError, match="has 2 frames; give one picture"):
            labelled(tmp_path, "m.tif")
    Pillow.fromarray(np.dstack([mask] * 4)).save(tmp_path / "m.png")
    with pytest.raises(InputError, match="transparent, so that there is no telling what it marks; save it opaque"):
        labelled(tmp_path, "m.png")


def test_a_picture_of_the_folder_itself_comes_before_one_of_its_folder_of_pictures(tmp_path: Path) -> None:
    saved(tmp_path / "a.png", np.full((4, 5, 3), 9))
    saved(tmp_path / "images" / "a.png", np.full((4, 5, 3), 200))
    mask = np.eye(4, 5) * 255
    saved(tmp_path / "m.png", 255 - mask)
    saved(tmp_path / "masks" / "m.png", mask)
    (record,) = labelled(tmp_path, "m.png")
    assert record.example.array.max() == 9  # type: ignore[attr-defined]
    np.testing.assert_array_equal(record.example.marked(record.rationales["cat"].places), mask > 0)  # type: ignore[attr-defined]


def test_folders_are_labels_and_splits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for label in ("dog", "cat"):
            saved(tmp_path / split / label / "one.png", np.full((2, 2, 3), len(label + split)))
    data = wl.dataset(f"images:{tmp_path}", split="train")
    assert data.label_names == ("cat", "dog")
    assert [record.id for record in data] == ["cat/one.png", "dog/one.png"]
    with pytest.raises(InputError, match="has no folder 'dev'"):
        wl.dataset(f"images:{tmp_path}", split="dev")


def test_trimaps_mark_the_animal_and_its_border_if_asked(tmp_path: Path) -> None:
    saved(tmp_path / "images" / "a.jpg", np.full((2, 4, 3), 9))
    saved(tmp_path / "trimaps" / "a.png", [[2, 3, 1, 1], [2, 2, 2, 3]])
    (tmp_path / "labels.csv").write_text("file,breed,imagenet_index\na.jpg,pug,254\n", encoding="utf-8")
    (record,) = wl.dataset(f"pets:{tmp_path}", split="test")
    assert record.rationales["pug"].places == (Box(0, 2, 1, 4),)
    (record,) = wl.dataset(f"pets:{tmp_path}", split="test", border=True, label="imagenet_index")
    assert record.rationales["254"].places == (Box(0, 1, 1, 4), Box(1, 3, 2, 4))


def test_what_is_wrong_is_said_with_its_line_or_dropped(tmp_path: Path) -> None:
    saved(tmp_path / "a.png", np.zeros((4, 5, 3)))
    saved(tmp_path / "m.png", np.ones((5, 5)))
    (tmp_path / "t.png").write_bytes(b"no picture")
    rows = "a.png,cat,m.png", "b.png,cat,", "a.png,,", "../x.png,cat,", "t.png,cat,"
    said = (
        "has a mask of 5 x 5 pixels for a picture of 5 x 4",
        "names 'b.png', which is not there",
        "names no file, or no label",
        "leads out of the folder",
        "cannot be read as a picture",
    )
    for row, sentence in zip(rows, said, strict=True):
        (tmp_path / "labels.csv").write_text(f"file,label,mask\na.png,cat,\n{row}\n", encoding="utf-8")
        with pytest.raises(InputError, match=sentence):
            wl.dataset(f"images:{tmp_path}")
        data = wl.dataset(f"images:{tmp_path}", drop_broken=True)
        assert len(data) == 1
    (tmp_path / "labels.csv").write_text("name,label\n", encoding="utf-8")
    with pytest.raises(InputError, match="must name the columns 'file' and 'label'"):
        wl.dataset(f"images:{tmp_path}")
