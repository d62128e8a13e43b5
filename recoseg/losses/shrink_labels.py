"""Labels and masks brought down to the size of a feature map, so that sparse labels survive."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.losses.regional_contrast.checks import INTEGERS
from recoseg.types import IGNORE


def shrink_labels(
    labels: Tensor, size: Sequence[int], *, sparse: bool = False, mask: Tensor | None = None
) -> Tensor:
    """Shrink labels to the size of a feature map, for pixels that take part in Eq. 2 of the paper.

    Dense labels: each cell takes the pixel at its centre. Sparse labels: each labelled pixel goes to the cell
    that it lies in, because centres alone would lose most single pixels (15 of 16 at stride 4). Of several
    pixels in a cell, the class with the fewest labelled pixels in the image wins; then the pixel nearest to
    the centre, then the upper, then the left one.

    Args:
        labels: (B, H, W) integers, 255 where a pixel has no label.
        size: (h, w) of the feature map, at most (H, W).
        sparse: Whether single pixels are labelled (partial labels, section 4.1).
        mask: (B, H, W) bool. Only pixels in it take part, such as those with a confidence of at least
            delta_w (section 3.3).

    Returns:
        (B, h, w) labels of the same type, 255 where a cell has none.

    Raises:
        UserError: Shapes or types do not fit, or a sparse label is negative.

    Example:
        >>> import torch
        >>> from recoseg import shrink_labels
        >>> labels = torch.full((1, 4, 4), 255)
        >>> labels[0, 0, 3] = 7
        >>> shrink_labels(labels, (2, 2)).tolist()
        [[[255, 255], [255, 255]]]
        >>> shrink_labels(labels, (2, 2), sparse=True).tolist()
        [[[255, 7], [255, 255]]]
    """
    _check(labels, size, mask)
    if mask is not None:
        labels = labels.where(mask, IGNORE)
    if tuple(labels.shape[1:]) == tuple(size):
        return labels
    if sparse and len(labels):
        return _shrink_points(labels, size)
    rows, columns = (_centres(n, m, labels.device) for n, m in zip(labels.shape[1:], size, strict=True))
    return labels[:, rows[:, None], columns]


def _centres(length: int, num_cells: int, device: torch.device) -> Tensor:
    """The pixel at the centre of each cell, in whole numbers: no rounding can shift it. (m,)"""
    return (2 * torch.arange(num_cells, device=device) + 1) * length // (2 * num_cells)


def _shrink_points(labels: Tensor, size: Sequence[int]) -> Tensor:
    """Each cell takes the best of the labelled pixels in it: rarity of class, then distance, then place."""
    num_images, num_cells = len(labels), size[0] * size[1]
    cells, distances = _cells(labels, size)  # (H * W,), twice
    flat = labels.flatten(1).long()  # (B, H * W)
    worst = torch.iinfo(torch.int64).max
    cost = _rarity(flat) * (distances.max() + 1) + distances
    cost = cost.masked_fill(flat == IGNORE, worst)

    cells = cells.expand_as(flat)
    lowest = flat.new_full((num_images, num_cells), worst).scatter_reduce_(1, cells, cost, "amin")
    pixel = torch.arange(flat.shape[1], device=labels.device).expand_as(flat)
    pixel = pixel.where(cost == lowest.gather(1, cells), worst)
    first = flat.new_full((num_images, num_cells), worst).scatter_reduce_(1, cells, pixel, "amin")
    return labels.flatten(1).gather(1, first).view(num_images, *size)


def _cells(labels: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """For each pixel (H * W,): the cell it lies in, and its squared distance from the centre of that cell."""
    along: list[tuple[Tensor, Tensor]] = []
    for length, num_cells in zip(labels.shape[1:], size, strict=True):
        place = torch.arange(length, device=labels.device)
        cell = place * num_cells // length
        along.append((cell, (place - _centres(length, num_cells, labels.device)[cell]) ** 2))
    (rows, vertical), (columns, horizontal) = along
    return (rows[:, None] * size[1] + columns).flatten(), (vertical[:, None] + horizontal).flatten()


def _rarity(flat: Tensor) -> Tensor:
    """How many pixels of its image have the label of a pixel: (B, H * W) -> (B, H * W)."""
    # Only a CPU checks this: another device would make the host wait.
    if flat.device.type == "cpu" and (lowest := int(flat.min())) < 0:
        raise UserError(f"labels: got {lowest}, needs classes from 0, and {IGNORE} where there is no label")
    bins = flat.clamp(0, IGNORE)
    counts = flat.new_zeros(len(flat), IGNORE + 1)
    return counts.scatter_add_(1, bins, torch.ones_like(bins)).gather(1, bins)


def _check(labels: Tensor, size: Sequence[int], mask: Tensor | None) -> None:
    for name, given in (("labels", labels), *([] if mask is None else [("mask", mask)])):
        if not isinstance(given, Tensor):
            raise UserError(f"{name}: got {type(given).__name__}, needs a tensor (B, H, W)")
    if not isinstance(size, Sequence) or not all(hasattr(side, "__index__") for side in size):
        raise UserError(f"size: got {size!r:.100}, needs (h, w), two whole numbers")
    if labels.ndim != 3 or labels.dtype not in INTEGERS:
        raise UserError(f"labels: got {labels.dtype} {tuple(labels.shape)}, needs integers (B, H, W)")
    large = tuple(labels.shape[1:])
    if len(size) != 2 or not (1 <= size[0] <= large[0] and 1 <= size[1] <= large[1]):
        raise UserError(
            f"size: got {tuple(size)}, needs (h, w), each from 1 to the size of the labels, {large}"
        )
    if mask is not None and (mask.dtype != torch.bool or mask.shape != labels.shape):
        raise UserError(f"mask: got {mask.dtype} {tuple(mask.shape)}, needs torch.bool {tuple(labels.shape)}")
