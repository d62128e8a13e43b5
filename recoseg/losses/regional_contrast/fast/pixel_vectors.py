"""Feature maps read as lists of pixels: the vectors of chosen pixels, or of all, whatever the memory layout.

A pixel is numbered b * h * w + y * w + x. In a contiguous map the channels of one pixel lie h * w numbers
apart, in a channels_last map side by side; both are read in the order in which they lie in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def all_vectors(features: Tensor) -> Tensor:
    """(B, D, h, w) -> (P, D) with P = B * h * w: a view of channels_last features, else a copy."""
    by_pixel = features.permute(0, 2, 3, 1)  # (B, h, w, D)
    if not by_pixel.is_contiguous():
        by_pixel = _large_empty(by_pixel.shape, like=features).copy_(by_pixel)
    return by_pixel.view(-1, features.shape[1])


def chosen_vectors(features: Tensor, pixels: Tensor) -> Tensor:
    """The vectors of `pixels` (...), where repeats are allowed -> (..., D); differentiable in `features`."""
    vectors: Tensor = _ChosenVectors.apply(features, pixels.reshape(-1))  # type: ignore[no-untyped-call]
    return vectors.view(*pixels.shape, features.shape[1])


def lies_pixel_by_pixel(features: Tensor) -> bool:
    """True when the channels of a pixel are neighbours in memory: channels_last."""
    return features.permute(0, 2, 3, 1).is_contiguous()


class _ChosenVectors(torch.autograd.Function):
    """Indexing, with a gradient that has the layout of the features and is the same in every run.

    Plain indexing adds repeated pixels by atomics, in no fixed order, into a gradient whose layout then costs
    a copy of the whole map.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, pixels: Tensor) -> Tensor:
        ctx.save_for_backward(pixels)
        ctx.shape, ctx.by_pixel = features.shape, lies_pixel_by_pixel(features)
        if ctx.by_pixel:
            return all_vectors(features).index_select(0, pixels)
        ascending, order = pixels.sort(stable=True)  # one sweep through memory instead of random reads
        back = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        return read_pixels(features.flatten(2), ascending).index_select(0, back)  # (N, D)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (pixels,) = ctx.saved_tensors
        num_images, num_channels, height, width = ctx.shape
        if ctx.by_pixel:
            by_pixel = _large_zeros((num_images * height * width, num_channels), like=gradient)
            by_pixel.index_add_(0, pixels, gradient)
            return by_pixel.view(num_images, height, width, num_channels).permute(0, 3, 1, 2), None
        ascending, order = pixels.sort(stable=True)
        totals = _totals_of_equals(gradient.index_select(0, order), ascending)  # (N, D)
        result = _large_zeros(ctx.shape, like=gradient)
        write_pixels(result.flatten(2), ascending, totals)
        return result, None


def read_pixels(maps: Tensor, pixels: Tensor, *, by_image: bool | None = None) -> Tensor:
    """The vectors of ascending pixels (N,) of contiguous maps (B, D, h * w): (N, D).

    Image by image is quicker on a CPU; elsewhere, to know how many pixels each image has would cost a wait.
    """
    image, place = pixels // maps.shape[2], pixels % maps.shape[2]
    if not (maps.device.type == "cpu" if by_image is None else by_image):
        return maps.transpose(1, 2)[image, place]
    vectors = maps.new_empty(len(pixels), maps.shape[1])
    for one_map, places, rows in _images(maps, image, place, vectors):
        rows.copy_(one_map.gather(1, places).t())
    return vectors


def write_pixels(maps: Tensor, pixels: Tensor, vectors: Tensor, *, by_image: bool | None = None) -> None:
    """Puts vectors (N, D) at ascending pixels (N,) of maps (B, D, h * w); equal pixels have equal vectors."""
    image, place = pixels // maps.shape[2], pixels % maps.shape[2]
    if not (maps.device.type == "cpu" if by_image is None else by_image):
        maps.transpose(1, 2)[image, place] = vectors
        return
    for one_map, places, rows in _images(maps, image, place, vectors):
        one_map.scatter_(1, places, rows.t())


def _images(
    maps: Tensor, image: Tensor, place: Tensor, vectors: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """For each image: its map (D, h * w), the places wanted in it (D, n), and their vectors (n, D)."""
    counts = image.bincount(minlength=len(maps)).tolist()
    parts = zip(maps, torch.split(place, counts), torch.split(vectors, counts), strict=True)
    return ((one_map, places.expand(len(one_map), -1), rows) for one_map, places, rows in parts)


def _totals_of_equals(vectors: Tensor, numbers: Tensor) -> Tensor:
    """Row i becomes the sum of all rows whose number equals its own: (N, D), ascending (N,) -> (N, D)."""
    repeats = numbers[1:] == numbers[:-1]
    if repeats.device.type == "cpu" and not repeats.any():  # elsewhere, asking would cost a wait
        return vectors
    group = torch.zeros_like(numbers)
    group[1:] = (~repeats).cumsum(0)
    return torch.zeros_like(vectors).index_add_(0, group, vectors).index_select(0, group)


# New tensors as large as a feature map are, on a CPU, from numpy's memory: for large arrays numpy asks Linux
# for 2 MB pages, and for zeros takes pages that the kernel has zeroed; torch takes 4 kB pages and writes the
# zeros once more. For a map of 67 MB that is 7 ms against 20, and reads are quicker ever after.
_NUMPY_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}
_CACHE_LINE = 64  # bytes; numpy aligns to 16 only


def _large_zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Zeros with the dtype and device of `like`."""
    return _from_numpy(np.zeros, shape, like) if _is_for_numpy(like) else like.new_zeros(shape)


def _large_empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """Memory to be written to, with the dtype and device of `like`."""
    return _from_numpy(np.empty, shape, like) if _is_for_numpy(like) else like.new_empty(shape)


def _is_for_numpy(like: Tensor) -> bool:
    return like.device.type == "cpu" and like.dtype in _NUMPY_DTYPES


def _from_numpy(make: Callable[..., Any], shape: Sequence[int], like: Tensor) -> Tensor:
    num_numbers, item_size = math.prod(shape), like.element_size()
    memory = make(num_numbers + _CACHE_LINE // item_size, _NUMPY_DTYPES[like.dtype])
    first = -memory.ctypes.data % _CACHE_LINE // item_size
    return torch.from_numpy(memory[first : first + num_numbers]).view(*shape)
