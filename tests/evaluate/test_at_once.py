"""Several images at once: the same results, in order, and torch's threads as they were."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from recoseg.data.scenes import Scenes
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import evaluate, how_many_at_once, in_threads
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.representation import with_representation

CPU = torch.device("cpu")


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_items(two_threads) -> None:
    later = threading.Event()

    def slow_first(number: int) -> int:
        if number == 0:
            assert later.wait(600)
        if number == 1:
            later.set()
        return number * number

    assert list(in_threads(slow_first, range(7), num_threads=2)) == [0, 1, 4, 9, 16, 25, 36]


def test_in_each_thread_torch_has_one_thread_and_afterwards_as_many_as_before(two_threads) -> None:
    found = list(in_threads(lambda _: torch.get_num_threads(), range(4), num_threads=2))
    assert found == [1, 1, 1, 1]
    assert torch.get_num_threads() == 2


def test_no_more_items_are_taken_than_are_worked_on_and_one(two_threads) -> None:
    taken: list[int] = []
    items = (taken.append(number) or number for number in range(100))
    results = in_threads(lambda number: number, items, num_threads=2)
    assert next(results) == 0
    assert len(taken) <= 3
    results.close()
    assert torch.get_num_threads() == 2


def test_an_error_arrives_and_the_threads_are_put_back(two_threads) -> None:
    def fail(number: int) -> int:
        raise ValueError(f"image {number}")

    with pytest.raises(ValueError, match="image 0"):
        list(in_threads(fail, range(5), num_threads=2))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("network", [DeepLabV3Plus, DeepLabV2])
def test_our_networks_take_several_at_once_on_a_cpu(two_threads, network) -> None:
    encoder = ENCODERS["resnet10_small"](output_stride=16 if network is DeepLabV3Plus else 8)
    assert how_many_at_once(network(encoder=encoder, num_classes=3), CPU) == 2
    assert how_many_at_once(network(encoder=encoder, num_classes=3), torch.device("cuda")) == 1


def test_other_peoples_networks_get_one_image_at_a_time(two_threads) -> None:
    """Nobody knows what they keep between two layers."""
    network = nn.Conv2d(3, 4, 3, padding=1)
    assert how_many_at_once(with_representation(network, num_classes=4, feature_channels=None), CPU) == 1
    assert how_many_at_once(network, CPU) == 1


def test_scores_are_those_of_one_image_after_the_other(two_threads) -> None:
    torch.manual_seed(0)
    scenes = Scenes(height=48, width=64, num_train=1, num_val=5)
    model = DeepLabV3Plus(
        encoder=ENCODERS["resnet10_small"](output_stride=16), num_classes=len(scenes.classes), decoder_width=8
    )
    with torch.no_grad():  # logits that differ from image to image
        for parameter in model.parameters():
            parameter.mul_(1.5)
    keys, done = scenes.keys("val"), []
    scores = evaluate(
        model, scenes, keys, device=CPU, boundary=BoundaryRule(), progress=lambda n, of: done.append((n, of))
    )
    torch.set_num_threads(1)
    alone = evaluate(model, scenes, keys, device=CPU, boundary=BoundaryRule())
    assert torch.equal(scores.confusion, alone.confusion)
    assert torch.equal(scores.boundary.bands, alone.boundary.bands)
    assert torch.equal(scores.boundary.contours, alone.boundary.contours)
    assert torch.equal(scores.boundary.confusion, alone.boundary.confusion)
    assert int(scores.confusion.sum()) > 0
    assert done == [(number, len(keys)) for number in range(1, len(keys) + 1)]
