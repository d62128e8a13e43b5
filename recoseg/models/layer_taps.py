"""The layer where a network reads its decoder's features, found by watching it work; maps taken there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from math import sqrt

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.sizes import Answer
from recoseg.text import did_you_mean

_MOST_EXTRA_TOKENS = 8
"""Class and register tokens of vision transformers stand before those of the image."""

_Call = tuple[str, nn.Module, object]
"""The name of a layer, the layer, and its input in a forward pass."""


@dataclass(frozen=True)
class Place:
    """A layer that reads the features."""

    at: str  # the layer's name in the network
    channels: int
    channels_last: bool
    cells: tuple[int, int]  # (h, w) of the map when the layer was found

    @classmethod
    def of(cls, call: _Call, image_size: Sequence[int]) -> Place:
        name, layer, taken = call
        channels_last = isinstance(layer, nn.Linear)
        found = as_map(taken, channels_last=channels_last, image_size=image_size)
        return cls(name, found.shape[1], channels_last, (found.shape[2], found.shape[3]))

    def map_of(self, taken: object, image_size: Sequence[int]) -> Tensor:
        """Return the layer's input as (B, C, h, w)."""
        return as_map(taken, channels_last=self.channels_last, image_size=image_size)


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards each module is in the mode that it was in.

    Autocast keeps no 16-bit weights of it: older versions of torch would take them, which are constants, for
    weights that learn in the same step.
    """
    modes = {module: module.training for module in network.modules()}
    device = next((parameter.device.type for parameter in network.parameters()), "cpu")
    dtype, enabled = torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)
    network.eval()
    try:
        with torch.no_grad(), torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False):
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def find_place(
    network: nn.Module, answer: Answer, images: Tensor, *, num_classes: int, at: str | None
) -> Place:
    """Find the layer named `at`, or the last layer with K output channels that the logits depend on."""
    calls: list[_Call] = []  # in the order in which layers finish

    def note(
        name: str, layer: nn.Module, inputs: Sequence[object], named: Mapping[str, object], _: object
    ) -> None:
        calls.append((name, layer, _first_of(inputs, named)))

    with ExitStack() as hooks:
        for name, layer in network.named_modules():
            hooks.callback(layer.register_forward_hook(partial(note, name), with_kwargs=True).remove)
        logits = answer(images)
    if at is not None:
        return Place.of(_named_call(network, calls, at), images.shape[2:])
    candidates = [call for call in calls if _channels(call[1], "out") == num_classes]
    # A layer from K to K channels refines or enlarges logits: the features are before that.
    candidates = [call for call in candidates if _channels(call[1], "in") != num_classes] or candidates
    for call in reversed(candidates):  # auxiliary heads come last, and change no logit
        with _disturbed(call[1]):
            if not torch.equal(answer(images), logits):
                return Place.of(call, images.shape[2:])
    widths = [
        f"{name} makes {_channels(layer, 'out')}" for name, layer, _ in calls if _channels(layer, "out")
    ]
    raise UserError(
        f"found no layer that makes the logits' {num_classes} channels; the last of the network: "
        f"{', '.join(widths[-5:]) or 'none that is a convolution or linear'}; name the layer that reads the "
        "decoder's features with at="
    )


def _named_call(network: nn.Module, calls: Sequence[_Call], at: str) -> _Call:
    """The last call of the layer of that name."""
    if found := [call for call in calls if call[0] == at]:
        return found[-1]
    names = [name for name, _ in network.named_modules() if name]
    if at in names:
        raise UserError(f"at: layer {at!r} is not used in the forward pass")
    known = [*get_close_matches(at, names, n=3), *(name for name, *_ in calls[-10:] if name)]
    raise UserError(f"at: the network has no layer {at!r}{did_you_mean(at, dict.fromkeys(known))}")


def _channels(layer: nn.Module, side: str) -> int | None:
    """The "in" or "out" channels of a convolution or linear layer; None of other layers."""
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
        unit = "features" if isinstance(layer, nn.Linear) else "channels"
        return int(getattr(layer, f"{side}_{unit}"))
    return None


@contextmanager
def _disturbed(layer: nn.Module) -> Iterator[None]:
    """Within it, the layer's output is another one."""

    def disturb(layer: nn.Module, inputs: object, output: Tensor) -> Tensor:
        return output + torch.linspace(-1, 1, output.numel()).to(output).view_as(output)

    handle = layer.register_forward_hook(disturb)
    try:
        yield
    finally:
        handle.remove()


class _Tap:
    """Keeps the first argument of a layer's last call."""

    taken: object = None

    def __call__(self, layer: nn.Module, inputs: Sequence[object], named: Mapping[str, object]) -> None:
        self.taken = _first_of(inputs, named)


@contextmanager
def tapped(layer: nn.Module) -> Iterator[_Tap]:
    """Take the layer's input during one forward pass.

    The hook lives for that pass only: a network between passes has none, so copies of it, its saved weights
    and its exports are those of the plain network.
    """
    tap = _Tap()
    handle = layer.register_forward_pre_hook(tap, with_kwargs=True)
    try:
        yield tap
    finally:
        handle.remove()


def _first_of(inputs: Sequence[object], named: Mapping[str, object]) -> object:
    return next(iter((*inputs, *named.values())), None)


class _ReachedError(Exception):
    """A layer has its output; the rest of the forward pass is not needed."""


def output_of(layer: nn.Module, network: nn.Module, images: Tensor) -> object:
    """Return the layer's output within the network's forward pass, which ends there."""
    outputs: list[object] = []

    def stop(layer: nn.Module, inputs: object, output: object) -> None:
        outputs.append(output)
        raise _ReachedError

    handle = layer.register_forward_hook(stop)
    try:
        network(images)
    except _ReachedError:
        return outputs[0]
    finally:
        handle.remove()
    raise UserError(f"{type(network).__name__} does not use its {type(layer).__name__} in the forward pass")


@contextmanager
def answering(layer: nn.Module, output: object) -> Iterator[None]:
    """Within it, the layer returns this output for any input, and computes nothing."""
    layer.forward = lambda *inputs, **named: output
    try:
        yield
    finally:
        del layer.forward


def as_map(taken: object, *, channels_last: bool, image_size: Sequence[int]) -> Tensor:
    """A layer's input -> (B, C, h, w): maps as they are, tokens (B, N, C) laid out like the image."""
    if isinstance(taken, Tensor) and taken.ndim == 4:
        return taken.movedim(3, 1) if channels_last else taken
    if isinstance(taken, Tensor) and taken.ndim == 3:
        num_extra, height, width = token_grid(taken.shape[1], image_size)
        return taken[:, num_extra:].transpose(1, 2).reshape(len(taken), -1, height, width)
    what = f"of shape {tuple(taken.shape)}" if isinstance(taken, Tensor) else type(taken).__name__
    raise UserError(
        f"the layer for the representation reads an input {what}, needs a map (B, C, h, w) or tokens "
        "(B, N, C); name another layer with at="
    )


def token_grid(num_tokens: int, image_size: Sequence[int]) -> tuple[int, int, int]:
    """Return the number of tokens before those of the image, and the (h, w) of the rest."""
    aspect = image_size[1] / image_size[0]
    for num_extra in range(min(_MOST_EXTRA_TOKENS, num_tokens) + 1):
        height = max(1, round(sqrt((num_tokens - num_extra) / aspect)))
        width = max(1, round(height * aspect))
        if height * width == num_tokens - num_extra:
            return num_extra, height, width
    raise UserError(
        f"{num_tokens} tokens cannot be laid out like an image of {image_size[0]}x{image_size[1]}; "
        "name a layer that reads a map (B, C, h, w) with at="
    )
