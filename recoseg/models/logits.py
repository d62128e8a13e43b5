"""The logits in whatever a segmentation network returns."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from recoseg.errors import UserError

KEYS = ("out", "logits")


def logits_of(output: object, num_classes: int) -> Tensor:
    """(B, K, h, w) from a tensor, a dict with "out" (torchvision's), or an object with `.logits`."""
    found: object = output
    if isinstance(output, Mapping):
        found = next((output[key] for key in KEYS if key in output), output)
    elif not isinstance(output, Tensor):
        found = getattr(output, "logits", output)
    if not isinstance(found, Tensor):
        raise UserError(
            f"the network returns {described(found)}, needs a tensor of logits, a dict with 'out' or an "
            "object with .logits; wrap it in a module that returns its logits"
        )
    if found.ndim != 4:
        raise UserError(f"the network's logits have the shape {tuple(found.shape)}, needs (B, K, h, w)")
    if found.shape[1] != num_classes:
        raise UserError(
            f"the network's logits have {found.shape[1]} classes, their shape is {tuple(found.shape)}, but "
            f"num_classes is {num_classes}; build the network for {num_classes} classes"
        )
    return found


def described(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with {', '.join(map(repr, value)) or 'nothing in it'}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
