"""Distribution alignment: pseudo-labels shall show classes as often as a person's labels do."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recoseg.distributed import sum_over_processes
from recoseg.errors import UserError
from recoseg.losses.consistency import cells_inside
from recoseg.types import IGNORE, Batch

_MEMORY = 0.99
_LEAST = 1e-4  # is added to every share: a class that nobody labelled yet may still be found


class Alignment(nn.Module):
    """Multiplies a teacher's probabilities by (share among labelled pixels) / (share among predicted ones).

    As in ReMixMatch (Berthelot et al., 2020), for pixels. Both shares are moving averages over steps, of the
    joined batch of all processes, which begin as plain means. A teacher that has seen few labels says
    frequent classes more often than they are, and a student that learns from it more often still, until rare
    ones are gone: aligned labels work against that.
    """

    shares: Tensor
    steps: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("shares", torch.full((2, num_classes), 1 / num_classes))  # labelled, predicted
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def require_whole_labels(self, *, sparse: bool) -> None:
        if sparse:
            raise UserError(
                "method.align needs fully labelled images, and this split has single labelled pixels, which "
                "do not tell how frequent classes are: leave it out, or take a split of whole images"
            )

    @torch.no_grad()
    def forward(self, logits: Tensor, labelled: Batch, unlabelled: Batch) -> Tensor:
        """Logits (B, K, h, w) of the `unlabelled` images -> those of the aligned probabilities."""
        self.require_whole_labels(sparse=labelled.sparse)
        size = (logits.shape[2], logits.shape[3])
        self._follow(logits, labelled.labels, cells_inside(unlabelled.inside, size))
        shares = self.shares + _LEAST
        return logits + (shares[0] / shares[1]).log()[:, None, None]

    def _follow(self, logits: Tensor, labels: Tensor, inside: Tensor | None) -> None:
        num_classes = logits.shape[1]
        probabilities = logits.softmax(1)
        if inside is not None:
            probabilities = probabilities * inside[:, None]
        flat = labels.flatten()
        of_labels = flat.new_zeros(IGNORE + 1).scatter_add_(0, flat, torch.ones_like(flat))  # (256,)
        counts = of_labels[:num_classes].to(logits)
        sums = sum_over_processes(torch.stack([counts, probabilities.sum((0, 2, 3))]))  # (2, K)
        totals = sums.sum(1, keepdim=True)
        self.steps += 1
        step = (1 / self.steps).clamp(min=1 - _MEMORY)
        self.shares.lerp_(sums / totals.clamp(min=1e-12), torch.where(totals > 0, step, 0.0))
