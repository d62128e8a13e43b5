"""What all networks have in common: images that they take, logits, and a representation head that can go."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.layer_taps import as_map, tapped
from recoseg.models.linear_probe import LinearProbe
from recoseg.types import ModelOutput


class Encoded(Protocol):
    """What lies between an encoder and a decoder. Methods that disturb it change its maps."""

    @property
    def maps(self) -> tuple[Tensor, ...]:
        """Each (B, C, h, w), or (B, N, C) of a transformer; from fine to deep."""
        ...

    def with_maps(self, maps: Sequence[Tensor]) -> Encoded:
        """The same with other maps, of any number of images."""
        ...


class SegmentationNetwork(nn.Module):
    """Images in [0, 1], (B, 3, H, W) -> `ModelOutput`; `features` only with a representation head."""

    representation: nn.Module | None
    probe: LinearProbe | None  # its logits are added to the decoder's; `encode` then returns all levels
    passes_are_apart = False
    """Whether several threads may run `forward` at once in eval mode: it leaves nothing in the network."""

    def __init__(self) -> None:
        super().__init__()
        self.probe = None

    def require_halves(self) -> None:
        """Raises where nothing tells encoder from decoder: for methods that work on what lies between."""
        if type(self).encode is SegmentationNetwork.encode:
            raise UserError(
                f"{type(self).__name__} does not tell its encoder from its decoder, and this method works on "
                "what lies between: give it methods encode and decode, or take another method"
            )

    def encode(self, images: Tensor) -> Encoded:
        """The first half of `forward`: `decode(encode(images))` says the same as `forward(images)`."""
        self.require_halves()
        raise NotImplementedError

    def decode(self, encoded: Any) -> ModelOutput:
        """What the network says of the images of which `encoded` was made."""
        raise NotImplementedError(f"{type(self).__name__} has encode, and no decode")

    def levels(self, encoded: Any) -> tuple[Tensor, ...]:
        """The maps (B, C, h, w) that the probe reads."""
        levels: tuple[Tensor, ...] = encoded.maps
        return levels

    def decoded_channels(self) -> int:
        """Of the map that the part named `classifier` reads."""
        raise UserError(
            f"{type(self).__name__} does not say what its classifier reads, and this method reads that too: "
            "give it a method decoded_channels, or take another method"
        )

    @contextmanager
    def tapped_decoder(self) -> Iterator[Callable[[Sequence[int]], Tensor]]:
        """Within it, the map (B, C, h, w) that the classifier read last is taken, with its graph.

        What it gives is asked for that map with the (height, width) of the images.
        """
        with tapped(self.get_submodule("classifier")) as tap:
            yield lambda size: as_map(tap.taken, channels_last=False, image_size=size)

    def inference(self) -> Self:
        """A copy in eval mode without the representation head: what the paper uses after training.

        Its parameters, operations and output are exactly those of a network that never had one.
        """
        memo = {id(self.representation): None} if self.representation is not None else {}
        plain = copy.deepcopy(self, memo)
        return plain.eval()


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


_CHANNEL_ADVICE = {
    1: "repeat the grey one: images.expand(-1, 3, -1, -1)",
    4: "leave out the last: images[:, :3]",
}


def require_images(images: Tensor, *, smallest: int) -> None:
    """Refuse anything but (B, 3, H, W) floats with sides of at least `smallest` pixels.

    Looks at shape and type only, never at values, so it costs nothing on any device. While a network is
    compiled or exported, sizes may be symbols: then it does nothing, and leaves no trace in the graph.
    """
    if torch.compiler.is_compiling():
        return
    shape = tuple(images.shape)
    if images.ndim != 4:
        to_do = "add the batch: images[None]" if images.ndim == 3 else "B is the number of images"
        raise UserError(f"a network takes images of the shape (B, 3, H, W), got {shape}; {to_do}")
    if shape[1] != 3:
        to_do = _CHANNEL_ADVICE.get(shape[1], "the second size is that of the channels")
        raise UserError(f"a network takes images of 3 channels, (B, 3, H, W), got {shape}; {to_do}")
    if not images.is_floating_point():
        raise UserError(f"a network takes images as floats in [0, 1], got {images.dtype}; divide by 255")
    if min(shape[2:]) < smallest:
        height, width = shape[2:]
        raise UserError(
            f"images of {height}x{width} pixels are smaller than the network's stride; "
            f"enlarge or pad them to {smallest}x{smallest} at least"
        )
