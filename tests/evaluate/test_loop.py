"""Scores of a network over images of many sizes."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

from recoseg.data.dataset import Dataset
from recoseg.errors import UserError
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol
from recoseg.evaluate.scores import confusion_matrix
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


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_scores_do_not_depend_on_how_images_are_grouped(batch_size) -> None:
    dataset = Greys((8, 8), (8, 8), (5, 9), (8, 8), (1, 1))
    scores = evaluate(
        Threshold(), dataset, dataset.keys("val"), device=torch.device("cpu"), batch_size=batch_size
    )
    expected = torch.zeros(2, 2, dtype=torch.int64)
    for image, truth in zip(dataset.images, dataset.truths, strict=True):
        expected += confusion_matrix((image[0] >= 128).to(torch.uint8), truth, 2)
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


class Endless(Greys):
    """As many images as one likes, none of which is kept; counts those that are alive."""

    def __init__(self, count: int) -> None:
        super().__init__((40, 50))
        self.count = count
        self.alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()
        self.most_alive = 0

    def keys(self, subset):
        return [str(number) for number in range(self.count)]

    def image(self, key):
        return self.watched(self.images[0])

    def labels(self, key):
        return self.watched(self.truths[0])

    def watched(self, tensor: torch.Tensor) -> torch.Tensor:
        copy = tensor.clone()
        self.alive.add(copy)
        self.most_alive = max(self.most_alive, len(self.alive))
        return copy


@pytest.mark.parametrize("protocol", [Protocol(), Protocol(window=32, flip=True)], ids=["whole", "windows"])
def test_memory_does_not_grow_with_the_number_of_images(protocol) -> None:
    most = []
    for count in (20, 200):
        dataset, progress = Endless(count), []
        scores = evaluate(
            Threshold(),
            dataset,
            dataset.keys("val"),
            device=torch.device("cpu"),
            protocol=protocol,
            boundary=BoundaryRule(),
            progress=lambda done, total, into=progress: into.append((done, total)),
        )
        most.append(dataset.most_alive)
        assert progress[-1] == (count, count)
        assert scores.confusion.sum() == count * int((dataset.truths[0] != IGNORE).sum())
    gc.collect()
    assert most[1] <= 2 * 3 * 5  # image and labels of three groups: in use, read, begun (of 4, and one)
    assert len(dataset.alive) == 0


def test_boundary_scores_are_those_of_the_same_predictions() -> None:
    dataset = Greys((40, 40), (40, 40), (33, 57))
    keys, cpu = dataset.keys("val"), torch.device("cpu")
    plain = evaluate(Threshold(), dataset, keys, device=cpu)
    both = evaluate(Threshold(), dataset, keys, device=cpu, boundary=BoundaryRule())
    assert plain.boundary is None
    assert both.confusion.equal(plain.confusion)
    assert both.boundary is not None
    assert 0 < both.boundary.mean_iou < 1


def test_predictions_are_what_is_scored() -> None:
    dataset = Greys((34, 41))
    found = WHOLE_IMAGE.labels(Threshold(), dataset.images[0][None], torch.device("cpu"), num_classes=2)
    assert found[0].equal((dataset.images[0][0] >= 128).to(torch.uint8))


def test_an_image_that_cannot_be_read_ends_the_evaluation_and_its_thread() -> None:
    dataset = Greys((40, 40), (40, 40))
    dataset.truths[1] = dataset.truths[1][:2]
    model = Threshold().train()
    with pytest.raises(UserError, match="1: the image is 40x40"):
        evaluate(model, dataset, dataset.keys("val"), device=torch.device("cpu"), batch_size=1)
    assert model.training
