"""A representation head for any segmentation network: logits from the network, features from its decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from recoseg.errors import UserError, require_whole
from recoseg.models.bilinear import resize
from recoseg.models.layer_taps import Place, answering, as_map, find_place, output_of, tapped, undisturbed
from recoseg.models.layers import Normalise, convolved_head, initialise
from recoseg.models.linear_probe import LinearProbe
from recoseg.models.network import SegmentationNetwork, require_images
from recoseg.models.sizes import crop_features, crop_logits, find_size_rule
from recoseg.types import ModelOutput

_FINEST_STRIDE = 4
"""Finest map that a probe reads: finer ones show edges and no classes."""

_ENCODER_NAMES = ("base_model", "backbone", "encoder")
"""Names of the pretrained part in transformers, torchvision and segmentation_models_pytorch."""


def with_representation(
    network: nn.Module,
    *,
    num_classes: int,
    feature_channels: int | None = 256,
    at: str | None = None,
    normalise: nn.Module | None = None,
    multiple_of: int | None = None,
    feature_stride: int = 4,
    probe: bool = False,
) -> WithRepresentation:
    """Add a representation head (section 3.1 of the paper) to any segmentation network.

    The head reads the same map as the layer that makes the logits. The network returns logits of
    `num_classes` channels: a tensor, a dict with "out", or an object with `.logits`.

    Args:
        network: The network, from normalised images (B, 3, H, W) to logits (B, K, h, w).
        num_classes: Number of classes K.
        feature_channels: Channels of the head (appendix A: 256); None for no head.
        at: Name of the layer whose input the head reads; by default the last with K output channels.
        normalise: Module that normalises images in [0, 1]; by default ImageNet's mean and deviation. Use
            `nn.Identity()` if the network normalises them itself.
        multiple_of: Sides of images are padded to a multiple of this; by default it is found by trying.
        feature_stride: Pixels to a cell of the features, a quarter of the image's size in the paper. Finer
            maps are averaged down.
        probe: Add a linear classifier of the encoder's maps to the logits, and start the layer that makes
            the logits at zero; `recoseg.probe` fits that classifier.

    Returns:
        A network from images in [0, 1] to an output with `.logits` and `.features`.

    Raises:
        UserError: An argument is wrong, or the network returns no logits of `num_classes` channels.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from recoseg import with_representation
        >>> layers = nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1)
        >>> network = with_representation(nn.Sequential(*layers), num_classes=5, feature_channels=16)
        >>> output = network(torch.rand(2, 3, 64, 64))
        >>> output.logits.shape, output.features.shape
        (torch.Size([2, 5, 16, 16]), torch.Size([2, 16, 16, 16]))
    """
    if not isinstance(network, nn.Module):
        raise UserError(f"network: got {type(network).__name__}, needs a torch.nn.Module")
    if at is not None and not isinstance(at, str):
        raise UserError(f"at: got {at!r:.100}, needs the name of a layer")
    require_whole("num_classes", num_classes)
    require_whole("feature_stride", feature_stride)
    if feature_channels is not None:
        require_whole("feature_channels", feature_channels)
    model = WithRepresentation(network, num_classes, normalise=normalise, multiple_of=multiple_of, at=at)
    if feature_channels:
        model.add_representation(feature_channels, stride=feature_stride)
    if probe:
        model.add_probe()
    return model


@dataclass(frozen=True)
class WrappedEncoded:
    """The output of a foreign encoder, in any form."""

    output: object
    padded: Tensor  # (B, 3, H', W'): decoders read the size of the images
    size: Sequence[int]  # of the images before they were padded

    @property
    def maps(self) -> tuple[Tensor, ...]:
        return tuple(leaf for leaf in tree_flatten(self.output)[0] if _is_map(leaf))

    def with_maps(self, maps: Sequence[Tensor]) -> WrappedEncoded:
        leaves, form = tree_flatten(self.output)
        changed, count = iter(maps), len(maps[0])
        output = tree_unflatten([next(changed) if _is_map(leaf) else leaf for leaf in leaves], form)
        times = -(-count // len(self.padded))  # only the size of these images is read
        return replace(self, output=output, padded=self.padded.repeat(times, 1, 1, 1)[:count])

    def as_maps(self, indices: Sequence[int]) -> dict[int, Tensor]:
        """Index among the maps -> map as (B, C, h, w)."""
        maps, size = self.maps, self.padded.shape[2:]
        return {index: as_map(maps[index], channels_last=False, image_size=size) for index in indices}


def _is_map(leaf: object) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.ndim in (3, 4)


class WithRepresentation(SegmentationNetwork):
    """A foreign network. Logits and features keep the resolutions that they have in the network."""

    def __init__(
        self,
        network: nn.Module,
        num_classes: int,
        *,
        normalise: nn.Module | None = None,
        multiple_of: int | None = None,
        at: str | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.normalise = Normalise() if normalise is None else normalise
        self.network = network
        self.representation = None
        self.to(self._like.device)
        with undisturbed(network):
            self.sizes = find_size_rule(self._logits, self._example, multiple_of)
        self._at = at
        self.place: Place | None = None  # the layer that reads the decoder's features, once it is found
        self._level_indices: list[int] = []  # of the encoder's maps that the probe reads

    @property
    def _like(self) -> Tensor:
        """A tensor of the network's device and type."""
        return next(self.network.parameters(), torch.zeros(()))

    def _logits(self, images: Tensor) -> Tensor:
        """The network's logits (B, K, h, w) for normalised images of a size that it takes."""
        return logits_of(self.network(images), self.num_classes)

    def _example(self, height: int, width: int) -> Tensor:
        """An image to try, as if normalised."""
        generator = torch.Generator().manual_seed(0)
        return torch.randn(1, 3, height, width, generator=generator).to(self._like)

    def _find_place(self) -> Place:
        """Find the layer that reads the decoder's features, once."""
        if self.place is None:
            images = self._example(*self.sizes.padded((64, 64)))
            with undisturbed(self.network):
                self.place = find_place(
                    self.network, self._logits, images, num_classes=self.num_classes, at=self._at
                )
        return self.place

    def add_representation(self, channels: int, *, stride: int) -> None:
        """Add the paper's head; a map finer than one cell in `stride` pixels is averaged down first."""
        place = self._find_place()
        head = convolved_head(place.channels, channels, channels)
        head.apply(initialise)
        finer = stride * place.cells[0] // self.sizes.padded((64, 64))[0]
        if finer > 1:
            head = nn.Sequential(nn.AvgPool2d(finer, ceil_mode=True), *head)
        self.representation = head.to(self._like)

    def add_probe(self) -> None:
        """Add a linear classifier of the encoder's maps to the logits, and start the decoder at zero."""
        self.require_halves()
        place = self._find_place()
        for parameter in self.network.get_submodule(place.at).parameters():
            nn.init.zeros_(parameter)
        with undisturbed(self):
            encoded = self.encode(torch.zeros(1, 3, 64, 64, device=self._like.device))
            if self.decode(encoded).logits.any():
                raise UserError(
                    f"model.start probe: the logits of {type(self.network).__name__} come from more than its "
                    f"layer {place.at!r}, so they cannot start at zero; set model.start to random"
                )
        first = {id(one): index for index, one in reversed(list(enumerate(encoded.maps)))}
        maps = encoded.as_maps(sorted(first.values()))
        most = -(-encoded.padded.shape[2] // _FINEST_STRIDE)
        self._level_indices = [index for index, one in maps.items() if one.shape[2] <= most] or list(maps)
        channels = [maps[index].shape[1] for index in self._level_indices]
        self.probe = LinearProbe(channels, self.num_classes).to(self._like)

    @property
    def encoder(self) -> nn.Module | None:
        """The pretrained part, which may learn at a rate of its own; None if no part has its name."""
        parts = (getattr(self.network, name, None) for name in _ENCODER_NAMES)
        return next((p for p in parts if isinstance(p, nn.Module) and p is not self.network), None)

    def require_halves(self) -> None:
        if self.encoder is None:
            raise UserError(
                f"{type(self.network).__name__} has no part named {', '.join(_ENCODER_NAMES[:-1])} or "
                f"{_ENCODER_NAMES[-1]}, and this method works on what lies between encoder and decoder: take "
                "another method"
            )

    def forward(self, images: Tensor) -> ModelOutput:
        require_images(images, smallest=1)
        if self.probe is not None:
            return self.decode(self.encode(images))
        return self._output(self.sizes.pad(self.normalise(images)), images.shape[2:])

    def encode(self, images: Tensor) -> WrappedEncoded:
        require_images(images, smallest=1)
        self.require_halves()
        assert self.encoder is not None
        padded = self.sizes.pad(self.normalise(images))
        return WrappedEncoded(output_of(self.encoder, self.network, padded), padded, images.shape[2:])

    def decode(self, encoded: WrappedEncoded) -> ModelOutput:
        assert self.encoder is not None
        with answering(self.encoder, encoded.output):
            output = self._output(encoded.padded, encoded.size)
        if self.probe is None:
            return output
        levels = self.levels(encoded)
        logits = self.probe(levels, levels[0].shape[2:])
        logits = crop_logits(logits, encoded.padded.shape[2:], encoded.size)
        return replace(output, logits=output.logits + resize(logits, output.logits.shape[2:]))

    def levels(self, encoded: WrappedEncoded) -> tuple[Tensor, ...]:
        """Each different map of the encoder once, as (B, C, h, w); none finer than stride 4."""
        return tuple(encoded.as_maps(self._level_indices).values())

    def _output(self, padded: Tensor, size: Sequence[int]) -> ModelOutput:
        """The output for padded images (B, 3, H', W'), cropped to `size`."""
        features = None
        if self.representation is None:
            logits = self._logits(padded)
        else:
            with self.tapped_decoder() as decoded:
                logits = self._logits(padded)
            features = self.representation(decoded(size))
        return ModelOutput(crop_logits(logits.contiguous(), padded.shape[2:], size), features)

    def decoded_channels(self) -> int:
        """Channels of the decoder's map, which the head and the classifier read."""
        return self._find_place().channels

    @contextmanager
    def tapped_decoder(self) -> Iterator[Callable[[Sequence[int]], Tensor]]:
        place = self._find_place()

        def decoded(size: Sequence[int]) -> Tensor:
            padded = self.sizes.padded(size)
            return crop_features(place.map_of(tap.taken, padded), padded, size)

        with tapped(self.network.get_submodule(place.at)) as tap:
            yield decoded


def logits_of(output: object, num_classes: int) -> Tensor:
    """(B, K, h, w) from a tensor, a dict with "out" (torchvision's), or an object with `.logits`."""
    found: object = output
    if isinstance(output, Mapping):
        found = output.get("out", output.get("logits", output))
    elif not isinstance(output, Tensor):
        found = getattr(output, "logits", output)
    if not isinstance(found, Tensor):
        kind = type(found).__name__
        if isinstance(found, Mapping):
            kind += f" with {', '.join(map(repr, found)) or 'nothing in it'}"
        elif isinstance(found, tuple | list):
            kind += f" of {len(found)}"
        raise UserError(
            f"the network returns a {kind}, needs a tensor of logits, a dict with 'out' or an object with "
            ".logits; wrap it in a module that returns its logits"
        )
    if found.ndim != 4:
        raise UserError(f"the network's logits have the shape {tuple(found.shape)}, needs (B, K, h, w)")
    if found.shape[1] != num_classes:
        raise UserError(
            f"the network's logits have {found.shape[1]} classes, their shape is {tuple(found.shape)}, but "
            f"num_classes is {num_classes}; build the network for {num_classes} classes"
        )
    return found
