"""Dataset + split -> endless batches of crops, the same for any number of loading or training processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from recoseg.augment.crop import RandomCrop
from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import (
    children_ignore_current_folder,
    end_with_parent,
    silent_orphans,
)
from recoseg.errors import UserError
from recoseg.read_ahead import read_ahead
from recoseg.seeds import numpy_generator, permutation
from recoseg.types import IGNORE, Batch, Sample

_Crop = tuple[Tensor, Tensor, Tensor, str]  # (3, h, w) uint8, (h, w) uint8, (h, w) bool: not padding, key
Pair = tuple["RawBatch", "RawBatch | None"]  # labelled, and unlabelled where they are wanted
Item = TypeVar("Item")


class Crops:
    """The crop at any position of an endless, seeded walk through `keys`.

    Each pass goes through all keys in a new order. What is at a position depends on nothing but the seed,
    so a resumed run asks for later positions and gets what it would have got. With `partly_known`, the walk
    through unlabelled images has the labels of those few pixels that may be seen.
    """

    def __init__(
        self,
        dataset: Dataset,
        keys: Sequence[str],
        *,
        crop: RandomCrop,
        seed: int,
        labelled: bool,
        partly_known: bool = False,
    ) -> None:
        self.purpose = "labelled" if labelled else "unlabelled"
        if not keys:
            raise UserError(f"there are no {self.purpose} training images")
        self.dataset, self.keys, self.crop, self.seed = dataset, tuple(keys), crop, seed
        self.labelled, self.partly_known = labelled, partly_known

    def crop_at(self, position: int) -> _Crop:
        number, place = divmod(position, len(self.keys))
        key = self.keys[shuffled(len(self.keys), self.seed, self.purpose, number)[place]]
        if self.labelled or (self.partly_known and self.dataset.has_labels(key)):
            sample = self.dataset.sample(key)
        else:  # hidden is hidden: the label file is not even opened
            image = self.dataset.image(key)
            sample = Sample(image, torch.full(image.shape[1:], IGNORE, dtype=torch.uint8), key)
        generator = numpy_generator(self.seed, f"{self.purpose} crop", position)
        return *self.crop(sample.image, sample.labels, generator), key

    def batch(self, number: int, size: int) -> RawBatch:
        """Positions number * size onwards."""
        crops = [self.crop_at(position) for position in range(number * size, (number + 1) * size)]
        images, labels, inside, keys = zip(*crops, strict=True)
        return RawBatch(torch.stack(images), torch.stack(labels), torch.stack(inside), keys, self.crop.sparse)


@lru_cache(maxsize=4)
def shuffled(count: int, seed: int, purpose: str, number: int) -> list[int]:
    """The order of pass `number`; kept, since a pass asks for it once an image."""
    return permutation(count, seed, f"{purpose} order", number)


@dataclass(frozen=True)
class RawBatch:
    """A `Batch` in 8 bits, as it travels from a loading process to the device."""

    images: Tensor  # (B, 3, h, w) uint8
    labels: Tensor  # (B, h, w) uint8
    inside: Tensor  # (B, h, w) bool: not padding
    keys: tuple[str, ...]
    sparse: bool

    def pin_memory(self) -> RawBatch:
        return replace(
            self,
            images=self.images.pin_memory(),
            labels=self.labels.pin_memory(),
            inside=self.inside.pin_memory(),
        )

    def to(self, device: torch.device, *, channels_last: bool = False) -> Batch:
        images = self.images.to(device, non_blocking=True).float().div_(255)
        if channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        return Batch(
            images,
            self.labels.to(device, non_blocking=True).long(),
            self.keys,
            self.sparse,
            self.inside.to(device, non_blocking=True),
        )


@dataclass(frozen=True, kw_only=True)
class StepBatches(TorchDataset[Pair | UserError]):
    """What each step of each process trains on.

    A step of all processes together takes `labelled_per_step` and `unlabelled_per_step` images, in equal
    pieces: `parts` of them one after the other in each of `world` processes. So neither changes which images
    a step has. Unlabelled images come from iteration `unlabelled_from` onwards.
    """

    labelled: Crops
    unlabelled: Crops | None = None
    labelled_per_step: int
    unlabelled_per_step: int = 0
    unlabelled_from: int = 0
    parts: int = 1
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        pieces = self.parts * self.world
        for name in ("labelled_per_step", "unlabelled_per_step"):
            count = getattr(self, name)
            if count % pieces:
                raise UserError(
                    f"train.{name} {count} cannot be shared equally by {self.world} processes in "
                    f"{self.parts} parts each: make it a multiple of {pieces}"
                )

    def __getitem__(self, index: int) -> Pair | UserError:
        """Part `index` of all that this process does, counted from the start of training.

        A user's mistake is returned: raised in a loading process, it would arrive as a traceback.
        """
        pieces = self.parts * self.world
        iteration, part = divmod(index, self.parts)
        number = iteration * pieces + part * self.world + self.rank
        try:
            labelled = self.labelled.batch(number, self.labelled_per_step // pieces)
            if self.unlabelled is None or iteration < self.unlabelled_from:
                return labelled, None
            return labelled, self.unlabelled.batch(number, self.unlabelled_per_step // pieces)
        except UserError as error:
            return UserError(str(error))

    def images_by(self, iteration: int) -> int:
        """How many images all processes have trained on once so many iterations are done."""
        unlabelled = 0 if self.unlabelled is None else self.unlabelled_per_step
        return iteration * self.labelled_per_step + max(0, iteration - self.unlabelled_from) * unlabelled

    def from_iteration(
        self, start: int, stop: int, *, workers: int, pin: bool = False
    ) -> Generator[Pair, None, None]:
        """All parts of iterations `start` to `stop`, loaded ahead by a thread, or by `workers` processes."""
        loader: DataLoader[Any] = DataLoader(
            self,
            batch_size=None,
            sampler=range(start * self.parts, stop * self.parts),
            num_workers=workers,
            multiprocessing_context="spawn" if workers else None,
            worker_init_fn=_begin_loading if workers else None,
            pin_memory=pin,
            generator=torch.Generator(),  # keeps the loader from drawing its base seed from the global state
        )
        with children_ignore_current_folder(), silent_orphans(), _children_deaf_to_ctrl_c():
            pairs = iter(loader)
        try:
            for pair in pairs if workers else read_ahead(pairs, depth=2):
                if isinstance(pair, UserError):
                    raise pair
                yield pair
        finally:
            del pairs  # loading processes end now, not when the last traceback is forgotten


@contextmanager
def _children_deaf_to_ctrl_c() -> Iterator[None]:
    """For processes started within it: a run that is to end still needs the images of its last iteration.

    The tracker of resources must run already: started here, it would unblock signals.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # children inherit what is blocked
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_loading(worker: int) -> None:
    """The start of a loading process, which ends with its run, and not before.

    torchrun and clusters send SIGTERM to a whole group of processes, so it leaves that. SIGTERM cannot be
    blocked as well, since it is also how the run itself ends a loading process.
    """
    os.setpgid(0, 0)
    end_with_parent()
