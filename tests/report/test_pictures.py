"""Pictures of what a network says."""

import math

import torch
from torch import nn

from recoseg.report.pictures import predict_surely, spread
from recoseg.types import ModelOutput


class Reddish(nn.Module):
    """Says class 1 with odds of 3 where there is red, else class 0 with odds of 1."""

    def forward(self, images):
        red = images[:, 0]
        odds = red * math.log(3) - (red == 0) * 1e-3
        return ModelOutput(torch.stack([torch.full_like(red, 5), 5 + odds], dim=1))


def test_confidence_is_the_probability_of_the_predicted_class():
    image = torch.zeros(3, 40, 50, dtype=torch.uint8)
    image[0, :, 25:] = 255
    predicted, confidence = predict_surely(Reddish(), image, torch.device("cpu"), 2)
    assert predicted.dtype == confidence.dtype == torch.uint8
    assert (predicted[:, 25:] == 1).all()
    assert (confidence[:, 25:] == round(255 * 3 / 4)).all()
    assert (predicted[:, :25] == 0).all()
    assert (confidence[:, :25] == 128).all()  # 255 / 2, a little above


def test_an_image_of_one_pixel_has_a_picture():
    predicted, confidence = predict_surely(
        Reddish(), torch.full((3, 1, 1), 255, dtype=torch.uint8), torch.device("cpu"), 2
    )
    assert (predicted.tolist(), confidence.tolist()) == ([[1]], [[191]])


def test_pictures_are_spread_over_all_images():
    assert spread(list("abcdefgh"), 4) == list("aceg")
    assert spread(list("ab"), 4) == list("ab")
    assert spread(list("ab"), 0) == []
