"""Labels of a few pixels under scale, crop and flip: none gets lost, none is multiplied."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.augment.crop import RandomCrop, Window, cut_labels, resize_points
from recoseg.splits.labelled_pixels import PixelBudget, draw_points
from recoseg.types import IGNORE

SIDES = st.integers(1, 40)


def sparse_labels(height: int, width: int, num_points: int, seed: int) -> torch.Tensor:
    """Points of classes 0, 1, 2, ... at different places, all other pixels without a label."""
    labels = np.full(height * width, IGNORE, dtype=np.uint8)
    places = np.random.default_rng(seed).permutation(height * width)[:num_points]
    labels[places] = np.arange(len(places)) % 200
    return torch.from_numpy(labels.reshape(height, width))


def inside(labels: torch.Tensor, window: Window) -> torch.Tensor:
    return labels[window.top : window.top + window.height, window.left : window.left + window.width]


@given(
    height=SIDES,
    width=SIDES,
    crop=st.tuples(st.integers(4, 40), st.integers(4, 40)),
    scale=st.floats(0.5, 3),
    num_points=st.integers(1, 19),
    seed=st.integers(0, 1000),
)
def test_a_labelled_pixel_inside_the_crop_stays_exactly_one_pixel_of_its_class(
    height, width, crop, scale, num_points, seed
) -> None:
    """One pixel a class, as in the paper's 1-pixel labels, at any scale, place and flip."""
    labels = sparse_labels(height, width, num_points, seed)
    image = torch.zeros(3, height, width, dtype=torch.uint8)
    augment = RandomCrop(size=crop, scale=(scale, scale), sparse=True)
    window = augment.draw_window(height, width, np.random.default_rng(seed))
    expected = classes_of(inside(labels, window))
    if len(expected) > window.target_height * window.target_width:
        return  # more labels than pixels: not all of them can stay
    _, moved, _ = augment(image, labels, np.random.default_rng(seed))
    assert moved.shape == crop
    assert classes_of(moved) == expected


def classes_of(labels: torch.Tensor) -> list[int]:
    return sorted(labels[labels != IGNORE].tolist())


@given(
    height=SIDES,
    width=SIDES,
    target=st.tuples(SIDES, SIDES),
    flip=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_a_point_lies_where_the_image_shows_it(height, width, target, flip, seed) -> None:
    """The new place is the pixel that the centre of the old one falls into, counted from the other side
    in a mirrored crop."""
    labels = sparse_labels(height, width, 1, seed)
    row, column = (int(index) for index in torch.nonzero(labels != IGNORE)[0])
    window = Window(0, 0, height, width, *target, flip)
    moved = torch.nonzero(cut_labels(labels, window, target, sparse=True) != IGNORE)
    assert len(moved) == 1
    expected_row = int((row + 0.5) * target[0] / height)
    expected_column = int((column + 0.5) * target[1] / width)
    expected_column = target[1] - 1 - expected_column if flip else expected_column
    assert int(moved[0, 0]) == expected_row
    assert int(moved[0, 1]) == expected_column


@given(height=SIDES, width=SIDES, seed=st.integers(0, 500), budget=st.sampled_from(["5%", "25%", "60%"]))
def test_dense_partial_labels_keep_every_pixel_when_enlarged(height, width, seed, budget) -> None:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, (height, width)).astype(np.uint8)
    points = draw_points(truth, key="a", seed=seed)
    labels = torch.from_numpy(PixelBudget.parse(budget).visible(truth, points))
    target = (height + int(generator.integers(20)), width + int(generator.integers(20)))
    assert classes_of(resize_points(labels, target)) == classes_of(labels)


@given(height=st.integers(2, 40), width=st.integers(2, 40), scale=st.floats(0.3, 1), seed=st.integers(0, 500))
def test_dense_partial_labels_keep_every_class_and_invent_nothing_when_shrunk(
    height, width, scale, seed
) -> None:
    truth = (np.arange(width) * 3 // width).astype(np.uint8)[None].repeat(height, 0)
    points = draw_points(truth, key="a", seed=seed)
    labels = torch.from_numpy(PixelBudget.parse("25%").visible(truth, points))
    target = (max(2, int(height * scale)), max(2, int(width * scale)))
    moved = resize_points(labels, target)
    assert set(classes_of(moved)) == set(classes_of(labels))
    assert len(classes_of(moved)) <= len(classes_of(labels))


def test_of_two_points_in_one_pixel_the_nearer_to_its_centre_stays() -> None:
    labels = torch.full((1, 9), IGNORE, dtype=torch.uint8)
    labels[0, 3:5] = torch.tensor([5, 6])  # thirds: pixels 3, 4 and 5 become one, 4 is its centre
    labels[0, 0] = 5
    assert resize_points(labels, (1, 3)).tolist() == [[5, 6, IGNORE]]


def test_of_equally_near_points_the_first_stays() -> None:
    labels = torch.full((4, 4), IGNORE, dtype=torch.uint8)
    labels[:2, :2] = 3
    labels[1, 1] = 4
    labels[3, 3] = 4  # class 4 has another pixel, so it may lose this one
    assert resize_points(labels, (2, 2)).tolist() == [[3, IGNORE], [IGNORE, 4]]


def test_a_class_that_would_vanish_moves_to_the_nearest_free_pixel() -> None:
    labels = torch.full((4, 8), IGNORE, dtype=torch.uint8)
    labels[0, 2], labels[0, 3] = 1, 2
    assert resize_points(labels, (2, 4)).tolist() == [[2, 1, IGNORE, IGNORE], [IGNORE] * 4]


def test_without_room_a_class_is_lost_and_nothing_breaks() -> None:
    labels = torch.arange(9, dtype=torch.uint8).reshape(3, 3)
    assert sorted(resize_points(labels, (2, 2)).flatten().tolist())[0] < 9
    assert resize_points(labels, (1, 1)).tolist() == [[4]]


def test_no_labels_at_all_stay_none() -> None:
    labels = torch.full((5, 6), IGNORE, dtype=torch.uint8)
    for size in ((2, 3), (9, 9)):
        assert (resize_points(labels, size) == IGNORE).all()


def test_nearest_neighbour_would_lose_them() -> None:
    """Why this exists: at half the size three of four single pixels vanish."""
    labels = sparse_labels(40, 40, 19, seed=0)
    window = Window(0, 0, 40, 40, 20, 20, flip=False)
    assert len(classes_of(cut_labels(labels, window, (20, 20)))) < 10
    assert len(classes_of(cut_labels(labels, window, (20, 20), sparse=True))) == 19


@pytest.mark.parametrize("seed", range(5))
def test_whole_labels_are_cut_as_before(seed) -> None:
    """`sparse` off takes the nearest pixel, as it always did; without scaling both are the same."""
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, 5, (30, 50)).astype(np.uint8))
    image = torch.zeros(3, 30, 50, dtype=torch.uint8)
    crops = [
        RandomCrop(size=(16, 24), sparse=sparse)(image, labels, np.random.default_rng(seed))[1]
        for sparse in (False, True)
    ]
    assert torch.equal(*crops)
