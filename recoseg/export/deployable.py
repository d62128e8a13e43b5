"""The network as others run it: bytes of an image in, logits at the image's size out."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from recoseg.models.base import SegmentationNetwork
from recoseg.models.layers import resize
from recoseg.types import ClassInfo

INPUT, OUTPUT = "images", "logits"


class Deployable(nn.Module):
    """(B, 3, H, W) uint8, RGB -> logits (B, K, H, W) float; normalises itself, has no representation head."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.inference() if isinstance(network, SegmentationNetwork) else network.eval()

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images.float() / 255).logits  # (B, K, h, w)
        return resize(logits, images.shape[2:])


@dataclass(frozen=True)
class About:
    """What goes into the file besides the network."""

    classes: ClassInfo
    iteration: int | None
    version: str  # of recoseg

    def values(self) -> dict[str, object]:
        return {
            "classes": list(self.classes.names),
            "palette": [list(colour) for colour in self.classes.palette],
            "input": f"{INPUT}: uint8 (batch, 3, height, width), RGB",
            "output": f"{OUTPUT}: float32 (batch, classes, height, width); the class is the largest",
            "iteration": self.iteration,
            "recoseg": self.version,
        }
