"""Running a network without its representation head, where nobody looks at the features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from recoseg.models.base import SegmentationNetwork


@contextmanager
def without_features(model: nn.Module) -> Iterator[nn.Module]:
    """Within it, `model` gives no features and spends no time on them; its head comes back at the end."""
    if not isinstance(model, SegmentationNetwork) or model.representation is None:
        yield model
        return
    head, model.representation = model.representation, None
    try:
        yield model
    finally:
        model.representation = head
