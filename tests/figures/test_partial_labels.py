"""The figure of partial labels."""

from __future__ import annotations

import numpy as np
from PIL import Image

from recoseg.figures.partial_labels import draw_partial_labels, panel
from recoseg.types import ClassInfo

CLASSES = ClassInfo(("road", "sky"), ((200, 0, 0), (0, 0, 200)))


def labels() -> np.ndarray:
    truth = np.zeros((20, 400), dtype=np.uint8)
    truth[:, 200:] = 1
    return truth


POINTS = ((0, 10, 100), (1, 10, 300))


def test_one_pixel_is_shown_five_times_as_large_on_white() -> None:
    colours = panel(labels(), POINTS, "1", CLASSES)
    assert colours.shape == (20, 400, 3)
    for (_, row, column), colour in zip(POINTS, CLASSES.palette, strict=True):
        assert (colours[row - 2 : row + 3, column - 2 : column + 3] == colour).all()
    assert (colours == 255).all(2).sum() == 20 * 400 - 2 * 25


def test_a_share_is_shown_as_it_is() -> None:
    colours = panel(labels(), POINTS, "25%", CLASSES)
    assert (colours == CLASSES.palette[0]).all(2).sum() >= 1000
    assert not (colours[:, :200] == CLASSES.palette[1]).all(2).any()


def test_small_images_are_enlarged_by_a_whole_number() -> None:
    assert panel(np.zeros((10, 100), dtype=np.uint8), ((0, 5, 50),), "5%", CLASSES).shape == (40, 400, 3)


def test_the_figure_shows_every_panel_and_names_every_class(tmp_path) -> None:
    draw_partial_labels(tmp_path / "a.png", labels(), POINTS, CLASSES)
    draw_partial_labels(tmp_path / "b.png", labels(), POINTS, CLASSES, used="10%")
    sizes = []
    for name in "ab":
        with Image.open(tmp_path / f"{name}.png") as picture:
            sizes.append(picture.size)
            pixels = np.array(picture.convert("RGB"))
            for colour in CLASSES.palette:
                assert (pixels == colour).all(2).sum() > 2000
    assert sizes[0][0] >= 4 * 400
    assert sizes[1][0] >= 5 * 400  # a panel more for a share that is not the paper's
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.png", "b.png"]
