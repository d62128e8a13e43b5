"""A representation head for any segmentation network: logits from the network, features beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from recoseg.errors import UserError, require_whole
from recoseg.models.bilinear import resize
from recoseg.models.layer_taps import Place, answering, as_map, find_place, output_of, tapped, undisturbed
from recoseg.models.layers import Normalise, convolved_head, initialise
from recoseg.models.linear_probe import LinearProbe
from recoseg.models.network import SegmentationNetwork, require_images
from recoseg.models.sizes import SizeRule, crop_features, crop_logits, find_size_rule
from recoseg.types import ModelOutput

_FINEST_STRIDE = 4
"""Of the maps that a probe reads: finer ones show edges and no classes."""

_ENCODER_NAMES = ("base_model", "backbone", "encoder")
"""How transformers, torchvision and segmentation_models_pytorch name the pretrained part of a network."""


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
    """The network as images in [0, 1] -> `ModelOutput`, with a representation head on its decoder's features.

    The network returns logits of `num_classes` channels: a tensor, a dict with "out", or an object with
    `.logits`. The head (none with `feature_channels=None`) reads what the layer named `at` reads; without a
    name, that is the last layer that makes the logits' channels. Features finer than one cell in
    `feature_stride` pixels are averaged down to it: the paper's are a quarter of the image's size.

    `normalise` is ImageNet's statistics if none is given; `nn.Identity()` where the network does it itself.
    Images of sizes that the network refuses are padded; `multiple_of` is found by trying, or given.

    With `probe`, a linear classifier of the encoder's maps is added to the logits, and the layer that makes
    the logits starts at zero: `recoseg.probe` fits that classifier.
    """
    if not isinstance(network, nn.Module):
        raise UserError(f"network: got {type(network).__name__}, needs a torch.nn.Module")
    if at is not None and not isinstance(at, str):
        raise UserError(f"at: got {at!r:.100}, needs the name of a layer")
    require_whole("num_classes", num_classes)
    require_whole("feature_stride", feature_stride)
    if feature_channels is not None:
        require_whole("feature_channels", feature_channels)
    first = _any_tensor(network)

    def answer(images: Tensor) -> Tensor:
        return logits_of(network(images), num_classes)

    place, head = None, None
    with undisturbed(network):
        sizes = find_size_rule(answer, partial(_images_for, network), multiple_of)
        if feature_channels:
            images = _images_for(network, *sizes.padded((64, 64)))
            place = find_place(network, answer, images, num_classes=num_classes, at=at)
            finer = max(1, feature_stride * place.cells[0] // images.shape[2])
            head = _representation_head(place.channels, feature_channels, finer=finer).to(first.dtype)
    wrapped = WithRepresentation(
        network,
        num_classes=num_classes,
        normalise=Normalise() if normalise is None else normalise,
        sizes=sizes,
        place=place,
        representation=head,
        at=at,
    ).to(first.device)
    if probe:
        wrapped.add_probe()
    return wrapped


def _any_tensor(network: nn.Module) -> Tensor:
    """Its device and type are the network's."""
    return next(network.parameters(), torch.zeros(()))


def _images_for(network: nn.Module, height: int, width: int) -> Tensor:
    """An image to try, as if normalised."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(1, 3, height, width, generator=generator).to(_any_tensor(network))


def _representation_head(inputs: int, outputs: int, *, finer: int) -> nn.Module:
    """The paper's head; a map `finer` times finer than asked for is averaged down first."""
    head = convolved_head(inputs, outputs, outputs)
    head.apply(initialise)
    return nn.Sequential(nn.AvgPool2d(finer, ceil_mode=True), *head) if finer > 1 else head


@dataclass(frozen=True)
class WrappedEncoded:
    """What the encoder of a foreign network gave, in whatever form it gives it."""

    output: object
    padded: Tensor  # (B, 3, H', W'): decoders ask for the size of the images
    size: Sequence[int]  # of the images before they were padded

    @property
    def maps(self) -> tuple[Tensor, ...]:
        return tuple(leaf for leaf in tree_flatten(self.output)[0] if _is_map(leaf))

    def with_maps(self, maps: Sequence[Tensor]) -> WrappedEncoded:
        leaves, form = tree_flatten(self.output)
        changed = iter(maps)
        output = tree_unflatten([next(changed) if _is_map(leaf) else leaf for leaf in leaves], form)
        count = len(maps[0])
        times = -(-count // len(self.padded))  # the images themselves are asked for their size alone
        return replace(self, output=output, padded=self.padded.repeat(times, 1, 1, 1)[:count])


def _is_map(leaf: object) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.ndim in (3, 4)


class WithRepresentation(SegmentationNetwork):
    """What `with_representation` makes; logits and features keep the resolutions they have in the network."""

    def __init__(
        self,
        network: nn.Module,
        *,
        num_classes: int,
        normalise: nn.Module,
        sizes: SizeRule,
        place: Place | None,
        representation: nn.Module | None,
        at: str | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.sizes = sizes
        self.place = place
        self._decoder_place, self._at = place, at
        self.normalise = normalise
        self.network = network
        self.representation = representation
        self._level_places: list[int] = []  # of the maps that the probe reads

    def require_halves(self) -> None:
        if self.encoder is None:
            raise UserError(
                f"{type(self.network).__name__} has no part named {', '.join(_ENCODER_NAMES[:-1])} or "
                f"{_ENCODER_NAMES[-1]}, and this method works on what lies between encoder and decoder: take "
                "another method"
            )

    def encode(self, images: Tensor) -> WrappedEncoded:
        require_images(images, smallest=1)
        self.require_halves()
        assert self.encoder is not None
        padded = self.sizes.pad(self.normalise(images))
        return WrappedEncoded(output_of(self.encoder, self.network, padded), padded, images.shape[2:])

    def decode(self, encoded: WrappedEncoded) -> ModelOutput:
        assert self.encoder is not None
        with answering(self.encoder, encoded.output):
            output = self._answer(encoded.padded, encoded.size)
        if self.probe is None:
            return output
        padded = encoded.padded.shape[2:]
        levels = self.levels(encoded)
        logits = crop_logits(self.probe(levels, levels[0].shape[2:]), padded, encoded.size)
        return replace(output, logits=output.logits + resize(logits, output.logits.shape[2:]))

    def add_probe(self) -> None:
        """Add a linear classifier of the encoder's maps to the logits, and start the decoder at zero."""
        self.require_halves()
        layer = self.network.get_submodule(self._find_decoder_place().at)
        for parameter in layer.parameters():
            nn.init.zeros_(parameter)
        with undisturbed(self):
            encoded = self.encode(torch.zeros(1, 3, 64, 64, device=next(self.parameters()).device))
            if self.decode(encoded).logits.any():
                raise UserError(
                    f"model.start probe: the logits of {type(self.network).__name__} come from more than its "
                    f"layer {self._find_decoder_place().at!r}, so they cannot start at zero; "
                    "set model.start to random"
                )
            maps = self._all_maps(encoded)
            size = encoded.padded.shape[2:]
            coarse = [place for place, one in maps.items() if one.shape[2] <= -(-size[0] // _FINEST_STRIDE)]
            self._level_places = coarse or list(maps)
            channels = [maps[place].shape[1] for place in self._level_places]
        self.probe = LinearProbe(channels, self.num_classes).to(_any_tensor(self.network))

    def levels(self, encoded: WrappedEncoded) -> tuple[Tensor, ...]:
        """Each different map of the encoder once, as (B, C, h, w); none finer than stride 4."""
        maps, size = encoded.maps, encoded.padded.shape[2:]
        return tuple(
            as_map(maps[place], channels_last=False, image_size=size) for place in self._level_places
        )

    @staticmethod
    def _all_maps(encoded: WrappedEncoded) -> dict[int, Tensor]:
        """Place among the encoder's maps -> map (B, C, h, w), without those that stand there twice."""
        size = encoded.padded.shape[2:]
        first: dict[int, tuple[int, Tensor]] = {}
        for place, one in enumerate(encoded.maps):
            first.setdefault(id(one), (place, as_map(one, channels_last=False, image_size=size)))
        return dict(first.values())

    def decoded_channels(self) -> int:
        """Of the map that the layer reads which a representation head would stand beside."""
        return self._find_decoder_place().channels

    def _find_decoder_place(self) -> Place:
        """Looked for once, where no representation head has asked for it before."""
        if self._decoder_place is None:
            with undisturbed(self.network):
                self._decoder_place = find_place(
                    self.network,
                    lambda images: logits_of(self.network(images), self.num_classes),
                    _images_for(self.network, *self.sizes.padded((64, 64))),
                    num_classes=self.num_classes,
                    at=self._at,
                )
        return self._decoder_place

    @contextmanager
    def tapped_decoder(self) -> Iterator[Callable[[Sequence[int]], Tensor]]:
        place = self._find_decoder_place()

        def taken(size: Sequence[int]) -> Tensor:
            padded = self.sizes.padded(size)
            return crop_features(place.map_of(tap.taken, padded), padded, size)

        with tapped(self.network.get_submodule(place.at)) as tap:
            yield taken

    def forward(self, images: Tensor) -> ModelOutput:
        require_images(images, smallest=1)
        if self.probe is not None:
            return self.decode(self.encode(images))
        return self._answer(self.sizes.pad(self.normalise(images)), images.shape[2:])

    def _answer(self, padded: Tensor, size: Sequence[int]) -> ModelOutput:
        """What the network says of padded images (B, 3, H', W'), for the part of that `size`."""
        if self.representation is None or self.place is None:
            logits, features = logits_of(self.network(padded), self.num_classes), None
        else:
            with tapped(self.network.get_submodule(self.place.at)) as tap:
                logits = logits_of(self.network(padded), self.num_classes)
            decoded = self.place.map_of(tap.taken, padded.shape[2:])  # (B, C, h', w')
            features = self.representation(crop_features(decoded, padded.shape[2:], size))
        return ModelOutput(crop_logits(logits.contiguous(), padded.shape[2:], size), features)

    @property
    def encoder(self) -> nn.Module | None:
        """The pretrained part, which may learn at a rate of its own; None where no name tells it."""
        parts = (getattr(self.network, name, None) for name in _ENCODER_NAMES)
        return next((p for p in parts if isinstance(p, nn.Module) and p is not self.network), None)


KEYS = ("out", "logits")


def logits_of(output: object, num_classes: int) -> Tensor:
    """(B, K, h, w) from a tensor, a dict with "out" (torchvision's), or an object with `.logits`."""
    found: object = output
    if isinstance(output, Mapping):
        found = next((output[key] for key in KEYS if key in output), output)
    elif not isinstance(output, Tensor):
        found = getattr(output, "logits", output)
    if not isinstance(found, Tensor):
        raise UserError(
            f"the network returns {described(found)}, needs a tensor of logits, a dict with 'out' or an "
            "object with .logits; wrap it in a module that returns its logits"
        )
    if found.ndim != 4:
        raise UserError(f"the network's logits have the shape {tuple(found.shape)}, needs (B, K, h, w)")
    if found.shape[1] != num_classes:
        raise UserError(
            f"the network's logits have {found.shape[1]} classes, their shape is {tuple(found.shape)}, but "
            f"num_classes is {num_classes}; build the network for {num_classes} classes"
        )
    return found


def described(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with {', '.join(map(repr, value)) or 'nothing in it'}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
