"""What a regional contrast asks of its settings and inputs, said before anything is computed."""

from __future__ import annotations

import torch
from torch import Tensor

from recoseg.errors import UserError, require_number
from recoseg.types import IGNORE

INTEGERS = (torch.uint8, torch.int16, torch.int32, torch.int64)


def check_above_zero(name: str, value: float) -> None:
    require_number(name, value)
    if not 0 < value < float("inf"):
        raise UserError(f"{name}: got {value!r}, needs a number above 0")


def check_probability(name: str, value: float) -> None:
    require_number(name, value)
    if not 0 <= value <= 1:
        raise UserError(f"{name}: got {value!r}, needs a probability from 0 to 1")


def check_share(name: str, value: float) -> None:
    require_number(name, value)
    if not 0 < value <= 1:
        raise UserError(f"{name}: got {value!r}, needs a share above 0, and at most 1")


def check_ignore_index(value: int) -> None:
    """255, or a number that no class can have: negative ones are usual elsewhere."""
    if not isinstance(value, int) or isinstance(value, bool) or 0 <= value < IGNORE:
        raise UserError(
            f"ignore_index: got {value!r}, needs {IGNORE} or more, or a negative number such as -100"
        )


def check_inputs(
    features: Tensor, labels: Tensor, probabilities: Tensor, generator: torch.Generator | None
) -> None:
    """Shapes, dtypes and devices. Values are checked later, together with what must be counted anyway."""
    _check_tensor("features", features, "(B, D, h, w)", 4)
    _check_tensor("labels", labels, "(B, h, w)", 3)
    _check_tensor("probabilities", probabilities, "(B, K, h, w)", 4)
    for name, tensor in (("features", features), ("probabilities", probabilities)):
        if not tensor.is_floating_point():
            raise UserError(f"{name}: got {tensor.dtype}, needs a floating point dtype")
    if labels.dtype not in INTEGERS:
        raise UserError(f"labels: got {labels.dtype}, needs an integer dtype such as torch.int64")
    _check_sizes(features, labels, probabilities)
    for name, device in (("labels", labels.device), ("probabilities", probabilities.device)):
        if device != features.device:
            raise UserError(f"{name}: got device {device}, needs that of the features, {features.device}")
    if generator is not None and not isinstance(generator, torch.Generator):
        raise UserError(f"generator: got {type(generator).__name__}, needs a torch.Generator")
    if generator is not None and generator.device.type != features.device.type:
        raise UserError(
            f"generator: got device {generator.device}, needs that of the features, {features.device}"
        )


def _check_tensor(name: str, value: object, shape: str, num_dimensions: int) -> None:
    if not isinstance(value, Tensor):
        raise UserError(f"{name}: got {type(value).__name__}, needs a tensor {shape}")
    if value.ndim != num_dimensions:
        raise UserError(f"{name}: got shape {tuple(value.shape)}, needs {shape}")


def _check_sizes(features: Tensor, labels: Tensor, probabilities: Tensor) -> None:
    num_images, num_channels, *size = features.shape
    if num_channels < 1:
        raise UserError(f"features: got shape {tuple(features.shape)}, needs at least one channel")
    if tuple(labels.shape) != (num_images, *size):
        raise UserError(
            f"labels: got shape {tuple(labels.shape)}, needs {(num_images, *size)}, the map of the features; "
            "recoseg.shrink_labels brings larger labels down"
        )
    num_classes = probabilities.shape[1]
    if tuple(probabilities.shape) != (num_images, num_classes, *size):
        expected = f"({num_images}, K, {size[0]}, {size[1]})"
        raise UserError(f"probabilities: got shape {tuple(probabilities.shape)}, needs {expected}")
    if num_classes < 2:
        raise UserError(
            f"probabilities: got {num_classes} class, needs at least two; "
            "for one foreground probability p give torch.cat([1 - p, p], dim=1)"
        )
