"""What a network makes of the pixels of an image: Z, which its classifier reads, and R, which ReCo trains."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.evaluate.protocol import SMALLEST_SIDE, as_float, at_least
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.layer_taps import Place, find_place, tapped, undisturbed
from recoseg.models.representation import WithRepresentation
from recoseg.models.sizes import crop_features, crop_logits
from recoseg.types import ModelOutput

_PROBE_SIDE = 64
_CLASSIFIERS: dict[type[nn.Module], str] = {DeepLabV3Plus: "classifier.1", DeepLabV2: "classifier"}
"""Our own networks -> the layer that makes the logits; in others it is found by watching them."""


@dataclass(frozen=True)
class Look:
    """What a network says of images (B, 3, H, W), and the embeddings that it has of their pixels."""

    output: ModelOutput  # of the images proper, should they have been padded
    embeddings: dict[str, Tensor]  # "Z" and, with a representation head, "R" -> (B, D, h, w)


class Embedder:
    """Looks at images of any size and takes Z on the way.

    Z is what the last layer reads that makes the logits. A network in which no layer makes them, such as one
    that multiplies masks with classes, has Z only if it was told where (`at`), and none otherwise.
    """

    def __init__(self, model: nn.Module, *, num_classes: int, device: torch.device) -> None:
        self.model = model
        self.device = device
        self.place = _classifier_place(model, num_classes, device)

    @torch.inference_mode()
    def __call__(self, images: Tensor) -> Look:
        """(B, 3, H, W) uint8; the model is in eval mode."""
        size = images.shape[2:]
        padded = at_least(as_float(images, self.device), SMALLEST_SIDE)
        layer = None if self.place is None else self.model.get_submodule(self.place.at)
        with nullcontext() if layer is None else tapped(layer) as tap:
            output: ModelOutput = self.model(padded)
        embeddings = {}
        if self.place is not None and tap is not None:
            seen = _seen_size(self.model, padded.shape[2:])
            embeddings["Z"] = crop_features(self.place.map_of(tap.taken, seen), seen, size)
        features = output.features
        if features is not None:
            features = embeddings["R"] = crop_features(features, padded.shape[2:], size)
        return Look(ModelOutput(crop_logits(output.logits, padded.shape[2:], size), features), embeddings)


def _classifier_place(model: nn.Module, num_classes: int, device: torch.device) -> Place | None:
    """The layer that makes the logits; else the one that the network's representation head was put at."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(1, 3, _PROBE_SIDE, _PROBE_SIDE, generator=generator).to(device)
    try:
        with undisturbed(model):
            return find_place(
                model,
                lambda shown: logits_of(model, shown),
                images,
                num_classes=num_classes,
                at=_CLASSIFIERS.get(type(model)),
            )
    except UserError:
        if not isinstance(model, WithRepresentation) or model.place is None:
            return None
        place = model.place
        return Place(f"network.{place.at}", place.channels, place.channels_last, place.cells)


def logits_of(model: nn.Module, images: Tensor) -> Tensor:
    output: ModelOutput = model(images)
    return output.logits


def _seen_size(model: nn.Module, size: Sequence[int]) -> tuple[int, int]:
    """The size that the layers see of an image: a network of other makers may pad it."""
    return model.sizes.padded(size) if isinstance(model, WithRepresentation) else (size[0], size[1])
