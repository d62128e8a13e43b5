"""The figure of partial labels."""

from __future__ import annotations

import numpy as np
from PIL import Image

from recoseg.figures.partial_labels import draw_partial_labels, visible_labels
from recoseg.figures.sheet import coloured
from recoseg.types import ClassInfo

CLASSES = ClassInfo(("road", "sky"), ((200, 0, 0), (0, 0, 200)))


def labels() -> np.ndarray:
    truth = np.zeros((20, 400), dtype=np.uint8)
    truth[:, 200:] = 1
    return truth


POINTS = ((0, 10, 100), (1, 10, 300))


def test_one_pixel_is_shown_five_times_as_large_on_white() -> None:
    colours = coloured(visible_labels(labels(), POINTS, "1"), CLASSES)
    assert colours.shape == (20, 400, 3)
    for (_, row, column), colour in zip(POINTS, CLASSES.palette, strict=True):
        assert (colours[row - 2 : row + 3, column - 2 : column + 3] == colour).all()
    assert (colours == 255).all(2).sum() == 20 * 400 - 2 * 25


def test_a_share_is_shown_as_it_is() -> None:
    colours = coloured(visible_labels(labels(), POINTS, "25%"), CLASSES)
    assert (colours == CLASSES.palette[0]).all(2).sum() >= 1000
    assert not (colours[:, :200] == CLASSES.palette[1]).all(2).any()


def test_no_single_pixel_of_a_large_image_is_lost(tmp_path) -> None:
    truth = np.zeros((600, 1200), dtype=np.uint8)
    truth[300, 777] = 1
    draw_partial_labels(tmp_path / "a.png", truth, ((0, 10, 100), (1, 300, 777)), CLASSES)
    with Image.open(tmp_path / "a.png") as picture:
        pixels = np.array(picture.convert("RGB"))
    sky = (pixels == CLASSES.palette[1]).all(2)
    sky[round(0.8 * len(sky)) :] = False  # the legend
    panels = np.array_split(sky, 4, axis=1)
    assert all(panel.any() for panel in panels)


def test_the_figure_shows_every_panel_and_names_every_class(tmp_path) -> None:
    draw_partial_labels(tmp_path / "a.png", labels(), POINTS, CLASSES)
    draw_partial_labels(tmp_path / "b.png", labels(), POINTS, CLASSES, used="10%")
    sizes = []
    for name in "ab":
        with Image.open(tmp_path / f"{name}.png") as picture:
            sizes.append(picture.size)
            pixels = np.array(picture.convert("RGB"))
            for colour in CLASSES.palette:
                assert (pixels == colour).all(2).sum() > 1000
    assert all(width >= 4 * 400 for width, _ in sizes)
    assert sizes[1] != sizes[0]  # a panel more for a share that is not the paper's
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.png", "b.png"]
