"""What a layer inside a network reads, taken during a forward pass, as a map (B, C, h, w)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import sqrt

from torch import Tensor, nn

from recoseg.errors import UserError

MOST_EXTRA_TOKENS = 8
"""Class and register tokens of vision transformers stand before those of the image."""


class Tap:
    """Keeps the tensor that a layer was last called with."""

    taken: object = None

    def __call__(self, layer: nn.Module, arguments: tuple[object, ...], named: Mapping[str, object]) -> None:
        self.taken = first_of(arguments, named)


@contextmanager
def tapped(layer: nn.Module) -> Iterator[Tap]:
    """Take what the layer reads during one forward pass.

    The hook lives for that pass only: a network between passes has none, so copies of it, its saved weights
    and its exports are those of the plain network.
    """
    tap = Tap()
    handle = layer.register_forward_pre_hook(tap, with_kwargs=True)
    try:
        yield tap
    finally:
        handle.remove()


def first_of(arguments: Sequence[object], named: Mapping[str, object]) -> object:
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
    for num_extra in range(MOST_EXTRA_TOKENS + 1):
        of_image = num_tokens - num_extra
        height = max(1, round(sqrt(max(0, of_image) / aspect)))
        width = max(1, round(height * aspect))
        if height * width == of_image:
            return num_extra, height, width
    raise UserError(
        f"{num_tokens} tokens cannot be laid out like an image of {image_size[0]}x{image_size[1]}; "
        "name a layer that reads a map (B, C, h, w) with at="
    )
