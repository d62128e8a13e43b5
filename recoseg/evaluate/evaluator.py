"""A network and a dataset -> Scores, image by image, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import nn

from recoseg.data.base import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.distributed import rank, world_size
from recoseg.evaluate.at_once import how_many_at_once, in_threads
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.counter import ScoreCounter
from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol
from recoseg.evaluate.read_ahead import read_ahead
from recoseg.models.without_features import without_features
from recoseg.types import Sample, Scores


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    device: torch.device,
    batch_size: int | None = None,
    protocol: Protocol = WHOLE_IMAGE,
    boundary: BoundaryRule | None = None,
    progress: Progress | None = None,
) -> Scores:
    """The scores of predictions at the size of the labels; with a `boundary` rule also where classes meet.

    By default a CPU gets one image at a time in each of its threads, and other devices get four together.
    Several processes take turns with the images, and all of them get the scores of all images.
    """
    num_classes = len(dataset.classes)

    def counted(samples: list[Sample]) -> tuple[ScoreCounter, int]:
        images = torch.stack([sample.image for sample in samples])
        labels = torch.stack([sample.labels for sample in samples]).to(device)
        counter = ScoreCounter(num_classes, boundary=boundary, device=device)
        counter.add(protocol.labels(model, images, device, num_classes=num_classes), labels)
        return counter, len(samples)

    was_training = model.training
    model.eval()
    mine, done = keys[rank() :: world_size()], 0
    together = batch_size or (1 if device.type == "cpu" else 4)
    groups = same_size_groups((dataset.sample(key) for key in mine), together)
    total = ScoreCounter(num_classes, boundary=boundary, device=device)
    try:
        with without_features(model):
            at_once = how_many_at_once(model, device)
            for counter, count in in_threads(counted, read_ahead(groups), num_threads=at_once):
                total.take(counter)
                done += count
                if progress is not None:
                    progress(done, len(mine))
    finally:
        model.train(was_training)
    return total.scores()


def same_size_groups(samples: Iterable[Sample], most: int) -> Iterator[list[Sample]]:
    """Consecutive samples of one size, at most `most` together."""
    group: list[Sample] = []
    for sample in samples:
        if group and (len(group) == most or group[0].image.shape != sample.image.shape):
            yield group
            group = []
        group.append(sample)
    if group:
        yield group
