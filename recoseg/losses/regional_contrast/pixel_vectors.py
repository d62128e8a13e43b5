"""Feature maps as lists of pixels: the vectors of all pixels, or of chosen ones.

Pixel b * h * w + y * w + x is at row y and column x of image b.
"""

from __future__ import annotations

from torch import Tensor


def all_vectors(features: Tensor) -> Tensor:
    """(B, D, h, w) -> (P, D) with P = B * h * w: a view of channels_last features, else a copy."""
    return features.permute(0, 2, 3, 1).reshape(-1, features.shape[1])


def chosen_vectors(features: Tensor, pixels: Tensor) -> Tensor:
    """The vectors of `pixels` (...), which may repeat -> (..., D); differentiable in `features`."""
    # Unlike indexing, index_select adds the gradients of repeated pixels in the same order in every run.
    return all_vectors(features).index_select(0, pixels.flatten()).view(*pixels.shape, features.shape[1])
