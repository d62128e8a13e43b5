"""Dataset + split -> endless batches of crops, the same for any number of loading processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from recoseg.augment.geometry import RandomCrop
from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.seeds import numpy_generator, permutation
from recoseg.types import IGNORE, Batch, Sample

Crop = tuple[Tensor, Tensor, str]  # (3, h, w) uint8, (h, w) uint8, key


class Crops(TorchDataset[Crop | UserError]):
    """The crop at any position of an endless, seeded walk through `keys`.

    Each pass goes through all keys in a new order. What is at a position depends on nothing but the seed,
    so a resumed run asks for later positions and gets what it would have got.
    """

    def __init__(
        self, dataset: Dataset, keys: Sequence[str], *, crop: RandomCrop, seed: int, labelled: bool
    ) -> None:
        if not keys:
            raise UserError(f"there are no {'labelled' if labelled else 'unlabelled'} training images")
        self.dataset, self.keys, self.crop, self.seed, self.labelled = (
            dataset,
            tuple(keys),
            crop,
            seed,
            labelled,
        )
        self.purpose = "labelled" if labelled else "unlabelled"

    def __getitem__(self, position: int) -> Crop | UserError:
        """The crop, or what is wrong with its file: raised here, it would reach the user as a traceback."""
        try:
            return self.crop_at(position)
        except UserError as error:
            return UserError(str(error))

    def crop_at(self, position: int) -> Crop:
        number, place = divmod(position, len(self.keys))
        key = self.keys[shuffled(len(self.keys), self.seed, self.purpose, number)[place]]
        if self.labelled:
            sample = self.dataset.sample(key)
        else:  # hidden is hidden: the label file is not even opened
            image = self.dataset.image(key)
            sample = Sample(image, torch.full(image.shape[1:], IGNORE, dtype=torch.uint8), key)
        generator = numpy_generator(self.seed, f"{self.purpose} crop", position)
        return *self.crop(sample.image, sample.labels, generator), key


@lru_cache(maxsize=4)
def shuffled(count: int, seed: int, purpose: str, number: int) -> list[int]:
    """The order of pass `number`; kept, since a pass asks for it once an image."""
    return permutation(count, seed, f"{purpose} order", number)


def batches(crops: Crops, *, batch_size: int, start: int, stop: int, workers: int) -> Iterator[Batch]:
    """The batches of iterations `start` to `stop`: number t holds positions t * batch_size onwards."""
    loader: DataLoader[Any] = DataLoader(
        crops,
        batch_size=batch_size,
        sampler=range(start * batch_size, stop * batch_size),
        num_workers=workers,
        collate_fn=collate,
        multiprocessing_context="forkserver" if workers else None,
        persistent_workers=False,
        generator=torch.Generator(),  # keeps the loader from drawing its base seed from the global state
    )
    for batch in loader:
        if isinstance(batch, UserError):
            raise batch
        yield batch


def collate(crops: Sequence[Crop | UserError]) -> Batch | UserError:
    for error in crops:
        if isinstance(error, UserError):
            return error
    images, labels, keys = zip(*crops, strict=True)
    return Batch(torch.stack(images).float().div_(255), torch.stack(labels).long(), tuple(keys))
