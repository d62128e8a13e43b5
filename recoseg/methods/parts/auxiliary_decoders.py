"""The auxiliary decoders of CCT: each reads the map of the main decoder with a perturbation of its own.

A decoder is one 1x1 convolution. So what hides cells can be done to its answer, and what hides channels to
its weights: one product of matrices serves all decoders of a kind, and the map is copied for few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recoseg.methods.parts.adversarial_direction import adversarial_direction
from recoseg.methods.parts.guided_cutout import kept_by_guided_cutout
from recoseg.seeds import generator_on

_DROPOUT = 0.5
_PEAKS = (0.7, 0.9)  # of the highest mean over channels
_NOISE = 0.3


@dataclass(frozen=True)
class _Seen:
    """What decoders have to go by, beside their weights."""

    decoded: Tensor  # (B, C, h, w)
    inside: Tensor  # (B, h, w) bool: cells that show the image, not padding
    objects: Tensor  # (B, h, w) bool: cells where the main decoder sees another class than the background
    radius: float
    generator: torch.Generator  # on the CPU, for few numbers
    many: torch.Generator  # on the map's device

    @property
    def cells(self) -> Tensor:
        """(B, C, P)."""
        return self.decoded.flatten(2)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.many, device=self.decoded.device)


class AuxiliaryDecoders(nn.Module):
    """A map (B, C, h, w) -> logits (B, N, K, h, w) of N decoders; `counts` says how many of each kind.

    - `dropout`: each channel is 0 with a chance of a half, else doubled;
    - `feature_drop`: cells whose mean over channels is at least U(0.7, 0.9) of the highest are 0;
    - `feature_noise`: each value is multiplied by 1 + U(-0.3, 0.3), the same in all images;
    - `vat`: the map is moved by `radius` to where this decoder's own answer changes most;
    - `guided_cutout`: 40 % x 40 % of the bounding box of each object is 0;
    - `context_masking`, `object_masking`: all but objects, or all objects, are 0.

    Objects are what the main decoder takes for another class than `background`.
    """

    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        counts: Mapping[str, int],
        background: int | None = None,
        radius: float = 2.0,
    ) -> None:
        super().__init__()
        self.counts = {kind: counts[kind] for kind in _KINDS if counts.get(kind)}
        self.background, self.radius = background, radius
        total = sum(self.counts.values())
        self.weight = nn.Parameter(torch.empty(total, num_classes, channels))
        self.bias = nn.Parameter(torch.zeros(total * num_classes))  # of one dimension, as biases are
        nn.init.normal_(self.weight, std=0.01)  # as in the classifier: all classes about as likely at first
        self.encoder = nn.Identity()  # for the optimiser: all else are heads, and learn at their rate

    def forward(
        self, decoded: Tensor, probabilities: Tensor, inside: Tensor, generator: torch.Generator
    ) -> Tensor:
        """`probabilities` (B, K, h, w) are the main decoder's; cells `inside` (B, h, w) show the image."""
        objects = inside
        if GUIDED & self.counts.keys():
            assert self.background is not None
            objects = probabilities.argmax(1) != self.background
        many = generator_on(decoded.device, generator)
        seen = _Seen(decoded, inside, objects, self.radius, generator, many)
        sizes = list(self.counts.values())
        weights = torch.split(self.weight, sizes)
        biases = torch.split(self.bias.view(len(self.weight), -1, 1), sizes)
        answers = [
            _KINDS[kind](seen, weight, bias)
            for kind, weight, bias in zip(self.counts, weights, biases, strict=True)
        ]
        return torch.cat(answers, 1).view(len(decoded), -1, *probabilities.shape[1:])


def _answer(weight: Tensor, cells: Tensor) -> Tensor:
    """(n, K, C) or (B, n, K, C), and (B, C, P) -> (B, n, K, P)."""
    return (weight.flatten(-3, -2) @ cells).view(len(cells), *weight.shape[-3:-1], -1)


def _dropout(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    kept = seen.uniform(len(seen.decoded), len(weight), 1, weight.shape[2]) >= _DROPOUT  # (B, n, 1, C)
    return _answer(weight * kept / (1 - _DROPOUT), seen.cells) + bias


def _feature_drop(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    means = seen.decoded.detach().float().mean(1)  # (B, h, w)
    highest = means.masked_fill(~seen.inside, -torch.inf).amax((1, 2))  # (B,)
    share = _PEAKS[0] + (_PEAKS[1] - _PEAKS[0]) * seen.uniform(len(weight), 1, 1)
    return _of_cells(means[:, None] < share * highest[:, None, None, None], seen, weight, bias)


def _feature_noise(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    noise = seen.uniform(len(weight), *seen.cells.shape[1:]).mul_(2 * _NOISE).add_(1 - _NOISE)  # (n, C, P)
    return weight @ (seen.cells[:, None] * noise) + bias


def _vat(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    fixed, fixed_bias, count = weight.detach(), bias.detach(), len(weight)
    height, width = seen.decoded.shape[2:]

    def answer(maps: Tensor) -> Tensor:
        """(B * n, C, h, w), the maps of all decoders image by image -> (B * n, K, h, w)."""
        logits = fixed @ maps.view(-1, count, maps.shape[1], height * width) + fixed_bias  # (B, n, K, P)
        return logits.view(len(maps), -1, height, width)

    with torch.no_grad(), torch.autocast(seen.decoded.device.type, enabled=False):
        maps = seen.decoded.detach().float().repeat_interleave(count, 0)
        target = answer(maps).softmax(1)
    direction = adversarial_direction(
        answer, maps, target, generator=seen.generator, inside=seen.inside.repeat_interleave(count, 0)
    )
    shift = seen.radius * direction.view(-1, count, maps.shape[1], height * width)  # (B, n, C, P)
    return weight @ (seen.cells[:, None] + shift) + bias


def _guided_cutout(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    kept = kept_by_guided_cutout(seen.objects & seen.inside, len(weight), seen.generator)
    return _of_cells(kept, seen, weight, bias)


def _context_masking(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    return _of_cells(seen.objects[:, None], seen, weight, bias)


def _object_masking(seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    return _of_cells(~seen.objects[:, None], seen, weight, bias)


def _of_cells(kept: Tensor, seen: _Seen, weight: Tensor, bias: Tensor) -> Tensor:
    """The answers where all cells are 0 but those `kept` (B, n or 1, h, w)."""
    return _answer(weight, seen.cells) * kept.flatten(2)[:, :, None] + bias


_KINDS: dict[str, Callable[[_Seen, Tensor, Tensor], Tensor]] = {
    "dropout": _dropout,
    "feature_drop": _feature_drop,
    "feature_noise": _feature_noise,
    "guided_cutout": _guided_cutout,
    "vat": _vat,
    "context_masking": _context_masking,
    "object_masking": _object_masking,
}
"""Weights (n, K, C) and biases (n, K, 1) of a kind's decoders -> their answers (B, n, K, P)."""

GUIDED = {"guided_cutout", "context_masking", "object_masking"}
"""Kinds that have to know what is an object: they need a background class."""
