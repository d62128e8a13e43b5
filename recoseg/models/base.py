"""What all networks have in common: logits, and a representation head that can go."""

from __future__ import annotations

import copy
from typing import Self

from torch import nn


class SegmentationNetwork(nn.Module):
    """Images in [0, 1], (B, 3, H, W) -> `ModelOutput`; `features` only with a representation head."""

    representation: nn.Module | None
    passes_are_apart = False
    """Whether several threads may run `forward` at once in eval mode: it leaves nothing in the network."""

    def inference(self) -> Self:
        """A copy in eval mode without the representation head: what the paper uses after training.

        Its parameters, operations and output are exactly those of a network that never had one.
        """
        memo = {id(self.representation): None} if self.representation is not None else {}
        plain = copy.deepcopy(self, memo)
        return plain.eval()
