"""Finding, by watching it work, where a network reads its decoder's features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.lookup import did_you_mean
from recoseg.models.feature_maps import as_map, first_of
from recoseg.models.sizes import Answer


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
class Call:
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
    """Eval mode without gradients; afterwards each module is in the mode that it was in."""
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def find_place(
    network: nn.Module, answer: Answer, images: Tensor, *, num_classes: int, at: str | None
) -> Place:
    """The layer named `at`, or else the last layer with K output channels on which the logits depend."""
    calls = calls_of(network, answer, images)
    if at is not None:
        return named_call(network, calls, at).place(images.shape[2:])
    candidates = [call for call in calls if outputs_of(call.layer) == num_classes]
    # A layer from K to K channels refines or enlarges logits: the features are before that.
    candidates = [call for call in candidates if inputs_of(call.layer) != num_classes] or candidates
    logits = answer(images)
    for call in reversed(candidates):  # heads that serve a loss of their own come last, and move no logit
        if moves_logits(call.layer, answer, images, logits):
            return call.place(images.shape[2:])
    seen = [f"{call.name} makes {outputs_of(call.layer)}" for call in calls if outputs_of(call.layer)]
    raise UserError(
        f"found no layer that makes the logits' {num_classes} channels; the last of the network: "
        f"{', '.join(seen[-5:]) or 'none that is a convolution or linear'}; name the layer that reads the "
        "decoder's features with at="
    )


def calls_of(network: nn.Module, answer: Answer, images: Tensor) -> list[Call]:
    """Every layer that works in a forward pass, in the order in which they finish."""
    calls: list[Call] = []

    def note(
        name: str,
        layer: nn.Module,
        arguments: tuple[object, ...],
        named: Mapping[str, object],
        output: object,
    ) -> None:
        calls.append(Call(name, layer, first_of(arguments, named)))

    with ExitStack() as hooks:
        for name, layer in network.named_modules():
            hooks.callback(layer.register_forward_hook(partial(note, name), with_kwargs=True).remove)
        answer(images)
    return calls


def named_call(network: nn.Module, calls: list[Call], at: str) -> Call:
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


def outputs_of(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
        return layer.out_channels
    return layer.out_features if isinstance(layer, nn.Linear) else None


def inputs_of(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
        return layer.in_channels
    return layer.in_features if isinstance(layer, nn.Linear) else None


def moves_logits(layer: nn.Module, answer: Answer, images: Tensor, logits: Tensor) -> bool:
    """Whether the logits change when this layer's output does."""

    def disturb(layer: nn.Module, arguments: tuple[object, ...], output: Tensor) -> Tensor:
        return output + torch.linspace(-1, 1, output.numel()).to(output).view_as(output)

    handle = layer.register_forward_hook(disturb)
    try:
        return not torch.equal(answer(images), logits)
    finally:
        handle.remove()
