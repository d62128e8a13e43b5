"""What a prediction shows and saves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.errors import UserError
from recoseg.predict import prediction as prediction_module
from recoseg.predict.prediction import Prediction


@pytest.fixture
def prediction(colours) -> Prediction:
    image = torch.tensor([[[100, 255]], [[20, 255]], [[0, 255]]], dtype=torch.uint8)  # (3, 1, 2)
    labels = np.array([[0, 2]], dtype=np.uint8)
    return Prediction(image, labels, colours, np.array([[1.0, 0.5]], dtype=np.float32))


def test_an_overlay_is_half_image_and_half_colour(prediction) -> None:
    expected = [[[50 + 100, 10, 0], [128, 128, 128 + 25]]]
    assert np.asarray(prediction.overlay()).tolist() == expected


def test_the_ends_of_opacity_are_the_image_and_the_colours(prediction) -> None:
    assert np.array_equal(
        np.asarray(prediction.overlay(opacity=0)), prediction.image.permute(1, 2, 0).numpy()
    )
    assert np.asarray(prediction.overlay(opacity=1)).tolist() == [[[200, 0, 0], [0, 0, 50]]]
    with pytest.raises(UserError, match=r"opacity: got 1\.5"):
        prediction.overlay(opacity=1.5)


@pytest.mark.parametrize("opacity", [0.1, 0.3, 0.5, 0.7])
def test_white_under_white_stays_white_and_never_turns_over(opacity) -> None:
    from recoseg.types import ClassInfo

    white = ClassInfo(("white",), ((255, 255, 255),))
    image, labels = torch.full((3, 2, 2), 255, dtype=torch.uint8), np.zeros((2, 2), dtype=np.uint8)
    assert np.asarray(Prediction(image, labels, white).overlay(opacity=opacity)).min() >= 254


def test_an_overlay_of_many_bands_is_the_same(brightest, noise, monkeypatch) -> None:
    prediction = brightest()(noise(37, 20))
    whole = np.asarray(prediction.overlay())
    monkeypatch.setattr(prediction_module, "BAND_PIXELS", 50)
    assert np.array_equal(np.asarray(prediction.overlay()), whole)


def test_saved_labels_are_indices_in_the_colours_of_the_classes(prediction, tmp_path) -> None:
    prediction.save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert np.asarray(image).tolist() == [[0, 2]]
        assert np.asarray(image.convert("RGB")).tolist() == [[[200, 0, 0], [0, 0, 50]]]
    with pytest.raises(UserError, match=r"a\.jpg: labels are saved as PNG"):
        prediction.save(tmp_path / "a.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_confidence_has_sixteen_bits(prediction, tmp_path) -> None:
    prediction.save_confidence(tmp_path / "c.png")
    with Image.open(tmp_path / "c.png") as image:
        assert np.asarray(image).tolist() == [[65535, 32768]]


def test_a_prediction_is_told_in_one_line(prediction) -> None:
    text = repr(prediction)
    assert "\n" not in text
    assert text.startswith("<Prediction of ")
    assert any(name in text for name in prediction.classes.names)
