"""What a prediction shows and saves."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.errors import UserError
from recoseg.overlay import Overlay
from recoseg.predict.prediction import Prediction


@pytest.fixture
def prediction(colours) -> Prediction:
    image = torch.tensor([[[100, 255]], [[20, 255]], [[0, 255]]], dtype=torch.uint8)  # (3, 1, 2)
    labels = np.array([[0, 2]], dtype=np.uint8)
    return Prediction(image, labels, colours, np.array([[1.0, 0.5]], dtype=np.float32))


def test_its_overlay_is_that_of_its_image_and_labels(prediction) -> None:
    image = prediction.image.permute(1, 2, 0).numpy()
    for look in ({}, {"opacity": 0.7}, {"untinted": ("red",)}, {"legend": True}):
        expected = Overlay(**look).draw(image, prediction.labels, prediction.classes)
        assert np.array_equal(np.asarray(prediction.overlay(**look)), np.asarray(expected))


def test_a_notebook_shows_the_overlay_with_its_legend(prediction) -> None:
    with Image.open(io.BytesIO(prediction._repr_png_())) as picture:
        assert np.array_equal(np.asarray(picture), np.asarray(prediction.overlay(legend=True)))


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
