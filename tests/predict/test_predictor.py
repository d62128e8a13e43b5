"""Calling a predictor on images: what it says, whatever their size and kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.errors import UserError
from recoseg.predict import predictor as predictor_module


def test_the_class_is_the_brightest_channel(brightest, noise) -> None:
    pixels = noise(40, 50)
    prediction = brightest()(pixels)
    assert prediction.labels.dtype == np.uint8
    best = pixels.max(2)
    assert np.array_equal(
        np.take_along_axis(pixels, prediction.labels[..., None].astype(int), 2)[..., 0], best
    )


def test_confidence_and_probabilities_have_a_closed_form(brightest) -> None:
    pixels = np.array([[[255, 0, 0], [51, 51, 51]]], dtype=np.uint8)
    prediction = brightest()(pixels, probabilities=True)
    sure = math.exp(10) / (math.exp(10) + 2)  # logits 10, 0, 0
    assert prediction.confidence.dtype == np.float32
    assert prediction.confidence == pytest.approx(np.array([[sure, 1 / 3]]), rel=1e-5)
    assert prediction.probabilities.shape == (3, 1, 2)
    assert prediction.probabilities[:, 0, 0] == pytest.approx(
        [sure, (1 - sure) / 2, (1 - sure) / 2], rel=1e-4
    )
    assert prediction.probabilities[:, 0, 1] == pytest.approx([1 / 3] * 3, rel=1e-5)


def test_probabilities_are_made_only_when_asked_for(brightest, noise) -> None:
    assert brightest()(noise(4, 4)).probabilities is None


@pytest.mark.parametrize("size", [(1, 1), (1, 90), (33, 70), (100, 131)])
def test_windows_say_of_each_pixel_what_the_whole_image_says(brightest, noise, size, monkeypatch) -> None:
    monkeypatch.setattr(predictor_module, "PART_BYTES", 3000)  # many parts of a few rows
    pixels = noise(*size)
    whole, parted = brightest()(pixels, probabilities=True), brightest(window=32)(pixels, probabilities=True)
    assert np.array_equal(whole.labels, parted.labels)
    assert whole.confidence == pytest.approx(parted.confidence, abs=1e-5)
    assert whole.probabilities == pytest.approx(parted.probabilities, abs=1e-5)


def test_a_window_is_never_passed_over(brightest, noise) -> None:
    predictor = brightest(window=64)
    predictor(noise(200, 150))
    assert set(predictor.network.sizes) == {(64, 64)}
    assert len(predictor.network.sizes) == 4 * 3  # steps of 48 pixels at most


def test_labels_alone_are_those_with_confidence(brightest, noise) -> None:
    image = torch.from_numpy(noise(60, 60)).permute(2, 0, 1).contiguous()
    for looks in ({}, {"window": 32}, {"flip": True}):
        predictor = brightest(**looks)
        alone = predictor.predict(image, confidence=False)
        assert alone.confidence is None
        assert np.array_equal(alone.labels, predictor.predict(image).labels)


def test_a_list_of_images_of_all_kinds_gives_a_list(brightest, photo, noise) -> None:
    given = [
        photo("a.png", 4, 6),
        noise(3, 3),
        Image.new("L", (5, 2)),
        torch.zeros(3, 2, 2, dtype=torch.uint8),
    ]
    assert [one.labels.shape for one in brightest()(given)] == [(4, 6), (3, 3), (2, 5), (2, 2)]
    assert brightest()([]) == []


def test_progress_ends_at_one_and_never_goes_back(brightest, noise) -> None:
    shares: list[float] = []
    image = torch.from_numpy(noise(200, 150)).permute(2, 0, 1).contiguous()
    brightest(window=64).predict(image, progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert shares[-1] == 1


def test_the_network_is_left_in_eval_mode_and_nothing_needs_gradients(brightest, noise) -> None:
    predictor = brightest()
    assert not predictor.network.training
    assert torch.is_grad_enabled()
    predictor(noise(4, 4))
    assert torch.is_grad_enabled()


def test_a_predictor_says_what_it_is(brightest) -> None:
    assert repr(brightest(window=64)) == "<Predictor of 3 classes on cpu: windows of 64, overlap 0.25>"


def test_a_wrong_image_in_a_list_is_refused(brightest, noise) -> None:
    with pytest.raises(UserError, match="needs uint8"):
        brightest()([noise(4, 4), noise(4, 4) / 255])
