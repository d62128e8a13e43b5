"""Labels laid over an image: tint, contours, what is left alone, the legend."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from recoseg import overlay as overlay_module
from recoseg.errors import UserError
from recoseg.overlay import Overlay
from recoseg.types import IGNORE, ClassInfo

CLASSES = ClassInfo(("background", "leaf", "stem"), ((0, 0, 0), (200, 0, 0), (0, 0, 50)))


def grey(height: int, width: int) -> np.ndarray:
    return np.full((height, width, 3), 100, dtype=np.uint8)


def drawn(labels, **look: object) -> np.ndarray:
    labels = np.array(labels, dtype=np.uint8)
    return np.asarray(Overlay(**look).draw(grey(*labels.shape), labels, CLASSES))


def test_inside_a_class_it_is_image_and_colour_by_opacity() -> None:
    labels = np.ones((5, 5))
    assert (drawn(labels, opacity=0.5) == [150, 50, 50]).all()
    assert (drawn(labels, opacity=0.25) == [125, 75, 75]).all()


def test_contours_have_the_full_colour_on_both_sides() -> None:
    red, tint_red, blue, tint_blue = [200, 0, 0], [150, 50, 50], [0, 0, 50], [50, 50, 75]
    picture = drawn([[1, 1, 1, 2, 2, 2]] * 3, opacity=0.5)
    assert picture[1].tolist() == [tint_red, tint_red, red, blue, tint_blue, tint_blue]


def test_background_and_void_show_the_image_and_have_no_contour_of_their_own() -> None:
    image, red, tint = [100] * 3, [200, 0, 0], [150, 50, 50]
    row = [0, 0, 1, 1, 1, IGNORE, IGNORE]
    assert drawn([row] * 3, opacity=0.5)[1].tolist() == [image, image, red, tint, red, image, image]


def test_one_can_choose_what_is_left_alone() -> None:
    leaf, background = np.ones((3, 3)), np.zeros((3, 3))
    assert (drawn(leaf, untinted=("leaf",)) == 100).all()
    assert (drawn(background, untinted=("leaf",), opacity=0.5) == 50).all()
    assert (drawn(background, untinted=(), opacity=0.5) == 50).all()
    with pytest.raises(UserError, match="untinted: unknown class 'laef'; did you mean 'leaf'"):
        drawn(leaf, untinted=("laef",))


def test_the_ends_of_opacity_are_contours_alone_and_colours_alone() -> None:
    labels = [[1, 1, 1, 2, 2, 2]] * 3
    image, red, blue = [100] * 3, [200, 0, 0], [0, 0, 50]
    assert drawn(labels, opacity=0)[1].tolist() == [image, image, red, blue, image, image]
    assert drawn(labels, opacity=1)[1].tolist() == [red] * 3 + [blue] * 3
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(UserError, match="opacity: got"):
            Overlay(opacity=wrong)


@pytest.mark.parametrize("opacity", [0.1, 0.3, 0.5, 0.7])
def test_white_under_white_stays_white_and_never_turns_over(opacity) -> None:
    white = ClassInfo(("white",), ((255, 255, 255),))
    image = np.full((2, 2, 3), 255, dtype=np.uint8)
    picture = Overlay(opacity=opacity).draw(image, np.zeros((2, 2), dtype=np.uint8), white)
    assert np.asarray(picture).min() >= 254


@pytest.mark.parametrize("line", [1, 2, 3])
def test_contours_are_as_a_plain_loop_finds_them(monkeypatch, line) -> None:
    """A pixel is in a contour if one of another label is at most `line` steps away, diagonal ones included
    after the first."""
    labels = np.random.default_rng(0).integers(1, 3, (6, 5)).astype(np.uint8).repeat(6, 0).repeat(6, 1)
    monkeypatch.setattr(overlay_module, "_PIXELS_A_LINE", 36 / line)
    tall, wide = labels.shape
    steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    first = np.zeros(labels.shape, dtype=bool)
    for y in range(tall):
        for x in range(wide):
            near = [(y + dy, x + dx) for dy, dx in steps if 0 <= y + dy < tall and 0 <= x + dx < wide]
            first[y, x] = any(labels[place] != labels[y, x] for place in near)
    reach = line - 1
    expected = np.zeros(labels.shape, dtype=bool)
    for y, x in np.argwhere(first):
        expected[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1] = True
    picture = drawn(labels, opacity=0)
    assert np.array_equal((picture != 100).any(2), expected)
    monkeypatch.setattr(overlay_module, "BAND_PIXELS", 2 * wide)  # two rows at a time give the same
    assert np.array_equal(drawn(labels, opacity=0), picture)


def test_a_larger_image_has_wider_contours() -> None:
    labels = np.ones((2, 2400), dtype=np.uint8)
    labels[:, 1200:] = 2
    assert (drawn(labels, opacity=0) != 100).any(2)[0].sum() == 2 * 4


def test_a_legend_below_names_the_classes_that_are_seen() -> None:
    labels = np.zeros((40, 400))
    labels[:, 200:] = 1
    picture = drawn(labels, legend=True)
    assert np.array_equal(picture[:40], drawn(labels))
    strip = picture[40:]
    assert (strip == [200, 0, 0]).all(2).sum() > 100, "a box of the leaf's colour"
    assert not (strip == [0, 0, 50]).all(2).any(), "no stem is seen"
    assert (strip.max(2) < 60).sum() > 20, "letters"
    assert np.array_equal(drawn(np.zeros((5, 5)), legend=True), drawn(np.zeros((5, 5)))), "nothing to name"


def test_a_legend_is_wide_enough_for_words_and_breaks_into_lines() -> None:
    many = ClassInfo(tuple(f"a class of number {k}" for k in range(30)), ((1, 2, 3),) * 30)
    labels = np.arange(30, dtype=np.uint8)[None].repeat(2, 0)
    picture = Overlay(legend=True).draw(grey(2, 30), labels, many)
    assert isinstance(picture, Image.Image)
    assert picture.width == 320
    assert picture.height > 2 + 10 * 13
