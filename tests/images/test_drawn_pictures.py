"""How explained pictures look: pages, files, terminals, colours, outlines and names of regions."""

import json
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import whylight as wl
from images.pictures import classifier, picture
from whylight.core.errors import InputError
from whylight.core.image import Box, Division, Image
from whylight.explaining.console import Console
from whylight.report.displays.explanations import one_picture
from whylight.report.heat import edges_of, heat_of, regions_of
from whylight.report.png import png
from whylight.report.rows import answer_row
from whylight.report.terminal import render


def test_a_page_shows_the_picture_and_escapes_its_name(tmp_path: Path) -> None:
    shown = replace(picture(), name="<script>alert(1)</script>")
    found = wl.explain(classifier(), shown, method=["occlusion", "saliency"], target="all", progress=False)
    found.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("data:image/png;base64,") >= 6
    assert "what the model sees, 28 x 28 pixels" in page


def test_colours_and_regions_follow_the_scores() -> None:
    clf, shown = classifier(), picture()
    found = wl.explain(clf, shown, method="occlusion", unit="patch", target="dog", progress=False)
    best = int(found.scores[0].argmax())
    (first, *_) = regions_of(found, found.targets[0])
    assert first.box == found.places[best]
    heat = heat_of(found, found.targets[0])
    assert heat[first.box.top, first.box.left, 3] == 255
    signs = np.sign(found.scores[0])[found.example.labels]  # type: ignore[attr-defined]
    blue = heat[..., 2].astype(int) > heat[..., 0]
    np.testing.assert_array_equal(blue[signs != 0], (signs > 0)[signs != 0])


def test_a_png_is_read_by_others() -> None:
    for channels in (3, 4):
        pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
        np.testing.assert_array_equal(np.asarray(Pillow.open(BytesIO(png(pixels)))), pixels)


def test_regions_of_any_shape_have_places_and_labels() -> None:
    labels = np.asarray([[0, 0, 1], [2, 1, 1]])
    one = Image(bytes(18), 2, 3, division=Division.into_regions(labels))
    np.testing.assert_array_equal(one.labels, labels)
    assert one.own_places == (Box(0, 0, 1, 2), Box(0, 1, 2, 3), Box(1, 0, 2, 1))
    assert Image.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_a_picture_file_shows_the_picture_beside_its_colours(tmp_path: Path) -> None:
    found = wl.explain(classifier(), picture(), method=["occlusion", "saliency"], target="dog", progress=False)
    found.save(tmp_path / "both.png")
    found[0].save(tmp_path / "one.png")
    both, one = (np.asarray(Pillow.open(tmp_path / name).convert("RGB")) for name in ("both.png", "one.png"))
    assert both.shape[1] == one.shape[1]
    assert both.shape[0] == 2 * one.shape[0]
    colourful = np.ptp(both.astype(int), axis=2) > 60
    assert colourful[:, : both.shape[1] // 2].any()
    figure = wl.plot.alt_text(one_picture(list(found)))
    assert "occlusion: dog" in figure
    assert "strongest regions x" in figure
    with pytest.raises(InputError, match="13 explained pictures are too many for one file, which holds 12"):
        one_picture([found[0]] * 13)


def test_outlines_are_the_edges_of_what_is_inside() -> None:
    for seed in range(5):
        inside = np.random.default_rng(seed).random((6, 8)) < 0.4
        framed = np.pad(inside, 1)
        lines = set()
        for left, top, right, bottom in edges_of(inside):
            assert (left == right) != (top == bottom)
            lines |= {(x, y, x + 1, y) for x in range(left, right) for y in (top,) if top == bottom}
            lines |= {(x, y, x, y + 1) for y in range(top, bottom) for x in (left,) if left == right}
        expected = {(x, y, x + 1, y) for y in range(7) for x in range(8) if framed[y, x + 1] != framed[y + 1, x + 1]}
        expected |= {(x, y, x, y + 1) for y in range(6) for x in range(9) if framed[y + 1, x] != framed[y + 1, x + 1]}
        assert lines == expected


def test_lists_name_regions_and_a_terminal_without_colours_has_marks() -> None:
    clf, shown = classifier(), picture()
    found = wl.explain(clf, shown, method="occlusion", target="dog", progress=False)
    row = answer_row(found, found.targets[0])
    sums = found.scores[0].reshape(14, 2, 14, 2).sum(axis=(1, 3))
    assert row.strongest[0].score == pytest.approx(sums.max())
    assert row.against[0].score == pytest.approx(sums.min())
    top, left = (2 * int(i) for i in np.unravel_index(sums.argmax(), sums.shape))
    assert row.strongest[0].text == f"x {left}-{left + 2}, y {top}-{top + 2}"
    plain, coloured = (Console(file=StringIO(), width=100, color_system=one) for one in (None, "truecolor"))
    for console in (plain, coloured):
        console._force_terminal = True
        render([found], console=console)
    said, drawn = (one.file.getvalue() for one in (plain, coloured))  # type: ignore[attr-defined]
    assert "noise.png" in said
    assert "\u2580" in drawn
    assert "\u2580" not in said
    marks = [line.strip().strip("|") for line in said.splitlines() if line.strip().startswith("|")]
    assert len(marks) == 14
    assert all(len(line) == 28 for line in marks)
    assert marks[top // 2][left : left + 2].strip(".+*#") == ""  # what speaks most for the label has a mark of it
