"""Crops: image and labels move together to the pixel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.augment.crop import RandomCrop, Window, cut_image, cut_labels, reflected
from recoseg.errors import UserError
from recoseg.types import IGNORE

SIDES = st.integers(1, 40)


def coordinates(height: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An image whose red and green say where a pixel was, and labels that say the same modulo 200."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    image = torch.stack([rows, columns, rows * 0]).to(torch.uint8)
    return image, ((rows * 7 + columns) % 200).to(torch.uint8)


@given(height=SIDES, width=SIDES, crop=st.tuples(SIDES, SIDES), seed=st.integers(0, 1000))
def test_without_scaling_image_and_labels_agree_at_every_pixel(height, width, crop, seed) -> None:
    image, labels = coordinates(height, width)
    generator = np.random.default_rng(seed)
    cut_of_image, cut_of_labels, shown = RandomCrop(size=crop, flip=0.5)(image, labels, generator)
    assert cut_of_image.shape == (3, *crop)
    assert cut_of_labels.shape == crop
    rows, columns = cut_of_image[0].long(), cut_of_image[1].long()
    known = cut_of_labels != IGNORE
    assert torch.equal(shown, known)  # every pixel of the image has a label here
    assert known.sum() == min(height, crop[0]) * min(width, crop[1])
    assert torch.equal(((rows * 7 + columns) % 200)[known], cut_of_labels[known].long())


@given(
    height=SIDES,
    width=SIDES,
    crop=st.tuples(SIDES, SIDES),
    scale=st.floats(0.3, 3),
    seed=st.integers(0, 1000),
)
def test_scaled_labels_are_labels_that_were_there_and_padding_is_ignored(
    height, width, crop, scale, seed
) -> None:
    image, labels = coordinates(height, width)
    generator = np.random.default_rng(seed)
    result, scaled, shown = RandomCrop(size=crop, scale=(scale, scale))(image, labels, generator)
    assert result.shape == (3, *crop)
    assert result.dtype == scaled.dtype == torch.uint8
    assert set(scaled.unique().tolist()) <= set(labels.unique().tolist()) | {IGNORE}
    assert (scaled != IGNORE).any()
    assert torch.equal(shown, scaled != IGNORE)


def test_scaling_keeps_image_and_labels_in_place() -> None:
    """A bright square stays under its label, to within half a pixel of the new grid."""
    image = torch.zeros(3, 60, 80, dtype=torch.uint8)
    labels = torch.zeros(60, 80, dtype=torch.uint8)
    image[:, 20:40, 30:60] = 255
    labels[20:40, 30:60] = 1
    for scale in (0.5, 0.8, 1.3, 2.0):
        for seed in range(5):
            crop = RandomCrop(size=(48, 48), scale=(scale, scale))
            bright, square, _ = crop(image, labels, np.random.default_rng(seed))
            known = square != IGNORE
            differs = ((bright[0] > 127) != (square == 1)) & known
            assert differs.sum() <= 48 * 2, (scale, seed)  # at most a line along the border of the square


def test_flip_mirrors_both() -> None:
    image, labels = coordinates(4, 6)
    window = Window(top=0, left=0, height=4, width=6, target_height=4, target_width=6, flip=True)
    assert torch.equal(cut_image(image, window, (4, 6)), image.flip(2))
    assert torch.equal(cut_labels(labels, window, (4, 6)), labels.flip(1))


def test_padding_reflects_the_image_and_ignores_the_labels() -> None:
    image, labels = coordinates(2, 3)
    window = Window(top=0, left=0, height=2, width=3, target_height=2, target_width=3, flip=False)
    padded = cut_image(image, window, (2, 6))
    assert padded[1, 0].tolist() == [0, 1, 2, 1, 0, 1]
    assert cut_labels(labels, window, (3, 4))[:, 3].tolist() == [IGNORE] * 3
    assert cut_labels(labels, window, (3, 4))[2].tolist() == [IGNORE] * 4


def test_one_pixel_reflects_into_itself() -> None:
    assert reflected(1, 4).tolist() == [0, 0, 0, 0]


def test_crops_reach_every_corner_of_the_image() -> None:
    image, labels = coordinates(8, 8)
    crop = RandomCrop(size=(4, 4), flip=0)
    corners = set()
    for seed in range(300):
        cut_of_image, _, _ = crop(image, labels, np.random.default_rng(seed))
        corners.add((int(cut_of_image[0, 0, 0]), int(cut_of_image[1, 0, 0])))
    assert corners == {(row, column) for row in range(5) for column in range(5)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": (0, 4)}, "crop size must be positive"),
        ({"size": (4, 4), "scale": (2, 1)}, "0 < low <= high"),
    ],
)
def test_impossible_settings_are_refused(settings, message) -> None:
    with pytest.raises(UserError, match=message):
        RandomCrop(**settings)


def test_crops_around_rare_classes_always_show_one() -> None:
    labels = torch.zeros(40, 60, dtype=torch.uint8)
    labels[33, 51] = 1  # one pixel of 2,400
    image = torch.zeros(3, 40, 60, dtype=torch.uint8)
    crop = RandomCrop(size=(8, 8), rare=1.0, class_weights=(0.0, 1.0))
    generator = np.random.default_rng(0)
    places = set()
    for _ in range(200):
        _, cut_of_labels, _ = crop(image, labels, generator)
        found = (cut_of_labels == 1).nonzero()
        assert len(found) == 1
        places.add(tuple(found[0].tolist()))
    assert len(places) > 40  # anywhere in the crop: of its 64 places


def test_classes_are_drawn_by_their_weights_and_only_so_many_crops_are_placed() -> None:
    labels = torch.zeros(64, 64, dtype=torch.uint8)
    labels[:, 32:] = 1
    labels[:4, :4] = IGNORE
    crop = RandomCrop(size=(1, 1), rare=0.5, class_weights=(1.0, 3.0, 5.0))
    generator = np.random.default_rng(0)
    shown = [int(crop(torch.zeros(3, 64, 64, dtype=torch.uint8), labels, generator)[1]) for _ in range(2000)]
    # half of them by chance (1 in 2 is of class 1), half by weight (3 in 4; class 2 is absent)
    assert shown.count(1) / 2000 == pytest.approx(0.5 * 0.5 + 0.5 * 0.75, abs=0.04)


def test_an_image_without_labels_is_cropped_anywhere() -> None:
    crop = RandomCrop(size=(8, 8), rare=1.0, class_weights=(1.0, 1.0))
    labels = torch.full((16, 16), IGNORE, dtype=torch.uint8)
    image = torch.zeros(3, 16, 16, dtype=torch.uint8)
    assert crop(image, labels, np.random.default_rng(0))[0].shape == (3, 8, 8)


def test_without_rare_crops_nothing_else_is_drawn() -> None:
    image, labels = coordinates(30, 40)
    plain = RandomCrop(size=(8, 8))(image, labels, np.random.default_rng(3))
    weighted = RandomCrop(size=(8, 8), class_weights=(1.0, 2.0))(image, labels, np.random.default_rng(3))
    assert torch.equal(plain[0], weighted[0])


def test_a_share_above_one_is_an_error() -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        RandomCrop(size=(8, 8), rare=1.5)


@pytest.mark.parametrize("sparse", [False, True])
def test_turned_and_flipped_images_take_their_labels_with_them(sparse) -> None:
    """The label of a pixel is its red value: so it is wherever the pixel goes."""
    values = torch.arange(7 * 5, dtype=torch.uint8).view(7, 5)
    image, seen = values.expand(3, -1, -1), set()
    crop = RandomCrop(size=(9, 9), flip=0.5, flip_vertical=0.5, rotate=0.75, sparse=sparse)
    for seed in range(60):
        cut_of_image, labels, inside = crop(image, values, np.random.default_rng(seed))
        assert torch.equal(cut_of_image[0][inside], labels[inside])
        seen.add((*labels[inside][:2].tolist(), int(inside[:, 0].sum())))
    assert len(seen) == 8  # all orientations of a rectangle


def test_images_stand_upright_unless_asked_otherwise() -> None:
    values = torch.arange(7 * 5, dtype=torch.uint8).view(7, 5)
    for seed in range(20):
        labels = RandomCrop(size=(7, 5), flip=0.0)(
            values.expand(3, -1, -1), values, np.random.default_rng(seed)
        )[1]
        assert torch.equal(labels, values)
