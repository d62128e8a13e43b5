"""A dataset that remembers decoded images and labels, up to a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from recoseg.data.base import Dataset


class Cached(Dataset):
    """Reads through to another dataset once for each key, as long as the budget lasts."""

    def __init__(self, source: Dataset, *, budget_bytes: int) -> None:
        self.source = source
        self.name, self.classes = source.name, source.classes
        self.remaining = budget_bytes
        self.stored: dict[tuple[str, str], Tensor] = {}

    def keys(self, subset: str) -> Sequence[str]:
        return self.source.keys(subset)

    def has_labels(self, key: str) -> bool:
        return self.source.has_labels(key)

    def image(self, key: str) -> Tensor:
        return self._remember("image", key, self.source.image)

    def labels(self, key: str) -> Tensor:
        return self._remember("labels", key, self.source.labels)

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def _remember(self, what: str, key: str, read: Callable[[str], Tensor]) -> Tensor:
        if (what, key) in self.stored:
            return self.stored[what, key]
        tensor = read(key)
        if tensor.nbytes <= self.remaining:
            self.stored[what, key] = tensor
            self.remaining -= tensor.nbytes
        return tensor
