"""Changes of colour of a whole batch at once, random for each image: jitter, greyscale, Gaussian blur."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.augment.to_device import send_together
from recoseg.errors import UserError

ColourChange = Callable[[Tensor, torch.Generator], Tensor]
"""(B, 3, H, W) in [0, 1] and a CPU generator -> the same."""

_LUMA = (0.299, 0.587, 0.114)
# RGB -> luma and two chroma axes (YIQ); a rotation of the chroma plane turns the hue.
YIQ = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.322), (0.211, -0.523, 0.312))
_LEAST_RADIUS = 4  # of a blur, 3.5 standard deviations of the paper's strongest


@dataclass(frozen=True, kw_only=True)
class ColourJitter:
    """Brightness, contrast, saturation and hue, as one 3x3 colour matrix for each image.

    The four act in this order with one clamp at the end, and the hue is turned in YIQ space instead of HSV:
    a single small matrix product, which a GPU and a CPU both do in one pass. Ranges are the paper's, times
    `strength`.
    """

    probability: float = 0.8
    brightness: float = 0.25
    contrast: float = 0.25
    saturation: float = 0.25
    hue: float = 0.25
    strength: float = 1.0

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """(B, 3, H, W) in [0, 1] -> the same. `generator` is a CPU one; the images may be anywhere."""
        count = images.shape[0]
        uniform = torch.rand(5, count, generator=generator)  # (5, B)
        on = (uniform[4] < self.probability).float()
        spread = self.strength * torch.tensor([self.brightness, self.contrast, self.saturation])[:, None]
        brightness, contrast, saturation = (1 + on * spread * (2 * uniform[:3] - 1)).to(images.dtype)
        angle = 2 * torch.pi * self.strength * self.hue * on * (2 * uniform[3] - 1)
        colour = hue_matrices(angle).to(images.dtype) @ saturation_matrices(saturation)  # (B, 3, 3)
        # contrast: x -> c * x + (1 - c) * grey, and grey itself is left alone by saturation and hue
        matrix = colour * (brightness * contrast)[:, None, None]
        luma = torch.tensor(_LUMA, dtype=images.dtype)
        matrix, brightness, rest, luma = send_together(matrix, brightness, 1 - contrast, luma, like=images)
        grey = brightness * (images.mean((2, 3)) @ luma)  # (B,) mean grey after the change of brightness
        offset = (rest * grey)[:, None, None]
        moved = torch.baddbmm(offset, matrix, images.flatten(2))  # (B, 3, H*W)
        return moved.view_as(images).clamp_(0, 1)


def saturation_matrices(saturation: Tensor) -> Tensor:
    """(B,) -> (B, 3, 3): a blend of each colour with its own grey."""
    luma = torch.tensor(_LUMA, dtype=saturation.dtype).expand(3, 3)
    identity = torch.eye(3, dtype=saturation.dtype)
    return saturation[:, None, None] * identity + (1 - saturation)[:, None, None] * luma


def hue_matrices(angle: Tensor) -> Tensor:
    """(B,) radians -> (B, 3, 3): RGB to YIQ, a turn of its chroma plane, and back."""
    turn = torch.zeros(len(angle), 3, 3)
    turn[:, 0, 0] = 1
    turn[:, 1, 1] = turn[:, 2, 2] = angle.cos()
    turn[:, 1, 2], turn[:, 2, 1] = -angle.sin(), angle.sin()
    yiq = torch.tensor(YIQ)
    matrices: Tensor = torch.linalg.inv(yiq) @ turn @ yiq
    return matrices


@dataclass(frozen=True, kw_only=True)
class Greyscale:
    """Takes all colour out of some images."""

    probability: float = 0.2

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """(B, 3, H, W) -> the same."""
        chosen = torch.rand(len(images), generator=generator) < self.probability
        if not chosen.any():
            return images
        luma = torch.tensor(_LUMA, dtype=images.dtype)
        chosen, luma = send_together(chosen.to(images.dtype), luma, like=images)
        grey = torch.einsum("bchw,c->bhw", images, luma)[:, None]  # (B, 1, H, W)
        return torch.where(chosen[:, None, None, None] > 0, grey, images)


@dataclass(frozen=True, kw_only=True)
class GaussianBlur:
    """Blur with a random width for each image."""

    probability: float = 0.5
    sigma: tuple[float, float] = (0.15, 1.15)

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """(B, 3, H, W) -> the same."""
        count, channels, height, width = images.shape
        uniform = torch.rand(2, count, generator=generator)
        chosen = (uniform[1] < self.probability).nonzero()[:, 0]
        if len(chosen) == 0:
            return images
        sigma = self.sigma[0] + (self.sigma[1] - self.sigma[0]) * uniform[0, chosen]
        radius = max(_LEAST_RADIUS, round(3.5 * self.sigma[1]))
        kernels = gaussian_kernels(sigma, radius).to(images.dtype)  # (chosen, taps)
        # numbers of images are exact in any float type up to 256
        numbers, kernels = send_together(chosen.to(images.dtype), kernels, like=images)
        chosen = numbers.long()
        kernels = kernels[:, None].expand(-1, channels, -1).flatten(0, 1)  # (chosen * 3, taps)
        planes = images[chosen].flatten(0, 1)  # (chosen * 3, H, W)
        blurred = _blurred_along(2, _blurred_along(1, planes, kernels), kernels)
        return images.index_copy(0, chosen, blurred.view(-1, channels, height, width))


def gaussian_kernels(sigma: Tensor, radius: int) -> Tensor:
    """(N,) -> (N, 2 * radius + 1), each summing to 1."""
    place = torch.arange(-radius, radius + 1, dtype=sigma.dtype)
    weights = torch.exp(-0.5 * (place / sigma[:, None]) ** 2)
    return weights / weights.sum(1, keepdim=True)


def _blurred_along(side: int, planes: Tensor, kernels: Tensor) -> Tensor:
    """Each plane of (N, H, W) filtered along one side by its own kernel of (N, taps).

    A sum of shifted copies: on a CPU faster than a convolution of so few channels.
    """
    size = planes.shape[side]
    margin = (kernels.shape[1] // 2,) * 2
    padded = F.pad(planes[None], (*margin, 0, 0) if side == 2 else (0, 0, *margin), mode="replicate")[0]
    result = torch.zeros_like(planes)
    for tap, weights in enumerate(kernels[:, :, None, None].unbind(1)):  # each (N, 1, 1)
        result.addcmul_(padded.narrow(side, tap, size), weights)
    return result


RandomChange = ColourJitter | Greyscale | GaussianBlur

PAPERS_COLOURS: tuple[ColourChange, ...] = (ColourJitter(), GaussianBlur())


def changed(images: Tensor, colours: Sequence[ColourChange], generator: torch.Generator) -> Tensor:
    """The images after all changes, one after the other."""
    for change in colours:
        images = change(images, generator)
    return images


def as_often(changes: Sequence[RandomChange], share: float) -> tuple[RandomChange, ...]:
    """The same changes, made to that share of the images that they would be made to."""
    if not 0 <= share <= 1:
        raise UserError(f"colours is a share of how often colours change, between 0 and 1, got {share:g}")
    return tuple(replace(change, probability=share * change.probability) for change in changes)
