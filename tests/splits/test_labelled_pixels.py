"""Partial labels: one pixel of each class, and what grows from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import binary_dilation

from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.splits.labelled_images import all_labels, few_images
from recoseg.splits.labelled_pixels import PixelBudget, draw_points, few_pixels
from recoseg.types import IGNORE

SHARES = st.sampled_from(["0.5%", "1%", "5%", "25%", "60%", "100%"])
LABELS = arrays(
    np.uint8,
    st.tuples(st.integers(1, 24), st.integers(1, 24)),
    elements=st.sampled_from([0, 1, 2, 7, IGNORE]),
)


def literally_dilated(labels: np.ndarray, points, share: Fraction) -> np.ndarray:
    """The paper's words: dilate by 5x5 until the share of the class is met, then cut to the class."""
    shown = np.full_like(labels, IGNORE)
    for label, row, column in points:
        of_class = labels == label
        square = np.zeros(labels.shape, dtype=bool)
        square[row, column] = True
        while (square & of_class).sum() < share * int(of_class.sum()):
            square = binary_dilation(square, np.ones((5, 5), dtype=bool))
        shown[square & of_class] = label
    return shown


def blocks(height: int, width: int, generator: np.random.Generator) -> np.ndarray:
    """Labels with regions rather than noise, some of them in several pieces."""
    small = generator.choice([0, 1, 2, 3, IGNORE], size=(-(-height // 7), -(-width // 9)))
    return small.repeat(7, 0).repeat(9, 1)[:height, :width].astype(np.uint8)


@given(LABELS, SHARES, st.integers(0, 100))
def test_the_closed_form_is_the_literal_dilation(labels, text, seed) -> None:
    budget, points = PixelBudget.parse(text), draw_points(labels, key="a", seed=seed)
    assert np.array_equal(budget.visible(labels, points), literally_dilated(labels, points, budget.share))


@given(st.integers(1, 60), st.integers(1, 60), SHARES, st.integers(0, 100))
def test_the_closed_form_is_the_literal_dilation_of_regions(height, width, text, seed) -> None:
    labels = blocks(height, width, np.random.default_rng(seed))
    budget, points = PixelBudget.parse(text), draw_points(labels, key="a", seed=seed)
    assert np.array_equal(budget.visible(labels, points), literally_dilated(labels, points, budget.share))


@given(LABELS, SHARES, st.integers(0, 100))
def test_at_least_the_share_of_every_class_is_seen_and_nothing_false(labels, text, seed) -> None:
    budget, points = PixelBudget.parse(text), draw_points(labels, key="a", seed=seed)
    seen = budget.visible(labels, points)
    assert ((seen == labels) | (seen == IGNORE)).all()
    for label in set(labels.ravel().tolist()) - {IGNORE}:
        assert (seen == label).sum() >= budget.share * int((labels == label).sum())


def test_a_square_grows_by_two_pixels_on_each_side() -> None:
    labels = np.zeros((21, 21), dtype=np.uint8)
    points = ((0, 10, 10),)
    # 25 of 441 pixels are 5.67 %, 81 are 18.4 %
    assert (PixelBudget.parse("0.2%").visible(labels, points) == 0).sum() == 1
    assert (PixelBudget.parse("0.3%").visible(labels, points) == 0).sum() == 25
    assert (PixelBudget.parse("5%").visible(labels, points) == 0).sum() == 25
    grown = PixelBudget.parse("6%").visible(labels, points)
    assert (grown == 0).sum() == 81
    assert (grown[6:15, 6:15] == 0).all()


def test_the_square_reaches_pieces_of_the_class_beyond_another_one() -> None:
    labels = np.array([[0, 0, 1, 1, 1, 1, 0, 0]], dtype=np.uint8)
    seen = PixelBudget.parse("75%").visible(labels, ((0, 0, 0), (1, 0, 2)))
    assert seen.tolist() == [[0, 0, 1, 1, 1, IGNORE, 0, IGNORE]]


def test_one_pixel_is_one_pixel_of_each_class() -> None:
    labels = blocks(40, 50, np.random.default_rng(0))
    points = draw_points(labels, key="a", seed=0)
    seen = PixelBudget.parse("1").visible(labels, points)
    assert [(seen == label).sum() for label in range(4)] == [1, 1, 1, 1]
    assert (seen[seen != IGNORE] == labels[seen != IGNORE]).all()


def test_all_void_has_no_points_and_nothing_to_see() -> None:
    labels = np.full((5, 6), IGNORE, dtype=np.uint8)
    assert draw_points(labels, key="a", seed=0) == ()
    for text in ("1", "25%"):
        assert (PixelBudget.parse(text).visible(labels, ()) == IGNORE).all()


def test_sides_beyond_16_bits_do_not_overflow() -> None:
    labels = np.zeros((1, 40_000), dtype=np.uint8)
    seen = PixelBudget.parse("99%").visible(labels, ((0, 0, 0),))
    assert (seen[0, :39_600] == 0).all()
    assert (seen[0, 39_605:] == IGNORE).all()


def test_every_pixel_of_a_class_is_as_likely() -> None:
    labels = np.array([[0, 1, 1], [1, 0, 1]], dtype=np.uint8)
    hits = np.zeros((2, 3), dtype=int)
    for seed in range(2000):
        for _, row, column in draw_points(labels, key="image", seed=seed):
            hits[row, column] += 1
    assert (abs(hits[labels == 0] - 1000) < 120).all()
    assert (abs(hits[labels == 1] - 500) < 100).all()


def test_points_depend_on_the_image_and_the_class() -> None:
    labels = np.zeros((50, 50), dtype=np.uint8)
    places = {draw_points(labels, key=key, seed=seed)[0][1:] for key in "abc" for seed in range(3)}
    assert len(places) == 9
    assert draw_points(labels, key="a", seed=0)[0][1:] != draw_points(labels + 1, key="a", seed=0)[0][1:]


@pytest.mark.parametrize("text", ["0", "2", "", "0%", "-1%", "x%", "1%%", "1% of", "5", "1/0%"])
def test_what_is_no_number_of_pixels_is_refused(text) -> None:
    with pytest.raises(UserError, match="expected 1 or a percentage such as 1%"):
        PixelBudget.parse(text)


def test_more_than_all_pixels_is_refused() -> None:
    with pytest.raises(UserError, match="no more than 100% of its pixels, got '101%'"):
        PixelBudget.parse("101%")


@pytest.mark.parametrize("text", ["1", "1%", "0.5%", "25%", "100%"])
def test_a_budget_is_written_as_it_was_read(text) -> None:
    assert str(PixelBudget.parse(text)) == text


def test_a_split_has_a_point_for_every_class_of_every_labelled_image() -> None:
    dataset = Scenes(height=16, width=32, num_train=4, num_val=1)
    split = few_pixels(dataset, all_labels(dataset), pixels=PixelBudget.parse("5%"), seed=3)
    assert (split.builder, split.seed, split.pixels) == ("few_pixels", 3, "5%")
    assert split.labelled == tuple(dataset.keys("train"))
    for key in split.labelled:
        labels = dataset.labels(key).numpy()
        assert [label for label, _, _ in split.points[key]] == np.unique(labels[labels != IGNORE]).tolist()
        assert all(labels[row, column] == label for label, row, column in split.points[key])
    counts = [sum(label == k for some in split.points.values() for label, _, _ in some) for k in range(16)]
    assert list(split.class_counts.values()) == counts


def test_few_pixels_of_few_images() -> None:
    dataset = Scenes(height=16, width=32, num_train=6, num_val=1)
    images = few_images(dataset, labels=2, seed=0)
    split = few_pixels(dataset, images, pixels=PixelBudget.parse("1"), seed=0)
    assert split.labelled == images.labelled
    assert set(split.points) == set(images.labelled)
    assert split.builder == "few_images, few_pixels"


def test_no_class_anywhere_is_an_error(in_memory) -> None:
    dataset = in_memory({"a": [[IGNORE, IGNORE]]}, 2)
    with pytest.raises(UserError, match="no labelled image has a pixel with a class"):
        few_pixels(dataset, all_labels(dataset), pixels=PixelBudget.parse("1"), seed=0)
