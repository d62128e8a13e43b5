"""Finding, by watching it work, where a network reads its decoder's features; and taking them there."""

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


@dataclass(frozen=True)
class Place:
    """A layer whose input are the features."""

    at: str  # the layer's name in the network
    channels: int
    channels_last: bool
    cells: tuple[int, int]  # the size of the map in the probe

    def map_of(self, taken: object, image_size: Sequence[int]) -> Tensor:
        """What the layer read, as (B, C, h, w)."""
        return as_map(taken, channels_last=self.channels_last, image_size=image_size)


@dataclass(frozen=True)
class _Call:
    """One layer at work during a forward pass."""

    name: str
    layer: nn.Module
    taken: object

    def place(self, image_size: Sequence[int]) -> Place:
        channels_last = isinstance(self.layer, nn.Linear)
        found = as_map(self.taken, channels_last=channels_last, image_size=image_size)
        return Place(self.name, found.shape[1], channels_last, (found.shape[2], found.shape[3]))


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards each module is in the mode that it was in.

    Autocast keeps no 16-bit weights of it: older versions of torch would take them, which are constants, for
    weights that learn in the same step.
    """
    modes = {module: module.training for module in network.modules()}
    device = next((parameter.device.type for parameter in network.parameters()), "cpu")
    uncached = torch.autocast(
        device,
        dtype=torch.get_autocast_dtype(device),
        enabled=torch.is_autocast_enabled(device),
        cache_enabled=False,
    )
    network.eval()
    try:
        with torch.no_grad(), uncached:
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def find_place(
    network: nn.Module, answer: Answer, images: Tensor, *, num_classes: int, at: str | None
) -> Place:
    """The layer named `at`, or else the last layer with K output channels on which the logits depend."""
    calls = _calls_of(network, answer, images)
    if at is not None:
        return _named_call(network, calls, at).place(images.shape[2:])
    candidates = [call for call in calls if _outputs_of(call.layer) == num_classes]
    # A layer from K to K channels refines or enlarges logits: the features are before that.
    candidates = [call for call in candidates if _inputs_of(call.layer) != num_classes] or candidates
    logits = answer(images)
    for call in reversed(candidates):  # heads that serve a loss of their own come last, and move no logit
        if _moves_logits(call.layer, answer, images, logits):
            return call.place(images.shape[2:])
    seen = [f"{call.name} makes {_outputs_of(call.layer)}" for call in calls if _outputs_of(call.layer)]
    raise UserError(
        f"found no layer that makes the logits' {num_classes} channels; the last of the network: "
        f"{', '.join(seen[-5:]) or 'none that is a convolution or linear'}; name the layer that reads the "
        "decoder's features with at="
    )


def _calls_of(network: nn.Module, answer: Answer, images: Tensor) -> list[_Call]:
    """Every layer that works in a forward pass, in the order in which they finish."""
    calls: list[_Call] = []

    def note(
        name: str,
        layer: nn.Module,
        arguments: tuple[object, ...],
        named: Mapping[str, object],
        output: object,
    ) -> None:
        calls.append(_Call(name, layer, _first_of(arguments, named)))

    with ExitStack() as hooks:
        for name, layer in network.named_modules():
            hooks.callback(layer.register_forward_hook(partial(note, name), with_kwargs=True).remove)
        answer(images)
    return calls


def _named_call(network: nn.Module, calls: list[_Call], at: str) -> _Call:
    """The last call of the layer of that name."""
    found = [call for call in calls if call.name == at]
    if found:
        return found[-1]
    names = [name for name, _ in network.named_modules() if name]
    if at in names:
        raise UserError(f"at: {at!r} takes no part when the network is called, so it reads no features")
    ends = list(dict.fromkeys(call.name for call in calls[-10:] if call.name))
    near = get_close_matches(at, names, n=3)
    raise UserError(f"at: the network has no layer {at!r}{did_you_mean(at, dict.fromkeys([*near, *ends]))}")


def _outputs_of(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
        return layer.out_channels
    return layer.out_features if isinstance(layer, nn.Linear) else None


def _inputs_of(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
        return layer.in_channels
    return layer.in_features if isinstance(layer, nn.Linear) else None


def _moves_logits(layer: nn.Module, answer: Answer, images: Tensor, logits: Tensor) -> bool:
    """Whether the logits change when this layer's output does."""

    def disturb(layer: nn.Module, arguments: tuple[object, ...], output: Tensor) -> Tensor:
        return output + torch.linspace(-1, 1, output.numel()).to(output).view_as(output)

    handle = layer.register_forward_hook(disturb)
    try:
        return not torch.equal(answer(images), logits)
    finally:
        handle.remove()


_MOST_EXTRA_TOKENS = 8
"""Class and register tokens of vision transformers stand before those of the image."""


class _Tap:
    """Keeps the tensor that a layer was last called with."""

    taken: object = None

    def __call__(self, layer: nn.Module, arguments: tuple[object, ...], named: Mapping[str, object]) -> None:
        self.taken = _first_of(arguments, named)


@contextmanager
def tapped(layer: nn.Module) -> Iterator[_Tap]:
    """Take what the layer reads during one forward pass.

    The hook lives for that pass only: a network between passes has none, so copies of it, its saved weights
    and its exports are those of the plain network.
    """
    tap = _Tap()
    handle = layer.register_forward_pre_hook(tap, with_kwargs=True)
    try:
        yield tap
    finally:
        handle.remove()


class _ReachedError(Exception):
    """A layer has answered; the rest of the forward pass is not wanted."""


def output_of(layer: nn.Module, network: nn.Module, images: Tensor) -> object:
    """What the layer answers within the network's forward pass, which ends there."""
    answers: list[object] = []

    def stop(layer: nn.Module, arguments: tuple[object, ...], output: object) -> None:
        answers.append(output)
        raise _ReachedError

    handle = layer.register_forward_hook(stop)
    try:
        network(images)
    except _ReachedError:
        return answers[0]
    finally:
        handle.remove()
    raise UserError(f"{type(network).__name__} gave an answer without asking its {type(layer).__name__}")


@contextmanager
def answering(layer: nn.Module, output: object) -> Iterator[None]:
    """Within it, the layer gives this output, whatever it is asked, and computes nothing."""
    layer.forward = lambda *arguments, **named: output
    try:
        yield
    finally:
        del layer.forward


def _first_of(arguments: Sequence[object], named: Mapping[str, object]) -> object:
    return next(iter((*arguments, *named.values())), None)


def as_map(taken: object, *, channels_last: bool, image_size: Sequence[int]) -> Tensor:
    """What a layer read -> (B, C, h, w): maps as they are, tokens (B, N, C) laid out like the image."""
    if isinstance(taken, Tensor) and taken.ndim == 4:
        return taken.movedim(3, 1) if channels_last else taken
    if isinstance(taken, Tensor) and taken.ndim == 3:
        num_extra, height, width = token_grid(taken.shape[1], image_size)
        tokens = taken[:, num_extra:]  # (B, h * w, C)
        return tokens.transpose(1, 2).reshape(len(tokens), -1, height, width)
    what = f"of shape {tuple(taken.shape)}" if isinstance(taken, Tensor) else type(taken).__name__
    raise UserError(
        f"the layer for the representation reads an input {what}, needs a map (B, C, h, w) or tokens "
        "(B, N, C); name another layer with at="
    )


def token_grid(num_tokens: int, image_size: Sequence[int]) -> tuple[int, int, int]:
    """How many tokens stand before those of the image, and the (h, w) of the rest."""
    aspect = image_size[1] / image_size[0]
    for num_extra in range(_MOST_EXTRA_TOKENS + 1):
        of_image = num_tokens - num_extra
        height = max(1, round(sqrt(max(0, of_image) / aspect)))
        width = max(1, round(height * aspect))
        if height * width == of_image:
            return num_extra, height, width
    raise UserError(
        f"{num_tokens} tokens cannot be laid out like an image of {image_size[0]}x{image_size[1]}; "
        "name a layer that reads a map (B, C, h, w) with at="
    )
