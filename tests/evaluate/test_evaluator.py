"""Scores of a network over images of many sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.evaluate.confusion import confusion_matrix
from recoseg.evaluate.evaluator import evaluate
from recoseg.types import IGNORE, ClassInfo, ModelOutput

CLASSES = ClassInfo(("dark", "light"), ((0, 0, 0), (255, 255, 255)))


class Threshold(nn.Module):
    """Calls a pixel light when its red is over one half."""

    def forward(self, images: torch.Tensor) -> ModelOutput:
        red = images[:, :1]
        return ModelOutput(logits=torch.cat([0.5 - red, red - 0.5], dim=1))


class Greys(Dataset):
    name, classes = "greys", CLASSES

    def __init__(self, *sizes: tuple[int, int]) -> None:
        generator = torch.Generator().manual_seed(0)
        self.images = [
            torch.randint(0, 256, (3, *size), generator=generator).to(torch.uint8) for size in sizes
        ]
        self.truths = [(torch.rand(size, generator=generator) > 0.5).to(torch.uint8) for size in sizes]
        for truth in self.truths:
            truth.view(-1)[::7] = IGNORE

    def keys(self, subset):
        return [str(number) for number in range(len(self.images))]

    def has_labels(self, key):
        return True

    def image(self, key):
        return self.images[int(key)]

    def labels(self, key):
        return self.truths[int(key)]


def test_the_confusion_matrix_equals_a_plain_count() -> None:
    generator = np.random.default_rng(0)
    labels, predicted = generator.integers(0, 4, 500), generator.integers(0, 4, 500)
    labels[::5] = IGNORE
    expected = np.zeros((4, 4), dtype=int)
    for true, guess in zip(labels, predicted, strict=True):
        if true != IGNORE:
            expected[true, guess] += 1
    counted = confusion_matrix(torch.from_numpy(predicted), torch.from_numpy(labels), 4)
    assert counted.tolist() == expected.tolist()


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_scores_do_not_depend_on_how_images_are_grouped(batch_size) -> None:
    dataset = Greys((8, 8), (8, 8), (5, 9), (8, 8), (1, 1))
    scores = evaluate(
        Threshold(), dataset, dataset.keys("val"), device=torch.device("cpu"), batch_size=batch_size
    )
    expected = torch.zeros(2, 2, dtype=torch.int64)
    for image, truth in zip(dataset.images, dataset.truths, strict=True):
        expected += confusion_matrix((image[0] >= 128).long(), truth.long(), 2)
    assert scores.confusion.tolist() == expected.tolist()


def test_evaluation_leaves_the_model_in_the_mode_it_found() -> None:
    dataset = Greys((4, 4))
    model = Threshold().train()
    evaluate(model, dataset, ["0"], device=torch.device("cpu"))
    assert model.training


def test_a_label_of_another_size_is_named() -> None:
    dataset = Greys((4, 4))
    dataset.truths[0] = dataset.truths[0][:2]
    with pytest.raises(UserError, match="0: the image is 4x4 but its labels are 2x4"):
        evaluate(Threshold(), dataset, ["0"], device=torch.device("cpu"))
