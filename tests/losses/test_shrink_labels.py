"""Labels at the size of a feature map: the centre of each cell, or every labelled pixel."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recoseg import shrink_labels
from recoseg.errors import UserError
from recoseg.types import IGNORE


def points(height: int, width: int, *labelled: tuple[int, int, int]) -> Tensor:
    labels = torch.full((1, height, width), IGNORE)
    for y, x, label in labelled:
        labels[0, y, x] = label
    return labels


def test_dense_labels_take_the_pixel_at_the_centre_of_each_cell() -> None:
    labels = torch.arange(64).view(1, 8, 8)
    assert shrink_labels(labels, (2, 4)).tolist() == [
        [[2 * 8 + 1, 2 * 8 + 3, 2 * 8 + 5, 2 * 8 + 7], [6 * 8 + 1, 6 * 8 + 3, 6 * 8 + 5, 6 * 8 + 7]]
    ]


def test_sizes_that_do_not_divide_keep_left_and_right_alike() -> None:
    """321 pixels on 81 cells: the centres mirror each other."""
    centres = shrink_labels(torch.arange(321).view(1, 1, 321), (1, 81))[0, 0]
    assert centres[40] == 160
    assert ((centres + centres.flip(0)) == 320).all()


@pytest.mark.parametrize(("y", "x"), [(0, 0), (3, 3), (5, 14), (15, 0), (8, 8)])
def test_a_single_labelled_pixel_survives_wherever_it_lies(y: int, x: int) -> None:
    small = shrink_labels(points(16, 16, (y, x, 7)), (4, 4), sparse=True)
    assert small[0, y // 4, x // 4] == 7
    assert (small != IGNORE).sum() == 1


def test_by_the_nearest_pixel_most_single_pixels_would_vanish() -> None:
    survivors = sum(
        int((shrink_labels(points(4, 4, (y, x, 1)), (1, 1)) != IGNORE).sum())
        for y in range(4)
        for x in range(4)
    )
    assert survivors == 1


def test_in_a_crowded_cell_the_rarer_class_wins_then_the_nearer_pixel_then_the_upper_left() -> None:
    common = [(0, x, 1) for x in range(4)]
    assert shrink_labels(points(4, 4, *common, (3, 0, 2)), (1, 1), sparse=True).item() == 2
    assert shrink_labels(points(4, 4, (2, 2, 1), (0, 0, 2)), (1, 1), sparse=True).item() == 1
    assert shrink_labels(points(4, 4, (1, 2, 1), (2, 1, 2)), (1, 1), sparse=True).item() == 1
    assert shrink_labels(points(4, 4, (1, 2, 2), (2, 1, 1)), (1, 1), sparse=True).item() == 2


def test_classes_are_rare_or_common_within_their_own_image() -> None:
    first = points(4, 4, (0, 0, 1), (2, 2, 2), (2, 1, 2))
    second = points(4, 4, (0, 0, 2), (2, 2, 1), (2, 1, 1))
    assert shrink_labels(torch.cat((first, second)), (1, 1), sparse=True).flatten().tolist() == [1, 2]


@pytest.mark.parametrize("sparse", [False, True])
def test_pixels_outside_the_mask_take_no_part(sparse: bool) -> None:
    labels = torch.ones(1, 4, 4, dtype=torch.uint8)
    mask = torch.zeros(1, 4, 4, dtype=torch.bool)
    mask[0, :, :2] = True
    small = shrink_labels(labels, (2, 2), sparse=sparse, mask=mask)
    assert small.tolist() == [[[1, IGNORE], [1, IGNORE]]]
    assert small.dtype == torch.uint8


@given(st.integers(1, 20), st.integers(1, 20), st.data())
def test_every_cell_with_a_label_gets_one_of_its_own(height: int, width: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    labels = torch.randint(0, 4, (2, height, width), generator=generator)
    labels[torch.rand(labels.shape, generator=generator) < 0.7] = IGNORE
    small = shrink_labels(labels, size, sparse=True)
    for image in range(2):
        for i in range(size[0]):
            for j in range(size[1]):
                found = {
                    int(labels[image, y, x])
                    for y in range(height)
                    for x in range(width)
                    if (y * size[0] // height, x * size[1] // width) == (i, j)
                } - {IGNORE}
                assert int(small[image, i, j]) in (found or {IGNORE})


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_a_fully_labelled_image_of_one_class_stays_so(height: int, width: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    labels = torch.full((1, height, width), 3)
    assert shrink_labels(labels, size, sparse=True).tolist() == shrink_labels(labels, size).tolist()


def test_no_images_and_no_labels_are_fine() -> None:
    assert shrink_labels(torch.zeros(0, 4, 4, dtype=torch.long), (2, 2), sparse=True).shape == (0, 2, 2)
    assert (shrink_labels(points(4, 4), (2, 2), sparse=True) == IGNORE).all()


@pytest.mark.parametrize(
    ("labels", "size", "mask", "message"),
    [
        (torch.zeros(1, 4, 4), (2, 2), None, r"labels: got torch.float32 \(1, 4, 4\), needs integers"),
        (
            torch.zeros(4, 4).long(),
            (2, 2),
            None,
            r"labels: got torch.int64 \(4, 4\), needs integers \(B, H, W\)",
        ),
        (torch.zeros(1, 4, 4).long(), (8, 2), None, r"size: got \(8, 2\), needs \(h, w\)"),
        (torch.zeros(1, 4, 4).long(), (2, 2), torch.ones(1, 4, 4), r"mask: got torch.float32"),
        (torch.full((1, 4, 4), -1), (2, 2), None, "labels: got -1, needs classes from 0"),
    ],
)
def test_a_wrong_argument_is_named(labels: Tensor, size: tuple[int, int], mask: Tensor, message: str) -> None:
    with pytest.raises(UserError, match=message):
        shrink_labels(labels, size, sparse=True, mask=mask)
