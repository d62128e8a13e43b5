"""Small datasets whose labels a test can choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from recoseg.data.base import Dataset
from recoseg.types import ClassInfo

Labels = Mapping[str, Any]


class InMemory(Dataset):
    """Labels from arrays; every image is grey. A key whose labels are None has none."""

    name = "memory"

    def __init__(self, labels: Labels, num_classes: int) -> None:
        self.arrays = dict(labels)
        self.reads: list[str] = []
        self.classes = ClassInfo(
            tuple(f"class {k}" for k in range(num_classes)), tuple((k, k, k) for k in range(num_classes))
        )

    def keys(self, subset: str) -> Sequence[str]:
        return tuple(self.arrays) if subset == "train" else ()

    def has_labels(self, key: str) -> bool:
        return self.arrays[key] is not None

    def image(self, key: str) -> Tensor:
        return torch.full((3, *np.asarray(self.arrays[key]).shape), 90, dtype=torch.uint8)

    def labels(self, key: str) -> Tensor:
        self.reads.append(key)
        return torch.from_numpy(np.array(self.arrays[key], dtype=np.uint8))


@pytest.fixture
def in_memory() -> Callable[..., InMemory]:
    """`in_memory({"a": [[0, 1]], ...}, num_classes)`."""
    return InMemory


@pytest.fixture
def of_presence() -> Callable[..., InMemory]:
    """A dataset in which image n is one row of the classes it holds: `of_presence([[0, 1], [2]])`."""

    def build(classes_of_images: Sequence[Sequence[int]], num_classes: int) -> InMemory:
        labels = {f"{n:04d}": [list(classes)] for n, classes in enumerate(classes_of_images)}
        return InMemory(labels, num_classes)

    return build
