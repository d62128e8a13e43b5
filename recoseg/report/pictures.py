"""What a network makes of a few images, for the page."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from recoseg.data.base import Dataset
from recoseg.evaluate.evaluator import predict
from recoseg.report.run_view import Picture


def take_pictures(
    model: nn.Module, dataset: Dataset, keys: Sequence[str], device: torch.device
) -> list[Picture]:
    """Image, truth and prediction for each key."""
    model.eval()
    pictures = []
    for key in keys:
        sample = dataset.sample(key)
        predicted = predict(model, sample.image[None], device, num_classes=len(dataset.classes))[0].cpu()
        pictures.append(Picture(key=key, image=sample.image, truth=sample.labels, prediction=predicted))
    return pictures


def spread(keys: Sequence[str], most: int) -> list[str]:
    """At most `most` of the keys, evenly spaced: neighbours in a list often look alike."""
    count = min(most, len(keys))
    return [keys[index * len(keys) // count] for index in range(count)]
