"""Class activation maps, refined by attention: where a classifier of whole images sees its classes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.losses.consistency import cells_inside
from recoseg.models.bilinear import resize
from recoseg.models.layer_taps import undisturbed
from recoseg.models.network import SegmentationNetwork

_WIDTH = 128  # of queries and keys
_TRIED = (64, 64)  # pixels of the image that tells what maps an encoder gives


class ActivationMaps(nn.Module):
    """A classifier on the mean of the deepest map, and the logits (B, K, h, w) that its activations give.

    The classifier is linear, so the activation of a class in a cell is its weights times the cell, cut at 0;
    of classes that are not in the image, 0; divided by its largest value in the image. Each cell adds to that
    the activations of the cells that it attends to. Background is 2, the most that can be, less the largest
    activation; data without a `background` have a map for every class, and no such rest. A 1x1 convolution
    with BatchNorm makes logits of it.

    Activations and what attention reads are constants: only the mean of the deepest map teaches the encoder.
    """

    things: Tensor

    def __init__(self, channels: Sequence[int], num_classes: int, *, background: int | None = None) -> None:
        """`channels` of the encoder's maps; the last two are what attention reads."""
        super().__init__()
        things = [k for k in range(num_classes) if k != background]
        self.background = background
        self.register_buffer("things", torch.tensor(things), persistent=False)  # (T,)
        self.classifier = nn.Linear(channels[-1], len(things))
        self.query = nn.Conv2d(sum(channels[-2:]), _WIDTH, 1, bias=False)
        self.key = nn.Conv2d(sum(channels[-2:]), _WIDTH, 1, bias=False)
        self.refine = nn.Sequential(nn.Conv2d(num_classes, num_classes, 1), nn.BatchNorm2d(num_classes))
        self.encoder = nn.Identity()  # for the optimiser: all else are heads, and learn at their rate

    def scores(self, deepest: Tensor, inside: Tensor | None) -> Tensor:
        """(B, C, h, w) -> logits (B, T) of which classes, but background, the image shows."""
        shown = _cells(deepest, inside)
        mean = (deepest.float() * shown).sum((2, 3)) / shown.sum((2, 3)).clamp(min=1)
        scores: Tensor = self.classifier(mean)
        return scores.float()

    def present_in(self, labels: Tensor) -> Tensor:
        """(B, H, W) -> (B, T) bool: classes with a labelled pixel, but background."""
        return (labels[:, None] == self.things[:, None, None]).flatten(2).any(2)

    def forward(self, maps: Sequence[Tensor], inside: Tensor | None, present: Tensor) -> Tensor:
        """Maps (B, C, h, w) from fine to deep, `inside` (B, H, W), classes `present` (B, T) -> logits."""
        deepest = maps[-1]
        shown = _cells(deepest, inside)  # (B, 1, h, w)
        activation = self._activations(deepest.detach().float(), shown, present)  # (B, T, h, w)
        size = (deepest.shape[2], deepest.shape[3])
        read = torch.cat([resize(one.detach(), size) for one in maps[-2:]], 1)
        queries, keys, values = (
            one.flatten(2).mT[:, None] for one in (self.query(read), self.key(read), activation)
        )
        with torch.autocast(values.device.type, enabled=False):  # queries and keys (B, 1, h * w, 128)
            bias = values.new_zeros(()).where(shown.flatten(2) > 0, torch.finfo(values.dtype).min / 2)
            attended = F.scaled_dot_product_attention(
                queries.float(),
                keys.float(),
                values,
                attn_mask=bias[:, :, None].expand(-1, -1, values.shape[2], -1),
            )
        refined = (values + attended)[:, 0].mT.unflatten(2, size)  # (B, T, h, w)
        if self.background is not None:
            rest = 2 - refined.amax(1, keepdim=True)
            refined = torch.cat([refined[:, : self.background], rest, refined[:, self.background :]], 1)
        logits: Tensor = self.refine(refined)
        return logits.float()

    @torch.no_grad()
    def _activations(self, deepest: Tensor, shown: Tensor, present: Tensor) -> Tensor:
        """(B, C, h, w), (B, 1, h, w), (B, T) -> (B, T, h, w) from 0 to 1."""
        with torch.autocast(deepest.device.type, enabled=False):
            raw = F.conv2d(deepest, self.classifier.weight[:, :, None, None]).relu() * shown
            raw = raw * present[:, :, None, None]
            return raw / raw.amax((2, 3), keepdim=True).clamp(min=1e-12)


def map_channels(student: nn.Module) -> list[int]:
    """The channels of the maps that the encoder gives, which must be maps."""
    if not isinstance(student, SegmentationNetwork):
        raise UserError(
            f"pseudoseg works between encoder and decoder, and {type(student).__name__} tells no encoder: "
            "take deeplab_v3_plus or deeplab_v2, or another method"
        )
    first = next(student.parameters())
    with undisturbed(student):
        maps = student.encode(torch.zeros(1, 3, *_TRIED, device=first.device)).maps
    if any(one.ndim != 4 for one in maps[-2:]):
        raise UserError(
            f"pseudoseg needs an encoder of maps (B, C, h, w), and that of {type(student).__name__} gives "
            f"{tuple(maps[-1].shape)}: take deeplab_v3_plus or deeplab_v2, or another method"
        )
    return [one.shape[1] for one in maps]


def _cells(like: Tensor, inside: Tensor | None) -> Tensor:
    """(B, 1, h, w) float: 1 in cells that show the image, 0 in padding."""
    cells = cells_inside(inside, (like.shape[2], like.shape[3]))
    if cells is None:
        return like.new_ones(len(like), 1, *like.shape[2:], dtype=torch.float)
    return cells[:, None].float()
