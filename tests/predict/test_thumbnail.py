"""Thumbnails: three panels, and the mean confidence in the file itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.colours import confidence_colours
from recoseg.errors import UserError
from recoseg.overlay import Overlay
from recoseg.predict import thumbnail
from recoseg.predict.prediction import Prediction
from recoseg.predict.thumbnail import LONGEST, Thumbnail, write_thumbnail


@pytest.fixture
def flat(colours):
    """One grey, one class, one confidence: `flat(height, width)`."""

    def prediction(height: int, width: int, sure: float = 0.5) -> Prediction:
        image = torch.full((3, height, width), 100, dtype=torch.uint8)
        labels = np.zeros((height, width), dtype=np.uint8)
        return Prediction(image, labels, colours, np.full((height, width), sure, dtype=np.float32))

    return prediction


def test_it_shows_image_overlay_and_confidence_and_tells_the_mean(flat, tmp_path) -> None:
    write_thumbnail(tmp_path / "a.jpg", flat(40, 60, 0.8125), Overlay(opacity=0.5, legend=True))
    assert Thumbnail.read(tmp_path / "a.jpg") == Thumbnail(60, 40, 0.8125)
    pixels = np.asarray(Image.open(tmp_path / "a.jpg")).astype(int)
    assert pixels.shape == (40, 180, 3)
    expected = ([100, 100, 100], [150, 50, 50], confidence_colours()[round(0.8125 * 255)])
    for number, colour in enumerate(expected):
        middle = pixels[20, 60 * number + 30]
        assert np.abs(middle - colour).max() <= 6, "as a JPEG has it"


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 5000), (4000, 3000), (LONGEST, 7)])
def test_any_size_is_brought_to_a_panel(flat, tmp_path, height, width) -> None:
    write_thumbnail(tmp_path / "a.jpg", flat(height, width), Overlay())
    read = Thumbnail.read(tmp_path / "a.jpg")
    assert max(read.width, read.height) == min(LONGEST, max(height, width))
    assert read.width / read.height == pytest.approx(width / height, rel=0.01) or min(height, width) < 10


def test_the_mean_is_over_all_pixels_also_those_that_are_not_shown(colours, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(thumbnail, "LONGEST", 8)
    confidence = np.full((100, 100), 0.25, dtype=np.float32)
    confidence[1::3] = 1.0  # in 33 of 100 rows
    image = torch.zeros((3, 100, 100), dtype=torch.uint8)
    whole = Prediction(image, np.zeros((100, 100), dtype=np.uint8), colours, confidence)
    write_thumbnail(tmp_path / "a.jpg", whole, Overlay())
    assert Thumbnail.read(tmp_path / "a.jpg").confidence == pytest.approx(0.33 + 0.67 * 0.25)


@pytest.mark.parametrize("comment", [None, b"sure", b"1.5", b"nan"])
def test_a_file_of_others_is_named(tmp_path, comment) -> None:
    how = {} if comment is None else {"comment": comment}
    Image.new("RGB", (9, 3)).save(tmp_path / "b.jpg", **how)
    with pytest.raises(UserError, match=r"b\.jpg: not a thumbnail of recoseg"):
        Thumbnail.read(tmp_path / "b.jpg")
