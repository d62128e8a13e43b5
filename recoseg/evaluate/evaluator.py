"""A network and a dataset -> Scores, image by image, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from recoseg.data.base import Dataset
from recoseg.distributed import rank, sum_over_processes, world_size
from recoseg.evaluate.confusion import confusion_matrix
from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol
from recoseg.models.without_features import without_features
from recoseg.types import Sample, Scores


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    device: torch.device,
    batch_size: int = 4,
    protocol: Protocol = WHOLE_IMAGE,
) -> Scores:
    """The scores of predictions at the size of the labels.

    Several processes take turns with the images, and all of them get the scores of all images.
    """
    num_classes = len(dataset.classes)
    confusion = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)
    was_training = model.training
    model.eval()
    mine = keys[rank() :: world_size()]
    try:
        with without_features(model):
            for samples in same_size_groups((dataset.sample(key) for key in mine), batch_size):
                predicted = predict(
                    model,
                    torch.stack([s.image for s in samples]),
                    device,
                    num_classes=num_classes,
                    protocol=protocol,
                )
                labels = torch.stack([s.labels for s in samples]).to(device).long()
                confusion += confusion_matrix(predicted.long(), labels, num_classes)
    finally:
        model.train(was_training)
    return Scores(sum_over_processes(confusion).cpu())


@torch.inference_mode()
def predict(
    model: nn.Module,
    images: Tensor,
    device: torch.device,
    *,
    num_classes: int,
    protocol: Protocol = WHOLE_IMAGE,
) -> Tensor:
    """(B, 3, H, W) uint8 -> (B, H, W) uint8. The model is expected to be in eval mode."""
    labels = torch.empty(len(images), *images.shape[2:], dtype=torch.uint8, device=device)
    for block in protocol.blocks(model, images, device, num_classes=num_classes):
        labels[:, block.rows, block.columns] = block.logits.argmax(1)
    return labels


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
