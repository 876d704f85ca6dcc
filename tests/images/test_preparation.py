"""What a preparation does to colours and places is measured; both are known here."""

from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from torch import Tensor

from images.pictures import DEVIATION, MEAN, SIDE, normalise, picture, prepare
from whylight.core.errors import InputError, ModelError
from whylight.core.image import Box, Division, Image, runs_of
from whylight.models.preparation import Preparation


def test_colours_are_measured() -> None:
    found = Preparation(prepare).colours
    np.testing.assert_allclose(found.offset, -np.divide(MEAN, DEVIATION), atol=1e-6)
    np.testing.assert_allclose(found.scale, np.divide(1, DEVIATION), atol=1e-6)
    np.testing.assert_allclose(found.mean, MEAN, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(64, 64), (300, 200), (90, 1400), (20, 26)])
def test_where_the_frame_lies_is_measured(height: int, width: int) -> None:
    frame = Preparation(prepare).seen(picture(height, width)).frame
    assert frame is not None
    scale = 32 / min(height, width)
    resized = round(height * scale), round(width * scale)
    top, left = ((one - SIDE) // 2 for one in resized)
    expected = np.asarray(
        [
            top / resized[0] * height,
            left / resized[1] * width,
            (top + SIDE) / resized[0] * height,
            (left + SIDE) / resized[1] * width,
        ]
    )
    found = np.asarray([frame.top, frame.left, frame.bottom, frame.right])
    assert np.abs(found - expected).max() <= 0.01 * max(height, width)
    assert (frame.height, frame.width) == (height, width)


def test_what_is_seen_is_what_the_preparation_makes_and_is_seen_once() -> None:
    preparation, given = Preparation(prepare), picture(70, 50)
    seen = preparation.seen(given)
    again = preparation.inputs(torch.as_tensor(preparation.frame(seen))[None])[0]
    np.testing.assert_allclose(again, preparation.numbers(given.array), atol=1e-5)
    assert preparation.seen(seen) is seen


def test_colours_that_are_bent_or_lost_are_refused() -> None:
    with pytest.raises(ModelError, match="in another way than by a factor and a shift"):
        _ = Preparation(lambda one: normalise(one).sigmoid()).colours
    with pytest.raises(ModelError, match="the same numbers of black and of white"):
        _ = Preparation(lambda one: normalise(one) * 0).colours
    with pytest.raises(ModelError, match=r"finite numbers \[3, height, width\], not \[1, 3, 256, 256\]"):
        _ = Preparation(lambda one: normalise(one)[None]).colours
    with pytest.raises(ModelError, match="the preparation of pictures fails: integer division or modulo by zero"):
        _ = Preparation(lambda _one: torch.zeros(1 // 0)).colours


def test_marks_of_the_given_picture_are_found_in_the_frame() -> None:
    given = picture(64, 128)
    marked = np.zeros((64, 128), dtype=bool)
    marked[10:40, 50:70] = True
    seen = Preparation(prepare).seen(given)
    painted = np.repeat((marked * 255).astype(np.uint8)[..., None], 3, axis=2)
    # the same mask, as the preparation itself would bring it into the frame
    brought = Preparation(prepare).seen(Image.of(painted)).array[..., 0] / 255
    for gold in (runs_of(marked), (Box(10, 50, 40, 70),)):
        assert np.abs(seen.marked(gold) - brought).mean() < 0.02
        patches = Image(seen.pixels, SIDE, SIDE, frame=seen.frame, division=Division(7, 7))
        found = patches.marks(gold, patches.own_places or ())
        shares = brought.reshape(7, 4, 7, 4).mean(axis=(1, 3)).ravel()
        sure = np.abs(shares - 0.5) > 0.15
        np.testing.assert_array_equal(found[sure], shares[sure] > 0.5)


def on_a_square(pillow: Pillow.Image, *, colour: int = 0, corner: bool = False) -> Tensor:
    """Pad to a square, as paper 5 does, and shrink to 96 x 96."""
    longer = max(pillow.size)
    square = Pillow.new("RGB", (longer, longer), (colour,) * 3)
    free = (0, 0) if corner else ((longer - pillow.width) // 2, (longer - pillow.height) // 2)
    square.paste(pillow, free)
    return normalise(square.resize((96, 96), Pillow.Resampling.BILINEAR))


@pytest.mark.parametrize("colour", [0, 128, 255])
@pytest.mark.parametrize(("height", "width"), [(200, 300), (400, 100), (90, 90)])
def test_padding_is_no_part_of_the_picture(height: int, width: int, colour: int) -> None:
    longer = max(height, width)
    top, left = ((longer - one) // 2 for one in (height, width))
    for corner, start in ((False, (-top, -left)), (True, (0, 0))):
        frame = Preparation(partial(on_a_square, colour=colour, corner=corner)).seen(picture(height, width)).frame
        assert frame is not None
        found = np.asarray([frame.top, frame.left, frame.bottom, frame.right])
        expected = np.asarray([*start, *(one + longer for one in start)])
        assert np.abs(found - expected).max() <= 0.01 * longer


def test_marks_of_a_padded_picture_lie_where_it_lies() -> None:
    marked = np.zeros((100, 400), dtype=bool)
    marked[30:70, 200:390] = True
    painted = np.repeat((marked * 255).astype(np.uint8)[..., None], 3, axis=2)
    preparation = Preparation(on_a_square)
    brought = preparation.seen(Image.of(painted)).array[..., 0] / 255
    found = preparation.seen(picture(100, 400)).marked(runs_of(marked))
    assert np.abs(found - brought).mean() < 0.01


def test_a_grey_copy_does_not_shift_places_and_a_mirrored_one_is_followed() -> None:
    def grey(pillow: Pillow.Image) -> Tensor:
        return normalise(pillow.convert("L").convert("RGB").resize((64, 64), Pillow.Resampling.BILINEAR))

    def mirrored(pillow: Pillow.Image) -> Tensor:
        return normalise(pillow.resize((64, 64), Pillow.Resampling.BILINEAR)).flip(-1)

    for preparation, expected in ((grey, (0, 0, 80, 120)), (mirrored, (0, 120, 80, 0))):
        frame = Preparation(preparation).seen(picture(80, 120)).frame
        assert frame is not None
        np.testing.assert_allclose((frame.top, frame.left, frame.bottom, frame.right), expected, atol=1)


def test_turned_pictures_and_crops_at_random_are_refused() -> None:
    with pytest.raises(ModelError, match="more than cut, pad and resize"):
        Preparation(lambda one: prepare(one).transpose(1, 2)).seen(picture(80, 120))
    draw = np.random.default_rng(0)
    with pytest.raises(ModelError, match="something else of the same picture each time"):
        _ = Preparation(lambda one: prepare(one).roll(int(draw.integers(9)), -1)).colours
    for _ in range(30):
        with pytest.raises(ModelError, match="something else of the same picture each time"):
            _ = Preparation(lambda one: prepare(one).flip(-1) if draw.random() < 0.5 else prepare(one)).colours


@pytest.mark.parametrize("degrees", [10, 20, 40])
def test_turns_by_any_angle_are_refused(degrees: int) -> None:
    """Marks would lie beside what they mark: turned by 20 degrees, half of them do."""
    preparation = Preparation(lambda one: normalise(one.resize((96, 96)).rotate(degrees)))
    with pytest.raises(ModelError, match="more than cut, pad and resize"):
        preparation.seen(picture(120, 120))


def test_a_preparation_that_seldom_rolls_dice_is_refused_when_it_does() -> None:
    odd = False

    def sometimes(one: Pillow.Image) -> Tensor:
        return normalise(one.convert("L").convert("RGB")) if odd else normalise(one)

    preparation, shown = Preparation(sometimes), picture()
    before = preparation.seen(shown)
    np.testing.assert_array_equal(preparation.seen(shown).array, before.array)
    odd = True
    with pytest.raises(ModelError, match="something else of the same picture each time"):
        preparation.seen(shown)
    preparation.numbers(picture(seed=1).array)  # of another picture there is nothing to hold it against


def test_pictures_of_the_same_bytes_and_another_shape_are_no_dice() -> None:
    preparation = Preparation(lambda one: normalise(one.resize((8, 8))))
    drawn = picture(4, 6).array
    preparation.numbers(drawn)
    preparation.numbers(drawn.reshape(6, 4, 3))


def test_a_picture_that_was_cut_for_another_model_is_refused() -> None:
    seen = Preparation(prepare).seen(picture(80, 120))
    with pytest.raises(InputError, match="this one reads 96 x 96 pixels of it: give it the picture itself"):
        Preparation(on_a_square).seen(seen)


def test_a_picture_that_was_cut_elsewhere_for_a_model_of_the_same_size_is_refused() -> None:
    given, whole = picture(80, 120), Preparation(lambda one: normalise(one.resize((SIDE, SIDE))))
    seen = whole.seen(given)
    with pytest.raises(InputError, match="or another part of them"):
        Preparation(prepare).seen(seen)
    assert Preparation(lambda one: normalise(one.resize((SIDE, SIDE), Pillow.Resampling.BOX))).seen(seen) is seen


def test_colours_are_those_of_the_picture_where_most_is_padding() -> None:
    def letterbox(one: Pillow.Image) -> Tensor:
        scale = min(320 / one.width, 64 / one.height)
        small = one.resize((round(one.width * scale), round(one.height * scale)), Pillow.Resampling.BILINEAR)
        wide = Pillow.new("RGB", (320, 64), (114,) * 3)
        wide.paste(small, ((320 - small.width) // 2, (64 - small.height) // 2))
        return normalise(wide)

    preparation = Preparation(letterbox)
    np.testing.assert_allclose(preparation.colours.mean, MEAN, atol=1e-6)
    frame = preparation.seen(picture(100, 500)).frame
    assert frame is not None
    np.testing.assert_allclose((frame.top, frame.left, frame.bottom, frame.right), (0, 0, 100, 500), atol=1)
