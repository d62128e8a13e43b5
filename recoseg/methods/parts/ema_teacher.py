"""The teacher: a moving average of the student, which labels the images that nobody labelled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import compress
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from recoseg.errors import UserError
from recoseg.models.bilinear import resize
from recoseg.models.network import without_features
from recoseg.text import lookup
from recoseg.types import PseudoLabels

_NORMS = {"average": False, "batch": True}
"""The teacher's BatchNorm -> whether it takes its statistics from the batch that it labels."""

_WARM_UPS: dict[str, Callable[[int], float]] = {
    "mean": lambda iteration: 1 - 1 / (iteration + 1),
    "fast": lambda iteration: (1 + iteration) / (10 + iteration),
    "none": lambda iteration: 1.0,
}
"""How the decay grows: its value after iteration number t, from 0, up to the full one."""


class Teacher(nn.Module):
    """An EMA: theta' = decay * theta' + (1 - decay) * theta after every update of the student.

    The decay grows to its full value. With `warm_up="mean"`, the authors', the first update copies the
    student, and the teacher is the mean of all students so far until 1 / (1 - decay) updates are done; with
    `warm_up="fast"` it is min((1 + t) / (10 + t), decay), which forgets the first students far sooner; with
    `warm_up="none"` the decay is constant, for a student that is good from the start.

    BatchNorm's running statistics are averaged like the weights; evaluation uses them. Labels are given with
    them too (`norm="average"`), so that they depend on their own image only; or with the statistics of the
    batch that is labelled (`norm="batch"`, which the paper's authors do).
    """

    def __init__(
        self,
        student: nn.Module,
        *,
        decay: float = 0.99,
        warm_up: Literal["mean", "fast", "none"] = "mean",
        norm: Literal["average", "batch"] = "average",
    ) -> None:
        super().__init__()
        if not 0 <= decay < 1:
            raise UserError(f"the teacher's decay must be at least 0 and below 1, got {decay:g}")
        self.decay, self.decay_at = decay, lookup(_WARM_UPS, warm_up, what="warm-up")
        self.by_batch = lookup(_NORMS, norm, what="teacher's norm")
        self.network = copy.deepcopy(student).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Teacher:
        """A teacher never trains: it stays as it is."""
        return self

    @torch.no_grad()
    def update(self, student: nn.Module, iteration: int) -> None:
        """Move towards `student` after iteration number `iteration`, from 0."""
        decay = min(self.decay_at(iteration), self.decay)
        mine = [*self.network.parameters(), *self.network.buffers()]
        theirs = [*student.parameters(), *student.buffers()]
        floating = [tensor.is_floating_point() for tensor in mine]
        torch._foreach_lerp_(list(compress(mine, floating)), list(compress(theirs, floating)), 1 - decay)
        for counter, current in zip(mine, theirs, strict=True):
            if not counter.is_floating_point():
                counter.copy_(current)

    @torch.no_grad()
    def logits(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, K, h, w) at the resolution of the network's decoder."""
        statistics = by_batch(self.network) if self.by_batch else nullcontext()
        with without_features(self.network) as network, statistics:
            logits: Tensor = network(images).logits.float()
        return logits

    def pseudo_label(self, images: Tensor) -> PseudoLabels:
        """(B, 3, H, W) -> the likeliest class of each pixel, (B, H, W), and its probability."""
        return labels_of(self.logits(images), (images.shape[2], images.shape[3]))


@torch.no_grad()
def labels_of(logits: Tensor, size: tuple[int, int]) -> PseudoLabels:
    """(B, K, h, w) -> the likeliest class of each of (H, W) pixels, and its probability."""
    logits = resize(logits.float(), size)  # (B, K, H, W)
    highest, labels = logits.max(1)
    return PseudoLabels(labels, (highest - logits.logsumexp(1)).exp_())


@contextmanager
def by_batch(network: nn.Module) -> Iterator[None]:
    """Within it, BatchNorm takes the statistics of its batch, and leaves the running ones alone."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    for module in norms:
        module.training, module.track_running_stats = True, False
    try:
        yield
    finally:
        for module in norms:
            module.training, module.track_running_stats = False, True
