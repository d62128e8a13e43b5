"""Mixes: every pixel comes, with its label and confidence, from one of two images."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.augment.mix import (
    MEAN_COLOUR,
    MIXES,
    classmix,
    cutmix,
    cutout,
    random_boxes,
    random_classes,
    random_small_boxes,
)
from recoseg.models.layers import Normalise
from recoseg.types import IGNORE, PseudoLabels

SIDES = st.integers(1, 13)
SEEDS = st.integers(0, 10_000)
PASTING = pytest.mark.parametrize("mix", [cutmix, classmix])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(
    count: int,
    height: int,
    width: int,
    seed: int,
    *,
    num_classes: int = 5,
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, PseudoLabels]:
    """Images of distinct pixels, with labels of which about a sixth are IGNORE."""
    drawn = generator(seed)
    images = torch.rand(count, 3, height, width, generator=drawn, dtype=dtype)
    labels = torch.randint(0, num_classes + 1, (count, height, width), generator=drawn)
    labels[labels == num_classes] = IGNORE
    confidence = torch.rand(count, height, width, generator=drawn, dtype=dtype)
    return images, PseudoLabels(labels, confidence)


def same_pixels(
    one: tuple[torch.Tensor, PseudoLabels], other: tuple[torch.Tensor, PseudoLabels]
) -> torch.Tensor:
    """(B, H, W): where image, label and confidence are all equal, to the bit."""
    image = (one[0] == other[0]).all(1)
    return image & (one[1].labels == other[1].labels) & (one[1].confidence == other[1].confidence)


def shifted(images: torch.Tensor, pseudo: PseudoLabels) -> tuple[torch.Tensor, PseudoLabels]:
    """The next image in the place of each."""
    order = [*range(1, len(images)), 0]
    return images[order], PseudoLabels(pseudo.labels[order], pseudo.confidence[order])


@PASTING
@given(count=st.integers(1, 4), height=SIDES, width=SIDES, seed=SEEDS)
def test_every_pixel_is_that_of_an_image_or_of_the_next_at_the_same_place(
    mix, count, height, width, seed
) -> None:
    batch = random_batch(count, height, width, seed)
    mixed = mix(*batch, generator(seed))
    assert (same_pixels(mixed, batch) | same_pixels(mixed, shifted(*batch))).all()


@PASTING
def test_both_images_are_seen_in_every_mix(mix) -> None:
    batch = random_batch(6, 16, 16, seed=1)
    own = same_pixels(mix(*batch, generator(2)), batch).float().mean((1, 2))
    assert own.min() > 0.1
    assert own.max() < 0.9


@PASTING
@given(height=SIDES, width=SIDES, seed=SEEDS)
def test_a_single_image_mixes_with_itself_and_so_stays_as_it_is(mix, height, width, seed) -> None:
    batch = random_batch(1, height, width, seed)
    assert same_pixels(mix(*batch, generator(seed)), batch).all()


@given(count=st.integers(1, 4), height=SIDES, width=SIDES, seed=SEEDS)
def test_cutout_blanks_the_box_and_leaves_the_rest(count, height, width, seed) -> None:
    batch = random_batch(count, height, width, seed)
    cut = cutout(*batch, generator(seed))
    box = random_boxes(batch[0], generator(seed))
    assert torch.equal(same_pixels(cut, batch), ~box)
    assert (cut[1].labels[box] == IGNORE).all()
    assert (cut[1].confidence[box] == 0).all()
    assert (cut[0].movedim(1, 3)[box] == torch.tensor(MEAN_COLOUR)).all()


def test_what_cutout_leaves_is_zero_to_a_network() -> None:
    images, pseudo = random_batch(2, 8, 8, seed=0)
    cut, _ = cutout(images, pseudo, generator())
    box = random_boxes(images, generator())
    assert (Normalise()(cut).movedim(1, 3)[box] == 0).all()


@given(count=st.integers(1, 4), height=SIDES, width=SIDES, seed=SEEDS)
def test_a_box_is_a_rectangle_of_half_the_area_to_rounding(count, height, width, seed) -> None:
    images = torch.empty(count, 3, height, width)
    for inside in random_boxes(images, generator(seed)):
        rows, columns = inside.any(1).nonzero()[:, 0], inside.any(0).nonzero()[:, 0]
        box_height, box_width = int(rows[-1] - rows[0]) + 1, int(columns[-1] - columns[0]) + 1
        assert inside.sum() == box_height * box_width  # one full rectangle
        assert width / 2 <= box_width <= width
        assert abs(box_height - height * width / 2 / box_width) <= 0.5


def test_boxes_differ_in_shape_and_lie_everywhere_alike() -> None:
    boxes = random_boxes(torch.empty(1, 3, 24, 40).expand(2000, -1, -1, -1), generator(4))
    widths = boxes.any(1).sum(1)
    assert set(widths.tolist()) == set(range(20, 41))
    # Uniform on 20 to 40: mean 30, and the mean of 2000 draws strays by 6.1 / sqrt(2000) = 0.14.
    assert widths.float().mean().item() == pytest.approx(30, abs=0.6)
    covered = boxes.float().mean(0)  # (24, 40), the same after a mirroring of either side
    torch.testing.assert_close(covered, covered.flip(0), atol=0.06, rtol=0)
    torch.testing.assert_close(covered, covered.flip(1), atol=0.06, rtol=0)
    assert covered.mean().item() == pytest.approx(0.5, abs=0.01)


def test_classmix_equals_a_slow_plain_version() -> None:
    for seed in range(20):
        images, pseudo = random_batch(3, 7, 9, seed)
        pasted = random_classes(pseudo.labels, generator(seed))
        mixed, mixed_pseudo = classmix(images, pseudo, generator(seed))
        for i in range(3):
            following = (i + 1) % 3
            classes = sorted(set(pseudo.labels[i].flatten().tolist()) - {IGNORE})
            taken = set(pseudo.labels[i][pasted[i]].tolist())
            assert taken <= set(classes)
            assert len(taken) == len(classes) // 2
            for row in range(7):
                for column in range(9):
                    source = i if int(pseudo.labels[i, row, column]) in taken else following
                    assert torch.equal(mixed[i, :, row, column], images[source, :, row, column])
                    assert mixed_pseudo.labels[i, row, column] == pseudo.labels[source, row, column]
                    assert mixed_pseudo.confidence[i, row, column] == pseudo.confidence[source, row, column]


@pytest.mark.parametrize(("num_present", "num_pasted"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (255, 127)])
def test_half_of_the_classes_rounded_down_are_pasted(num_present: int, num_pasted: int) -> None:
    present = random.Random(0).sample(range(IGNORE), num_present)
    labels = torch.tensor([present + [IGNORE] * (300 - num_present)]).view(1, 20, 15)
    chosen = random_classes(labels, generator(3))
    assert chosen.sum() == num_pasted
    assert not chosen[labels == IGNORE].any()


def test_every_class_is_pasted_about_half_of_the_time() -> None:
    labels = torch.tensor([3, 8, 20, 254]).view(1, 2, 2).expand(4000, 2, 2)
    share = random_classes(labels, generator(5)).float().mean(0)
    torch.testing.assert_close(share, torch.full((2, 2), 0.5), atol=0.03, rtol=0)  # four standard errors


def test_padding_is_neither_pasted_nor_counted_as_a_class() -> None:
    """Image 0 has classes 1 and 2 and padding: one class is pasted, and the padding shows image 1."""
    labels = torch.full((2, 3, 4), 7)
    labels[0] = torch.tensor([[1, 1, 2, 2]] * 2 + [[IGNORE] * 4])
    images = torch.stack([torch.zeros(3, 3, 4), torch.ones(3, 3, 4)])
    pseudo = PseudoLabels(labels, torch.tensor([0.25, 0.75]).view(2, 1, 1).expand(2, 3, 4))
    for seed in range(10):
        mixed, mixed_pseudo = classmix(images, pseudo, generator(seed))
        assert (mixed[0, :, 2] == 1).all()
        assert (mixed_pseudo.labels[0, 2] == 7).all()
        assert (mixed_pseudo.confidence[0, 2] == 0.75).all()
        assert sorted(set(mixed_pseudo.labels[0].flatten().tolist())) in ([1, 7], [2, 7])
        assert torch.equal(mixed[1], images[0])  # image 1 has one class, half of which is none
        assert torch.equal(mixed_pseudo.labels[1], labels[0])


@pytest.mark.parametrize("name", MIXES)
def test_labels_that_are_all_ignored_stay_so(name: str) -> None:
    images = torch.rand(3, 3, 5, 5)
    pseudo = PseudoLabels(torch.full((3, 5, 5), IGNORE), torch.zeros(3, 5, 5))
    _, mixed = MIXES[name](images, pseudo, generator())
    assert torch.equal(mixed.labels, pseudo.labels)
    assert torch.equal(mixed.confidence, pseudo.confidence)


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_types_are_kept_and_inputs_are_left_alone(name: str, dtype: torch.dtype) -> None:
    images, pseudo = random_batch(3, 9, 6, seed=0, dtype=dtype)
    before = images.clone(), PseudoLabels(pseudo.labels.clone(), pseudo.confidence.clone())
    mixed, mixed_pseudo = MIXES[name](images, pseudo, generator())
    assert (mixed.dtype, mixed.shape) == (dtype, images.shape)
    assert mixed_pseudo.confidence.dtype == dtype
    assert mixed_pseudo.labels.dtype == torch.int64
    assert same_pixels((images, pseudo), before).all()


@pytest.mark.parametrize("name", ["cutout", "cutmix", "classmix"])
def test_a_seed_gives_one_result_and_another_seed_another(name: str) -> None:
    batch = random_batch(2, 16, 16, seed=0)
    first, again, other = (MIXES[name](*batch, generator(seed)) for seed in (1, 1, 2))
    assert same_pixels(first, again).all()
    assert not same_pixels(first, other).all()


def test_equal_images_of_a_batch_are_cut_each_in_its_own_way() -> None:
    boxes = random_boxes(torch.empty(4, 3, 12, 12), generator(1))
    classes = random_classes(torch.arange(12).view(1, 12, 1).expand(4, 12, 12), generator(1))
    for chosen in (boxes, classes):
        assert len({tuple(mask.flatten().tolist()) for mask in chosen}) == 4


def test_no_mix_returns_what_it_was_given() -> None:
    images, pseudo = random_batch(2, 4, 4, seed=0)
    same_images, same_pseudo = MIXES["none"](images, pseudo, generator())
    assert same_images is images
    assert same_pseudo is pseudo


@PASTING
def test_a_confidence_survives_as_it_is(mix) -> None:
    images, pseudo = random_batch(2, 6, 6, seed=0)
    pseudo = PseudoLabels(pseudo.labels, torch.full((2, 6, 6), 0.97))
    assert (mix(images, pseudo, generator())[1].confidence == torch.tensor(0.97)).all()


@given(height=st.integers(1, 40), width=st.integers(1, 40), seed=SEEDS)
def test_a_small_box_is_one_rectangle_of_2_to_40_percent_to_rounding(height, width, seed) -> None:
    boxes = random_small_boxes(torch.empty(4, 3, height, width), generator(seed), probability=1)
    for inside in boxes:
        rows, columns = inside.any(1).nonzero()[:, 0], inside.any(0).nonzero()[:, 0]
        box_height, box_width = int(rows[-1] - rows[0]) + 1, int(columns[-1] - columns[0]) + 1
        assert inside.sum() == box_height * box_width
        # the width is the area over the height, rounded: half a column more or less
        assert box_height * max(0, box_width - 0.5) <= 0.4 * height * width or box_width == 1
        assert box_height * (box_width + 0.5) >= 0.02 * height * width


def test_small_boxes_have_the_aspects_and_areas_of_unimatch_and_half_of_the_images_none() -> None:
    images = torch.empty(1, 3, 200, 200).expand(4000, -1, -1, -1)
    boxes = random_small_boxes(images, generator(3))
    there = boxes.flatten(1).any(1)
    assert there.float().mean().item() == pytest.approx(0.5, abs=0.032)  # four standard errors
    heights, widths = boxes[there].any(2).sum(1), boxes[there].any(1).sum(1)
    areas = heights * widths / 200**2
    # Uniform on 2 to 40 %: mean 21 %, standard deviation 11 %.
    assert areas.mean().item() == pytest.approx(0.21, abs=0.01)
    assert 0.019 < areas.min() < 0.03
    assert 0.39 < areas.max() < 0.41
    aspects = heights / widths
    assert 0.28 < aspects.min() < 0.4
    assert 3.0 < aspects.max() < 3.5
    assert sorted(widths.tolist())[-1] <= 200
    covered = boxes.float().mean(0)  # the same after a mirroring of either side
    torch.testing.assert_close(covered, covered.flip(0), atol=0.03, rtol=0)
    torch.testing.assert_close(covered, covered.flip(1), atol=0.03, rtol=0)
