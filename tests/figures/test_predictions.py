"""Images, truth and predictions side by side."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from recoseg.figures import predictions
from recoseg.figures.predictions import PredictedImage, draw_predictions
from recoseg.types import IGNORE, ClassInfo

CLASSES = ClassInfo(("road", "sky", "car"), ((200, 0, 0), (0, 0, 200), (0, 200, 0)))


def example(height: int = 40, width: int = 80) -> PredictedImage:
    """The first run takes the lower right corner for sky; a part of the truth is void."""
    truth = np.zeros((height, width), dtype=np.uint8)
    truth[: height // 2] = 1
    truth[:2] = IGNORE
    wrong = truth.copy()
    wrong[:2] = 1
    wrong[-height // 4 :, -width // 4 :] = 1
    image = np.full((height, width, 3), 99, dtype=np.uint8)
    return PredictedImage(image, truth, {"first": wrong, "second": np.where(truth == IGNORE, 1, truth)})


def test_every_column_has_a_title_and_every_class_that_occurs_a_box(tmp_path, texts) -> None:
    draw_predictions(tmp_path / "a.svg", [example()], CLASSES)
    assert texts(tmp_path / "a.svg") == [
        "Image", "Ground truth", "first", "second", "road", "sky", "undefined",
    ]  # fmt: skip


def colours_of(path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB"))


def test_maps_are_drawn_in_the_colours_of_the_dataset(tmp_path) -> None:
    draw_predictions(tmp_path / "a.png", [example()], CLASSES)
    pixels = colours_of(tmp_path / "a.png")
    panel = (pixels == (99, 99, 99)).all(2).sum()
    assert panel > 0.05 * pixels[..., 0].size
    for colour in ((200, 0, 0), (0, 0, 200)):
        assert (pixels == colour).all(2).sum() > 1.3 * panel  # about half of three maps
    assert not (pixels == (0, 200, 0)).all(2).any()  # no car, no box


@pytest.mark.parametrize(("arrows", "zoom"), [(True, False), (False, True), (True, True)])
def test_arrows_and_zooms_show_the_corner_where_the_runs_differ(monkeypatch, tmp_path, arrows, zoom) -> None:
    one = example()
    (spot,) = one.spots(1)
    assert spot.rows.start >= 30
    assert spot.columns.start >= 60
    drawn = []
    monkeypatch.setattr(predictions, "draw_image_grid", lambda path, rows, **how: drawn.extend(rows))
    draw_predictions(tmp_path / "a.png", [one], CLASSES, arrows=arrows, zoom=zoom)
    first, *zoomed = drawn
    assert [len(panel.arrows) for panel in first] == [0, *[int(arrows)] * 3]  # the photo has none
    assert [panel.frame for panel in first] == [spot if zoom else None] * 4
    assert len(zoomed) == zoom
    for row in zoomed:
        assert [panel.title for panel in row] == [""] * 4
        assert (row[2].pixels == first[2].pixels[spot.rows, spot.columns]).all()


def test_where_runs_agree_nothing_is_marked(tmp_path) -> None:
    one = example()
    same = PredictedImage(
        one.image, one.truth, {"a": one.predictions["first"], "b": one.predictions["first"]}
    )
    draw_predictions(tmp_path / "plain.png", [same], CLASSES)
    draw_predictions(tmp_path / "marked.png", [same], CLASSES, arrows=True)
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "marked.png").read_bytes()


def test_images_of_all_shapes_share_a_picture(tmp_path) -> None:
    draw_predictions(tmp_path / "a.png", [example(), example(90, 30), example(1, 1)], CLASSES, arrows=True)
    assert colours_of(tmp_path / "a.png").shape[0] > 600
