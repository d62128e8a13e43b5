"""Guided CutOut: where boxes lie and how large they are, against a plain look at each object."""

from __future__ import annotations

import pytest
import torch

from recoseg.methods.parts.guided_cutout import kept_by_guided_cutout


def cut_box(kept: torch.Tensor) -> tuple[int, int, int, int]:
    """First row and column, height and width of the only box that is cut from (h, w)."""
    rows, columns = (~kept).nonzero().T
    box = rows.min().item(), columns.min().item(), rows.max().item() + 1, columns.max().item() + 1
    assert (~kept).sum() == (box[2] - box[0]) * (box[3] - box[1])  # all of it
    return box[0], box[1], box[2] - box[0], box[3] - box[1]


def test_a_box_of_two_fifths_of_each_side_lies_inside_the_objects_box(generator) -> None:
    objects = torch.zeros(2, 20, 30, dtype=torch.bool)
    objects[0, 4:14, 5:20] = True
    objects[0, 6:9, 7:9] = False  # a hole: the bounding box counts
    kept = kept_by_guided_cutout(objects, 200, generator)
    assert kept.shape == (2, 200, 20, 30)
    assert kept[1].all()
    boxes = [cut_box(one) for one in kept[0]]
    assert {box[2:] for box in boxes} == {(4, 6)}  # of 10 x 15
    assert {box[0] for box in boxes} == set(range(4, 11))  # every place, up to the edges
    assert {box[1] for box in boxes} == set(range(5, 15))


def test_each_object_is_cut_by_its_own_box_and_corners_touch(generator) -> None:
    objects = torch.zeros(1, 12, 24, dtype=torch.bool)
    objects[0, :5, :5] = True
    objects[0, 5:10, 5:10] = True  # touches at a corner: one object of 10 x 10
    objects[0, 2:7, 14:19] = True
    kept = kept_by_guided_cutout(objects, 50, generator)[0]
    assert (~kept[:, :, :12]).sum((1, 2)).tolist() == [16] * 50
    assert (~kept[:, :, 12:]).sum((1, 2)).tolist() == [4] * 50


@pytest.mark.parametrize("side", [1, 2])
def test_nothing_is_cut_from_small_objects_or_none(generator, side) -> None:
    objects = torch.zeros(2, 8, 8, dtype=torch.bool)
    assert kept_by_guided_cutout(objects, 3, generator).all()
    objects[:, 3 : 3 + side, 3 : 3 + side] = True
    assert kept_by_guided_cutout(objects, 3, generator).all()


def test_images_of_a_batch_do_not_touch(generator) -> None:
    objects = torch.zeros(2, 10, 10, dtype=torch.bool)
    objects[0, :5, :], objects[1, 5:, :] = True, True
    kept = kept_by_guided_cutout(objects, 20, generator)
    assert {cut_box(one)[2:] for image in kept for one in image} == {(2, 4)}
    assert kept[0, :, 5:].all()
    assert kept[1, :, :5].all()
