"""Scores where classes meet, against plain loops over classes and pixels, and numbers counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import binary_erosion
from scipy.spatial.distance import cdist

from recoseg.evaluate.boundary import (
    BoundaryCounter,
    BoundaryRule,
    Distance,
    band_labels,
    contour_labels,
    disc,
    near_change,
    thin_void_width,
)
from recoseg.evaluate.scores import BoundaryScores
from recoseg.types import IGNORE

NUM_CLASSES = 3


def rule(dilation: float = 1, tolerance: float = 1, band: float = 1) -> BoundaryRule:
    return BoundaryRule(dilation=Distance(dilation), tolerance=Distance(tolerance), band=Distance(band))


def scores_of(predicted, labels, chosen: BoundaryRule, num_classes: int = NUM_CLASSES) -> BoundaryScores:
    counter = BoundaryCounter(num_classes, chosen, device=torch.device("cpu"))
    counter.add(as_batch(predicted), as_batch(labels))
    return counter.scores()


def as_batch(labels) -> torch.Tensor:
    return torch.as_tensor(np.asarray(labels, dtype=np.uint8)).reshape((-1, *np.shape(labels)[-2:]))


# The plain readings of the definitions: one class and one pixel at a time.


def plain_filled(predicted: np.ndarray, labels: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Void that no square of `width` + 1 pixels fits into takes what the nearest labelled pixel has."""
    side = width + 1
    around = np.pad(labels, side, constant_values=IGNORE)
    filled = predicted.copy(), labels.copy()
    labelled = np.argwhere(labels != IGNORE)
    for y, x in np.argwhere(labels == IGNORE):
        squares = (
            around[top : top + side, left : left + side]
            for top in range(y + 1, y + side + 1)
            for left in range(x + 1, x + side + 1)
        )
        if not any((square == IGNORE).all() for square in squares):
            nearest = min(labelled.tolist(), key=lambda at: ((at[0] - y) ** 2 + (at[1] - x) ** 2, at))
            for one in filled:
                one[y, x] = one[tuple(nearest)]
    return filled


def plain_band(labels: np.ndarray, k: int, reach: int) -> np.ndarray:
    """As the authors' code: erode the mask of a class by a 3x3 square, with zeros around the image."""
    mask = labels == k
    eroded = binary_erosion(
        mask | (labels == IGNORE), np.ones((3, 3), bool), iterations=reach, border_value=0
    )
    return mask & ~eroded


def plain_contour(labels: np.ndarray, k: int) -> np.ndarray:
    height, width = labels.shape
    found = [
        (y, x)
        for y in range(height)
        for x in range(width)
        if labels[y, x] == k
        and any(
            0 <= y + down < height
            and 0 <= x + right < width
            and labels[y + down, x + right] not in (k, IGNORE)
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
        )
    ]
    return np.array(found, dtype=float).reshape(-1, 2)


def plain_near(labels: np.ndarray, reach: int) -> np.ndarray:
    near = np.zeros(labels.shape, bool)
    for y, x in np.argwhere(labels != IGNORE):
        square = labels[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
        near[y, x] = bool(set(square.flatten().tolist()) - {IGNORE, int(labels[y, x])})
    return near


def plain_scores(predicted: np.ndarray, labels: np.ndarray, chosen: BoundaryRule) -> dict[str, list[float]]:
    size, known = labels.shape, labels != IGNORE
    predicted = np.where(known, predicted, IGNORE)
    predicted, labels = plain_filled(predicted, labels, thin_void_width(*size))
    near = plain_near(labels, chosen.band.whole_pixels(*size)) & known
    result: dict[str, list[float]] = {"iou": [], "f_score": [], "near_iou": []}
    for k in range(NUM_CLASSES):
        reach = chosen.dilation.whole_pixels(*size)
        true, guess = (plain_band(one, k, reach) & known for one in (labels, predicted))
        result["iou"].append(share((true & guess).sum(), (true | guess).sum()))
        result["f_score"].append(plain_f_score(predicted, labels, k, chosen.tolerance.pixels(*size)))
        true, guess = (near & (one == k) for one in (labels, predicted))
        result["near_iou"].append(share((true & guess).sum(), (true | guess).sum()))
    return result


def plain_f_score(predicted: np.ndarray, labels: np.ndarray, k: int, tolerance: float) -> float:
    true, guess = plain_contour(labels, k), plain_contour(predicted, k)
    if not len(true) and not len(guess):
        return math.nan
    if not len(true) or not len(guess):
        return 0.0
    distances = cdist(true, guess)
    recall, precision = ((distances.min(axis) <= tolerance).mean() for axis in (1, 0))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def require_same(scores: BoundaryScores, expected: dict[str, list[float]]) -> None:
    assert scores.iou.tolist() == pytest.approx(expected["iou"], nan_ok=True)
    assert scores.f_score.tolist() == pytest.approx(expected["f_score"], nan_ok=True)
    assert scores.near.iou.tolist() == pytest.approx(expected["near_iou"], nan_ok=True)


@st.composite
def two_maps(draw):
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    with_void = st.sampled_from([*range(NUM_CLASSES), IGNORE])
    labels = draw(arrays(np.uint8, shape, elements=with_void))
    return draw(arrays(np.uint8, shape, elements=st.integers(0, NUM_CLASSES - 1))), labels


@given(two_maps(), st.integers(1, 4), st.sampled_from([0.5, 1, 1.5, 2, 2.3, 5]), st.integers(1, 3))
def test_all_three_equal_a_plain_loop(maps, dilation, tolerance, band) -> None:
    chosen = rule(dilation, tolerance, band)
    require_same(scores_of(*maps, chosen), plain_scores(*maps, chosen))


@pytest.mark.parametrize("chosen", [BoundaryRule(), rule(3, 4.5, 2)])
def test_all_three_equal_a_plain_loop_on_blobs(chosen) -> None:
    generator = np.random.default_rng(0)
    coarse = generator.integers(0, NUM_CLASSES, (6, 9)).astype(np.uint8)
    labels = coarse.repeat(9, 0).repeat(8, 1)
    predicted = np.roll(labels, (2, -1), (0, 1))
    labels[generator.random(labels.shape) < 0.05] = IGNORE
    labels[20:30, 30:50] = IGNORE
    require_same(scores_of(predicted, labels, chosen), plain_scores(predicted, labels, chosen))


def test_counts_of_images_add_up() -> None:
    generator = np.random.default_rng(1)
    maps = generator.integers(0, NUM_CLASSES, (2, 5, 7, 6)).astype(np.uint8)
    at_once = scores_of(maps[0], maps[1], rule())
    one_by_one = BoundaryCounter(NUM_CLASSES, rule(), device=torch.device("cpu"))
    for predicted, labels in zip(maps[0], maps[1], strict=True):
        one_by_one.add(as_batch(predicted), as_batch(labels))
    added = one_by_one.scores()
    for name in ("bands", "contours", "confusion"):
        assert getattr(at_once, name).tolist() == getattr(added, name).tolist()


def test_a_square_moved_by_one_pixel_has_scores_one_can_count() -> None:
    labels, predicted = np.zeros((2, 12, 12), np.uint8)
    labels[4:8, 4:8], predicted[4:8, 5:9] = 1, 1
    scores = scores_of(predicted, labels, rule(dilation=1, tolerance=1, band=1), num_classes=2)
    # The rings of the squares have 12 pixels each. Columns 5 to 7 are in both squares: 6 pixels of the
    # upper and lower rows are in both rings, the others are inside one of the two.
    assert scores.bands[:, 1].tolist() == [6, 12, 12]
    assert scores.iou[1].item() == pytest.approx(6 / 18)
    # The contour of the square is its ring; every pixel of it is a pixel from the other's.
    assert scores.contours[:, 1].tolist() == [12, 12, 12, 12]
    assert scores.f_score[1].item() == 1
    # Near the true contour: its ring (12 pixels, of which 4 are called 0), and the ring around it of
    # 20 pixels, of which 4 are called 1.
    assert scores.confusion.tolist() == [[16, 4], [4, 8]]


def test_the_same_maps_are_perfect() -> None:
    labels = np.arange(48, dtype=np.uint8).reshape(6, 8) % NUM_CLASSES
    scores = scores_of(labels, labels, rule())
    assert (scores.mean_iou, scores.mean_f_score, scores.near.mean_iou) == (1, 1, 1)


def test_the_image_border_is_in_the_bands_and_no_contour() -> None:
    labels = torch.zeros(1, 5, 5, dtype=torch.uint8)
    assert (band_labels(labels, 1) == 0).sum() == 16  # all but the inner 3 x 3
    assert (contour_labels(labels) == IGNORE).all()
    assert not near_change(labels, 1).any()


def test_void_is_nobodys_neighbour_and_hides_what_is_predicted_there() -> None:
    labels = np.zeros((9, 9), np.uint8)
    labels[:, 4:] = IGNORE
    predicted = np.where(labels == IGNORE, 1, 0)
    scores = scores_of(predicted, labels, rule(), num_classes=2)
    assert scores.contours.sum() == 0  # the edge of the void is no contour in either map
    assert scores.bands[:, 1].tolist() == [0, 0, 0]
    assert scores.mean_iou == 1  # class 0 along the border of the image
    assert math.isnan(scores.f_score[0].item())
    assert scores.confusion.sum() == 0


def halves(*, void: int, moved: int = 0, size: tuple[int, int] = (40, 60)) -> np.ndarray:
    """Two classes side by side, with so much void in the middle, the border moved to the right by so much."""
    columns = np.arange(size[1]) - size[1] // 2 - moved
    row = np.where(columns < 0, 0, 1)
    row[(columns >= -(void // 2)) & (columns < void - void // 2)] = IGNORE
    return np.tile(row, (size[0], 1)).astype(np.uint8)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("void", [0, 1, 2, 5, 6])
def test_across_a_thin_band_of_void_the_contour_is_in_its_middle(void, turned) -> None:
    truth = halves(void=void)
    f_scores = {}
    for moved in range(12):
        maps = (halves(void=0, moved=moved), truth)
        scores = scores_of(*(one.T if turned else one for one in maps), rule(tolerance=4), num_classes=2)
        f_scores[moved] = scores.f_score.tolist()
    # Of a band of an odd width, the middle is half a pixel to the right: the left half has its middle pixel.
    furthest = 4 + void % 2
    assert f_scores == {moved: [1.0, 1.0] if moved <= furthest else [0.0, 0.0] for moved in range(12)}


@pytest.mark.parametrize("size", [(200, 300), (375, 500), (1024, 2048)])
def test_a_perfect_prediction_is_perfect_along_bands_of_void(size) -> None:
    scores = scores_of(halves(void=0, size=size), halves(void=5, size=size), BoundaryRule(), num_classes=2)
    assert scores.f_score.tolist() == scores.iou.tolist() == scores.near.iou.tolist() == [1.0, 1.0]
    assert scores.contours[0].tolist() == [size[0], size[0]]


def test_what_is_predicted_in_a_band_of_void_does_not_count() -> None:
    truth = halves(void=5)
    predicted = halves(void=0)
    predicted[truth == IGNORE] = 2
    scores = scores_of(predicted, truth, rule(), num_classes=3)
    assert scores.f_score[:2].tolist() == [1.0, 1.0]
    assert [int(counts[..., 2].sum()) for counts in (scores.bands, scores.contours, scores.confusion)] == [
        0
    ] * 3


def test_pixels_near_a_contour_in_a_band_of_void_are_counted_from_its_middle_and_only_where_labelled() -> (
    None
):
    scores = scores_of(halves(void=0), halves(void=4), rule(dilation=5, band=5), num_classes=2)
    # Two of the five columns on either side are void, in 40 rows.
    assert scores.confusion.tolist() == [[3 * 40, 0], [0, 3 * 40]]
    # The bands of Boundary IoU have five columns, or rows, along the border of the image too: of 28 columns,
    # 20 are in neither.
    assert scores.bands.tolist() == [[28 * 40 - 20 * 30] * 2] * 3


@pytest.mark.parametrize(
    ("void", "is_thin"), [(6, True), (7, False), (20, False)], ids=["six", "seven", "twenty"]
)
def test_wide_void_stays_void(void, is_thin) -> None:
    scores = scores_of(halves(void=0), halves(void=void), rule(), num_classes=2)
    assert bool(scores.contours.sum()) == is_thin
    assert thin_void_width(40, 60) == 6
    assert thin_void_width(1024, 2048) == 23  # a hundredth of 2290


def test_void_along_the_border_of_an_image_stays_void() -> None:
    labels = halves(void=0)
    labels[:3] = labels[:, -3:] = IGNORE
    scores = scores_of(halves(void=0), labels, rule(), num_classes=2)
    assert scores.contours[0].tolist() == [37, 37]  # none in the three rows above


def test_a_ring_of_void_around_an_object_is_its_contour() -> None:
    """As Pascal VOC draws it: an object, five pixels of void around it, and what is behind."""
    labels = np.zeros((60, 60), np.uint8)
    labels[15:45, 15:45] = IGNORE
    labels[20:40, 20:40] = 1
    whole = np.zeros_like(labels)
    whole[17:43, 17:43] = 1  # in the middle of the ring
    assert scores_of(whole, labels, rule(tolerance=1), num_classes=2).f_score.tolist() == [1.0, 1.0]
    smaller = np.zeros_like(labels)
    smaller[25:35, 25:35] = 1  # five pixels inside the object: seven or eight from its contour
    for tolerance, expected in ((6, 0.0), (11, 1.0)):
        scores = scores_of(smaller, labels, rule(tolerance=tolerance), num_classes=2)
        assert scores.f_score[1].item() == expected


def test_two_classes_that_void_separates_do_not_touch_by_themselves() -> None:
    labels = torch.tensor([[[0, 0, IGNORE, 1, 1]]], dtype=torch.uint8)
    assert (contour_labels(labels) == IGNORE).all()
    assert near_change(labels, 2).tolist() == [[[False, True, False, True, False]]]


@pytest.mark.parametrize("size", [(1, 1), (1, 6), (4, 4)])
def test_all_ignored_counts_nothing(size) -> None:
    scores = scores_of(np.zeros(size), np.full(size, IGNORE), BoundaryRule())
    assert [int(getattr(scores, name).sum()) for name in ("bands", "contours", "confusion")] == [0, 0, 0]
    assert math.isnan(scores.mean_iou)
    assert math.isnan(scores.mean_f_score)


@pytest.mark.parametrize(("guess", "expected"), [(1, [0, 1, 0]), (2, [0, 0, 0])])
def test_an_image_of_one_pixel_is_all_border(guess, expected) -> None:
    scores = scores_of([[guess]], [[1]], BoundaryRule())
    assert scores.bands[0].tolist() == expected
    assert scores.contours.sum() == 0
    assert scores.near.confusion.sum() == 0


def test_one_class_has_a_border_but_no_contour() -> None:
    scores = scores_of(np.zeros((20, 20)), np.zeros((20, 20)), BoundaryRule(), num_classes=1)
    assert scores.mean_iou == 1
    assert math.isnan(scores.mean_f_score)


def test_a_contour_in_one_map_alone_scores_nothing() -> None:
    labels = np.zeros((6, 6), np.uint8)
    predicted = labels.copy()
    predicted[2:4, 2:4] = 1
    scores = scores_of(predicted, labels, rule())
    assert scores.f_score[:2].tolist() == [0, 0]
    assert math.isnan(scores.f_score[2].item())
    assert scores.mean_f_score == 0


def test_the_highest_class_is_not_taken_for_void() -> None:
    labels = np.array([[254, 254, 0, 0]], dtype=np.uint8)
    scores = scores_of(labels, labels, rule(), num_classes=255)
    assert scores.contours[0].nonzero().flatten().tolist() == [0, 254]
    assert near_change(as_batch(labels), 1).tolist() == [[[False, True, True, False]]]


def test_a_tolerance_is_a_euclidean_distance() -> None:
    places = {(offset + 50 * 101) // 101 - 50 for offset in disc(5, 101)}
    assert len(disc(5, 101)) == sum(y * y + x * x <= 25 for y in range(-5, 6) for x in range(-5, 6))
    assert places == set(range(-5, 6))
    assert disc(0.9, 101) == [0]
    assert sorted(disc(1, 101)) == [-101, -1, 0, 1, 101]


def test_a_contour_is_not_found_across_the_sides_of_an_image_or_in_another_image() -> None:
    labels, predicted = np.zeros((2, 2, 4, 12), np.uint8)
    labels[0, :, :2] = 1  # at the left of the first image
    predicted[0, :, -2:] = 1  # at its right
    predicted[1, :, :2] = 1  # and at the left of the second
    scores = scores_of(predicted, labels, rule(tolerance=3))
    assert scores.contours[1].tolist() == [0, 0, 0]
    assert scores.contours[3].tolist() == [0, 0, 0]
