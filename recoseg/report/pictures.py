"""What a network makes of a few images, for the page."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from recoseg.data.base import Dataset
from recoseg.evaluate.protocol import WHOLE_IMAGE
from recoseg.models.without_features import without_features
from recoseg.report.run_view import Picture


def take_pictures(
    model: nn.Module, dataset: Dataset, keys: Sequence[str], device: torch.device
) -> list[Picture]:
    """Image, truth, prediction and confidence for each key."""
    model.eval()
    pictures = []
    with without_features(model):
        for key in keys:
            sample = dataset.sample(key)
            predicted, confidence = predict_surely(model, sample.image, device, len(dataset.classes))
            pictures.append(Picture(key, sample.image, sample.labels, predicted, confidence))
    return pictures


@torch.inference_mode()
def predict_surely(
    model: nn.Module, image: Tensor, device: torch.device, num_classes: int
) -> tuple[Tensor, Tensor]:
    """(3, H, W) uint8 -> the predicted class (H, W) uint8, and its probability (H, W) uint8, 255 for 1."""
    predicted = torch.empty(image.shape[1:], dtype=torch.uint8)
    confidence = torch.empty_like(predicted)
    for block in WHOLE_IMAGE.blocks(model, image[None], device, num_classes=num_classes):
        highest, classes = block.logits[0].softmax(0).max(0)
        predicted[block.rows, block.columns] = classes.to("cpu", torch.uint8)
        confidence[block.rows, block.columns] = (highest * 255).round().to("cpu", torch.uint8)
    return predicted, confidence


def spread(keys: Sequence[str], most: int) -> list[str]:
    """At most `most` of the keys, evenly spaced: neighbours in a list often look alike."""
    count = min(most, len(keys))
    return [keys[index * len(keys) // count] for index in range(count)]
