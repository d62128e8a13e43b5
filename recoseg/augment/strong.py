"""The strong view of an unlabelled batch: what the student sees of crops that the teacher saw plain.

Image, labels and confidence move together. An enlarged image shows a box of the old one; a shrunk one lies at
the top left and is padded at the bottom and right: images by reflection, labels by IGNORE. The pixel grid is
that of `crop.py`, and of `F.interpolate` with `bilinear` and `nearest-exact`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.augment.colour import PAPERS_COLOURS, ColourChange, changed
from recoseg.augment.mix import OF_TWO_IMAGES, Mix, classmix, no_mix
from recoseg.errors import UserError
from recoseg.types import IGNORE, Batch, PseudoLabels


class StrongView:
    """Random scale and crop, mix, changes of colour and flip, in the paper's order.

    Known labels override the teacher's after scaling, which moves them as points so that none gets lost, and
    before the mix, which pastes them like any other label.
    """

    def __init__(
        self,
        *,
        scale: tuple[float, float] = (1.0, 1.0),
        mix: Mix = classmix,
        colours: Sequence[ColourChange] = PAPERS_COLOURS,
        flip: float = 0.5,
    ) -> None:
        self.view, self.flip = RandomView(scale=scale), RandomFlip(probability=flip)
        self.mix, self.colours = mix, tuple(colours)

    @property
    def least_images(self) -> int:
        """How many it needs at once to do what its mix says."""
        return 2 if self.mix in OF_TWO_IMAGES else 1

    def in_place(self) -> StrongView:
        """Its changes of colour alone: nothing is scaled, mixed or mirrored, soft answers stay put."""
        return StrongView(mix=no_mix, colours=self.colours, flip=0.0)

    def of_batch(self, unlabelled: Batch, generator: torch.Generator) -> Batch:
        """The same of images that nobody has labelled yet: known labels and padding move with them."""
        nothing = PseudoLabels(
            torch.zeros_like(unlabelled.labels), torch.zeros_like(unlabelled.images[:, 0])
        ).within(unlabelled.inside)
        images, seen = self(unlabelled.images, nothing, unlabelled.labels, generator)
        known = seen.labels.where(seen.confidence == 1, IGNORE)
        return replace(unlabelled, images=images, labels=known, inside=seen.labels != IGNORE)

    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        """Images (B, 3, H, W) in [0, 1], the teacher's labels of them and the `known` ones (B, H, W), which
        are IGNORE where a pixel has none and None where there is none at all -> images and labels to learn.
        """
        with torch.autocast(images.device.type, enabled=False):  # whole precision, as labelled images have
            return self._altered(images, pseudo, known, generator)

    def _altered(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        images, pseudo, known = self.view(images, pseudo, known, generator)
        if known is not None:
            pseudo = pseudo.overridden_by(known)
        images, pseudo = self.mix(images, pseudo, generator)
        images = changed(images, self.colours, generator)
        return self.flip(images, pseudo, generator)


@dataclass(frozen=True)
class Span:
    """Along one side of each image: `length` old pixels from `start` on become the first `target` new ones.

    The side itself is `size` pixels long, before and after.
    """

    size: int
    start: Tensor  # (B, 1) int64, as the others
    length: Tensor
    target: Tensor

    def coordinates(self, dtype: torch.dtype) -> Tensor:
        """(B, size) float: where in the old image, in pixels, each new pixel is read."""
        period = (2 * self.target - 2).clamp(min=1)
        index = self.pixels() % period
        mirrored = torch.minimum(index, period - index)  # 0, 1, ..., target - 1, and back and forth again
        place = ((2 * mirrored + 1) * self.length).to(dtype) / (2 * self.target) - 0.5
        return self.start + torch.minimum(place.clamp(min=0), self.length - 1)

    def nearest(self) -> Tensor:
        """(B, size): the old pixel that each new pixel's centre lies in; meaningless from `target` on."""
        old = (2 * self.pixels() + 1) * self.length // (2 * self.target)  # whole numbers: nothing to round
        return self.start + torch.minimum(old, self.length - 1)

    def places(self) -> Tensor:
        """(B, size): the new pixel that each old pixel's centre falls into; -1 outside the box."""
        old = self.pixels() - self.start
        return torch.where(
            (old >= 0) & (old < self.length), (2 * old + 1) * self.target // (2 * self.length), -1
        )

    def inside(self) -> Tensor:
        """(B, size) bool: which new pixels show the image, not padding."""
        return self.pixels() < self.target

    def pixels(self) -> Tensor:
        return torch.arange(self.size, device=self.start.device)


@dataclass(frozen=True, kw_only=True)
class RandomView:
    """Scales each image by its own factor between `scale[0]` and `scale[1]`; the batch keeps its size."""

    scale: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if not 0 < self.scale[0] <= self.scale[1]:
            raise UserError(f"scale needs 0 < low <= high, got {self.scale[0]:g},{self.scale[1]:g}")

    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels, Tensor | None]:
        """(B, 3, H, W), its pseudo-labels and its few `known` labels (B, H, W) -> the same of the view.

        The known ones move as points: each labelled pixel in view becomes exactly one labelled pixel.
        """
        if self.scale == (1.0, 1.0):
            return images, pseudo, known
        rows, columns = self.draw(images, generator)
        viewed = viewed_images(images, rows, columns), viewed_pseudo(pseudo, rows, columns)
        return *viewed, None if known is None else viewed_points(known, rows, columns)

    def draw(self, images: Tensor, generator: torch.Generator) -> tuple[Span, Span]:
        """What each image's rows and columns become."""
        low, high = self.scale
        uniform = torch.rand(3, images.shape[0], 1, generator=generator, dtype=torch.float64)
        scale = low + (high - low) * uniform[0]  # (B, 1)
        height, width = images.shape[2:]
        drawn = torch.stack([*_draw_span(height, scale, uniform[1]), *_draw_span(width, scale, uniform[2])])
        numbers = drawn.to(images.device, non_blocking=True)  # (6, B, 1)
        return Span(height, *numbers[:3]), Span(width, *numbers[3:])


def _draw_span(size: int, scale: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Start, length and target of a side at each scale, at a uniformly random place."""
    length = (size / scale).round().clamp(1, size).long()
    target = (size * scale).round().clamp(1, size).long()
    start = (uniform * (size - length + 1)).long()
    return start, length, target


def viewed_images(images: Tensor, rows: Span, columns: Span) -> Tensor:
    """(B, 3, H, W) -> the same: bilinear, padded by reflection.

    Not antialiased: two neighbours a side leave no pixel out down to half the size, the paper's least.
    """
    # grid_sample counts from -1 to 1 over the whole side.
    down = (2 * rows.coordinates(images.dtype) + 1) / rows.size - 1  # (B, H)
    across = (2 * columns.coordinates(images.dtype) + 1) / columns.size - 1  # (B, W)
    shape = (len(images), rows.size, columns.size)
    grid = torch.stack([across[:, None].expand(shape), down[:, :, None].expand(shape)], 3)  # (B, H, W, 2)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def viewed_pseudo(pseudo: PseudoLabels, rows: Span, columns: Span) -> PseudoLabels:
    """The nearest pixel's label and confidence; IGNORE and 0 in the padding."""
    image = torch.arange(len(pseudo.labels), device=pseudo.labels.device) * (rows.size * columns.size)
    index = image[:, None, None] + rows.nearest()[:, :, None] * columns.size + columns.nearest()[:, None]
    padding = ~(rows.inside()[:, :, None] & columns.inside()[:, None])  # (B, H, W)
    labels = pseudo.labels.take(index).masked_fill_(padding, IGNORE)
    confidence = pseudo.confidence.take(index).masked_fill_(padding, 0)
    return replace(pseudo, labels=labels, confidence=confidence)


def viewed_points(known: Tensor, rows: Span, columns: Span) -> Tensor:
    """(B, H, W) labels of a few pixels -> the same. Where several fall into one, the first by rows stays."""
    row, column = rows.places()[:, :, None], columns.places()[:, None]  # (B, H, 1), (B, 1, W)
    in_view = (row >= 0) & (column >= 0) & (known != IGNORE)
    place = (row * columns.size + column).clamp_(min=0).flatten(1)  # (B, H * W)
    # The order of rivals and their label in one number: the least wins, on every device alike.
    num_labels, num_pixels = IGNORE + 1, place.shape[1]
    order = torch.arange(num_pixels, device=known.device) * num_labels
    nothing = num_pixels * num_labels + IGNORE
    rivals = (order + known.flatten(1)).masked_fill_(~in_view.flatten(1), nothing)
    first = torch.full_like(rivals, nothing).scatter_reduce_(1, place, rivals, "amin")
    return (first % num_labels).view_as(known)


@dataclass(frozen=True, kw_only=True)
class RandomFlip:
    """Mirrors each image, its labels and their confidence with the given probability."""

    probability: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise UserError(f"the probability of a flip lies between 0 and 1, not at {self.probability:g}")

    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        """(B, 3, H, W) and its pseudo-labels -> the same."""
        chosen = torch.rand(len(images), generator=generator) < self.probability
        if not chosen.any():
            return images, pseudo
        chosen = chosen.to(images.device, non_blocking=True)[:, None, None]  # (B, 1, 1)
        labels = torch.where(chosen, pseudo.labels.flip(2), pseudo.labels)
        confidence = torch.where(chosen, pseudo.confidence.flip(2), pseudo.confidence)
        flipped = torch.where(chosen[..., None], images.flip(3), images)
        return flipped, replace(pseudo, labels=labels, confidence=confidence)
