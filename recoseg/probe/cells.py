"""Labelled images -> labelled cells of an encoder's feature maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.models.linear_probe import join_levels
from recoseg.models.network import SegmentationNetwork
from recoseg.seeds import permutation, torch_generator
from recoseg.types import IGNORE

STRIDE = 8
"""Pixels to a cell. Finer levels are averaged, coarser ones enlarged."""

MOST_CELLS = 60_000
"""More cells hardly change the classifier, and it takes longer to fit them."""

_MOST_IMAGES = 400


@dataclass(frozen=True)
class Cells:
    """N labelled cells of several images.

    Features lie channel by channel: products with a few classes take a sixth of the time that way.
    """

    features: Tensor  # (C, N) float32
    labels: Tensor  # (N,) int64
    images: Tensor  # (N,) int64: the image of each cell, counted from 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_images(self) -> int:
        return int(self.images[-1]) + 1

    def take(self, which: Tensor) -> Cells:
        return Cells(self.features[:, which], self.labels[which], self.images[which])


@torch.no_grad()
def labelled_cells(
    network: SegmentationNetwork,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    sparse: bool = False,
    device: torch.device,
    most: int = MOST_CELLS,
    progress: Progress | None = None,
) -> Cells:
    """The cells of whole images `keys` that have a label; `sparse` where single pixels are labelled.

    At most 400 images and `most` cells are taken, spread evenly over the images.
    """
    chosen = [keys[place] for place in permutation(len(keys), 0, "probe images")[:_MOST_IMAGES]]
    network = network.to(device).eval()
    features, labels, images = [], [], []
    for number, key in enumerate(chosen):
        sample = dataset.sample(key)
        image = sample.image[None].to(device).float() / 255
        levels = network.levels(network.encode(image.contiguous(memory_format=torch.channels_last)))
        height, width = (
            min(cells, -(-pixels // STRIDE))
            for cells, pixels in zip(levels[0].shape[2:], image.shape[2:], strict=True)
        )
        found = join_levels([level.float() for level in levels], (height, width))[0].flatten(1)  # (C, h * w)
        known = shrink_labels(sample.labels[None].to(device).long(), (height, width), sparse=sparse)[
            0
        ].flatten()
        places = (known != IGNORE).nonzero()[:, 0]
        if len(places) > most // len(chosen):
            order = torch.randperm(len(places), generator=torch_generator(0, "probe cells", number))
            places = places[order[: max(1, most // len(chosen))].sort().values.to(device)]
        features.append(found[:, places])
        labels.append(known[places])
        images.append(torch.full_like(known[places], number))
        if progress is not None:
            progress(number + 1, len(chosen))
    cells = Cells(torch.cat(features, 1), torch.cat(labels), torch.cat(images))
    if len(cells) == 0:
        raise UserError("the probe found no labelled pixel in the labelled images; see recoseg check")
    return cells
