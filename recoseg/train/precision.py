"""Mixed precision: which numbers a step computes with, and the scaling that half precision needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """Autocast for a step and a gradient scaler for float16; in float32 both do nothing.

    "auto" is bfloat16 on GPUs that have it, float16 on others, and float32 on a CPU: there, others are slow.
    """

    def __init__(self, name: Literal["auto", "float32", "bfloat16", "float16"], device: torch.device) -> None:
        if name == "auto":
            name = "float32"
            if device.type == "cuda":
                name = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        self.name, self.dtype, self.device = name, PRECISIONS[name], device
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

    def update(self, optimisers: list[Optimizer], network: nn.Module, clip: float | None) -> None:
        """One step of each optimiser; the first one's network has its gradient cut to the norm `clip`."""
        if clip is not None:
            self.scaler.unscale_(optimisers[0])
            nn.utils.clip_grad_norm_(network.parameters(), clip)
        for optimiser in optimisers:
            self.scaler.step(optimiser)
        self.scaler.update()
