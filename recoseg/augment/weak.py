"""The weak view of labelled images: a random crop of each, and changes of colour of their batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from recoseg.augment.colour import PAPERS_COLOURS, ColourChange, changed
from recoseg.augment.crop import RandomCrop
from recoseg.types import Batch


@dataclass(frozen=True, kw_only=True)
class WeakView:
    """Geometry per image, before batching, where images differ in size; colours per batch, on its device."""

    crop: RandomCrop
    colours: Sequence[ColourChange] = PAPERS_COLOURS

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        """A batch of crops, with other colours."""
        return replace(batch, images=changed(batch.images, self.colours, generator))
