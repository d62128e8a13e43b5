"""Partial labels, full dataset: of each class in each labelled image, one pixel or a share of its pixels.

A split keeps one pixel for each class and image; `PixelBudget` grows it whenever the label is loaded.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recoseg.data.base import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.splits.over_labels import over_labels
from recoseg.splits.pixel_budget import PixelBudget
from recoseg.splits.split_file import LabelSplit, Point, counts_by_name
from recoseg.types import IGNORE


def few_pixels(
    dataset: Dataset,
    split: LabelSplit,
    *,
    pixels: PixelBudget,
    seed: int,
    num_workers: int = 1,
    progress: Progress | None = None,
) -> LabelSplit:
    """`split`, with only a few pixels of its labelled images visible."""
    points: dict[str, tuple[Point, ...]] = {}
    counts = np.zeros(len(dataset.classes), dtype=np.int64)
    drawn = over_labels(DrawPoints(dataset, seed), split.labelled, num_workers=num_workers, progress=progress)
    for key, found in zip(split.labelled, drawn, strict=True):
        points[key] = found
        counts[[label for label, _, _ in found]] += 1
    if not counts.any():
        raise UserError("no labelled image has a pixel with a class")
    return replace(
        split,
        builder="few_pixels" if split.builder == "all_labels" else f"{split.builder}, few_pixels",
        settings={**split.settings, "pixels": str(pixels)},
        seed=seed,
        class_counts=counts_by_name(dataset.classes.names, counts.tolist()),
        pixels=str(pixels),
        points=points,
    )


@dataclass(frozen=True)
class DrawPoints:
    """One pixel of each class in the labels of a key."""

    dataset: Dataset
    seed: int

    def __call__(self, key: str) -> tuple[Point, ...]:
        return draw_points(self.dataset.labels(key).numpy(), key=key, seed=self.seed)


def draw_points(labels: NDArray[np.uint8], *, key: str, seed: int) -> tuple[Point, ...]:
    """Each pixel of a class is as likely as any other.

    Which one it is follows from a hash of seed, key and class: the same on every machine, and other
    images have no part in it.
    """
    points = []
    for label in np.flatnonzero(np.bincount(labels.ravel(), minlength=IGNORE + 1)[:IGNORE]).tolist():
        places = np.flatnonzero(labels == label)
        digest = hashlib.sha256(f"{seed}/{label}/{key}".encode(errors="surrogateescape")).digest()
        place = int(places[int.from_bytes(digest[:16], "big") % len(places)])
        points.append((label, *divmod(place, labels.shape[1])))
    return tuple(points)
