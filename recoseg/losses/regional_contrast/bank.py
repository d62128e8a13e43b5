"""A feature bank: a ring of stored features for each class, which keys may come from instead of the batch."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from recoseg.distributed import gather_over_processes, world_size
from recoseg.errors import UserError, require_whole
from recoseg.losses.regional_contrast.choosing import Regions, group_by_class
from recoseg.losses.regional_contrast.pixel_vectors import chosen_vectors
from recoseg.losses.regional_contrast.prototypes import Prototypes, unit_vectors
from recoseg.text import lookup

_PROTOTYPES = {"batch": False, "bank": True}
"""Where class means come from -> whether the bank's go first."""


class FeatureBank(nn.Module):
    """The last `size` features of each class that were stored in it, as they were, without gradients.

    A contrast with a bank draws its negative keys from it: classes by the same relation graph, then any
    stored feature of the class alike. Class means are those of the batch, and the bank's for classes that the
    batch lacks; or, with `prototypes="bank"`, the bank's, and the batch's for classes that the bank lacks.
    Before `warm_up` fills, and while it holds fewer than two classes, the batch serves as without a bank.

    `fill` it after the loss, in every step. It is all buffers: moved, saved and resumed with its owner.
    """

    vectors: Tensor
    counts: Tensor
    pointers: Tensor
    fills: Tensor

    def __init__(
        self,
        num_classes: int,
        channels: int,
        *,
        size: int = 256,
        per_step: int = 16,
        warm_up: int = 0,
        prototypes: Literal["batch", "bank"] = "batch",
    ) -> None:
        """`per_step` of a class are stored at once, at the most."""
        super().__init__()
        for name, value in (("num_classes", num_classes), ("channels", channels), ("size", size)):
            require_whole(name, value)
        require_whole("per_step", per_step)
        if per_step > size:
            raise UserError(f"per_step: got {per_step}, needs at most the size of the bank, {size}")
        require_whole("warm_up", warm_up, at_least=0)
        self.size, self.per_step, self.warm_up = size, per_step, warm_up
        self.means_first = lookup(_PROTOTYPES, prototypes, what="prototypes=")
        self.register_buffer("vectors", torch.zeros(num_classes, size, channels))
        self.register_buffer("counts", torch.zeros(num_classes, dtype=torch.long))  # (K,) features stored
        self.register_buffer("pointers", torch.zeros(num_classes, dtype=torch.long))  # (K,) the next slot
        self.register_buffer("fills", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def fill(
        self, features: Tensor, labels: Tensor, admitted: Tensor, generator: torch.Generator | None = None
    ) -> None:
        """Store up to `per_step` of the admitted pixels of each class, drawn at random; the oldest go.

        `features` (B, D, h, w); `labels` (B, h, w); `admitted` (B, h, w) bool, False where there is no label.
        What is not finite does not enter. Of several processes each must call this: they take turns in
        offering a feature, and all store the same.
        """
        num_classes = len(self.counts)
        regions = group_by_class(labels.long().where(admitted, num_classes), admitted, num_classes, generator)
        turns = torch.arange(self.per_step, device=labels.device)
        fits = turns < regions.candidates[:, None]  # (K, n)
        places = (regions.starts[:, None] + turns).clamp(max=labels.numel() - 1)
        offered = chosen_vectors(features.detach(), regions.order[places]).to(self.vectors)  # (K, n, D)
        fits &= offered.isfinite().all(2)
        if world_size() > 1:
            both = gather_over_processes(torch.cat((offered, fits.to(offered)[:, :, None]), dim=2))
            both = both.permute(1, 2, 0, 3).flatten(1, 2)  # (K, n * world, D + 1): turn by turn
            offered, fits = both[:, :, :-1], both[:, :, -1] > 0
        self._store(offered, fits)

    def _store(self, offered: Tensor, fits: Tensor) -> None:
        """The first `per_step` of those that fit: (K, m, D), (K, m) bool. Nothing waits for the device."""
        first = (~fits).to(torch.uint8).argsort(dim=1, stable=True)[:, : self.per_step]  # (K, n)
        fits = fits.gather(1, first)
        slots = (self.pointers[:, None] + torch.arange(first.shape[1], device=first.device)) % self.size
        rows = torch.arange(len(slots), device=slots.device)[:, None]
        self.vectors[rows, slots] = offered[rows, first].where(fits[:, :, None], self.vectors[rows, slots])
        num_new = fits.sum(1)
        self.counts.copy_((self.counts + num_new).clamp(max=self.size))
        self.pointers.copy_((self.pointers + num_new) % self.size)
        self.fills += 1

    def usable(self) -> Tensor:
        """(K,) stored features of each class; none before the warm-up is done."""
        return self.counts * (self.fills >= self.warm_up)

    def as_map(self) -> Tensor:
        """(K, D, size, 1): a feature map whose image k shows class k alone; unused slots hold zeros."""
        return self.vectors.permute(0, 2, 1)[:, :, :, None]

    def regions(self) -> Regions:
        """Which pixels of that map are of which class. None of them is a query."""
        order = torch.arange(self.vectors[:, :, 0].numel(), device=self.counts.device)
        return Regions(order, order[:: self.size], self.counts, torch.zeros_like(self.counts))

    @torch.no_grad()
    def prototypes_with(self, batch: Prototypes) -> Prototypes:
        """The means of the batch and of the bank, and how all these classes relate."""
        means = self.vectors.sum(1) / self.counts.clamp(min=1)[:, None]  # (K, D): unused slots add nothing
        stored = self.counts > 0
        chosen = stored if self.means_first else stored & (batch.counts == 0)
        vectors = means.to(batch.vectors).where(chosen[:, None], batch.vectors)
        directions = unit_vectors(vectors)
        counts = self.counts.to(batch.counts).where(chosen, batch.counts)
        return Prototypes(counts, vectors, directions, directions @ directions.t())

    def require_fit(self, features: Tensor, probabilities: Tensor) -> None:
        """Refuse inputs of other classes, channels or another device than the bank's."""
        num_classes, _, channels = self.vectors.shape
        if (probabilities.shape[1], features.shape[1]) != (num_classes, channels):
            raise UserError(
                f"bank: got one of {num_classes} classes and {channels} channels, needs one of "
                f"{probabilities.shape[1]} classes and {features.shape[1]} channels"
            )
        if self.vectors.device != features.device:
            raise UserError(
                f"bank: got device {self.vectors.device}, needs that of the features, {features.device}"
            )

    def extra_repr(self) -> str:
        num_classes, size, channels = self.vectors.shape
        return f"{num_classes}, {channels}, size={size}, per_step={self.per_step}, warm_up={self.warm_up}"
