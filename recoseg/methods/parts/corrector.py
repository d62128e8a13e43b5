"""The corrector of ECS: a network that reads an image and a student's answer, and says what is wrong."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus


class Corrector(nn.Module):
    """A network like the student, with an output more, whose first convolution reads the answer as well.

    Of its outputs the first K are the class that a pixel should have, and the last says that the student is
    right there. At first the widened convolution does not look at the answer: the network starts as it was,
    pretrained or not.
    """

    def __init__(self, network: nn.Module, num_classes: int) -> None:
        super().__init__()
        if not isinstance(network, DeepLabV2 | DeepLabV3Plus):
            raise UserError(
                f"ecs needs a network that can be widened to read predictions, and {type(network).__name__} "
                "cannot: set model to deeplab_v3_plus or deeplab_v2, or take another method"
            )
        self.network = network
        first = next(module for module in network.encoder.modules() if isinstance(module, nn.Conv2d))
        unseen = first.weight.new_zeros(first.out_channels, num_classes, *first.kernel_size)
        first.weight = nn.Parameter(torch.cat([first.weight.detach(), unseen], 1))
        first.in_channels += num_classes

    def forward(self, images: Tensor, probabilities: Tensor) -> Tensor:
        """Images (B, 3, H, W) in [0, 1] and probabilities (B, K, H, W) -> logits (B, K + 1, h, w)."""
        network = self.network
        seen = torch.cat([network.normalise(images), probabilities], 1)
        logits: Tensor = network.decode(network.encoder(seen)).logits
        return logits
