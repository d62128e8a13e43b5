"""Where a step is computed, and with which numbers: device and mixed precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.errors import UserError

_PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """Autocast for a step and a gradient scaler for float16; in float32 both do nothing.

    "auto" is bfloat16 on GPUs that have it, float16 on others, and float32 on a CPU.
    """

    def __init__(self, name: Literal["auto", "float32", "bfloat16", "float16"], device: torch.device) -> None:
        if name == "auto":
            name = "float32"
            if device.type == "cuda":
                name = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        self.name, self.dtype, self.device = name, _PRECISIONS[name], device
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.dtype is torch.float16)

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=self.dtype, enabled=self.dtype is not None)

    def backward(self, loss: Tensor) -> None:
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def state(self) -> dict[str, Any]:
        return self.scaler.state_dict()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Empty states are of runs without scaler: "auto" on another device may have one."""
        if state:
            self.scaler.load_state_dict(dict(state))

    def update(self, optimisers: Iterable[Optimizer], clip: float | None) -> None:
        """One step of each optimiser; the gradient of all its parameters is cut to the norm `clip`."""
        for optimiser in optimisers:
            if clip is not None:
                self.scaler.unscale_(optimiser)
                parameters = [one for group in optimiser.param_groups for one in group["params"]]
                nn.utils.clip_grad_norm_(parameters, clip)
            self.scaler.step(optimiser)
        self.scaler.update()


def require_gpu(precision: Precision) -> None:
    """`UserError` for 16 bits on a CPU: they make no step there faster, and some CPUs kill the process."""
    if precision.dtype is not None and precision.device.type == "cpu":
        raise UserError(
            f"train.precision {precision.name}: float16 and bfloat16 need a GPU; use train.precision float32"
        )


_DEVICES = ("cpu", "cuda")
"""Others lack what evaluation and contrast need: mps has no 64-bit floats."""


def choose_device(name: str, *, setting: str = "train.device") -> torch.device:
    """By its name; `setting` is where a person gave it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        device = None
    if device is None or device.type not in _DEVICES:
        raise UserError(
            f"{setting}: {name!r} cannot be used here; needs auto, cpu, cuda, or cuda:1 for the second GPU"
        )
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"{setting}: {name!r} cannot be used here: {str(error).splitlines()[0]}") from error
    return device
