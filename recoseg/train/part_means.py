"""Running means of the parts of a loss, kept on their device so that most steps wait for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from recoseg.distributed import gather_over_processes, mean_over_processes, rank, world_size


class PartMeans:
    """Sums of parts and how often each was there: a part may begin later than others."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, int] = {}

    def state(self) -> dict[str, Any]:
        """The sums of all processes, (world,) each. All of them must call this."""
        sums = {name: gather_over_processes(value) for name, value in self.sums.items()}
        return {"sums": sums, "counts": dict(self.counts)}

    def restore(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Each process takes its own sums up; the mean of all where there are now more or fewer processes."""
        self.counts = dict(state["counts"])
        for name, values in state["sums"].items():
            own = values[rank()] if len(values) == world_size() else values.mean()
            self.sums[name] = own.to(device)

    def add(self, parts: Mapping[str, Tensor]) -> None:
        for name, value in parts.items():
            zero = torch.zeros((), device=value.device)
            self.sums[name] = self.sums.get(name, zero) + value.detach().float()
            self.counts[name] = self.counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        """The means so far, over all processes; counting starts anew."""
        if not self.sums:
            return {}
        values = torch.stack([value / self.counts[name] for name, value in self.sums.items()])
        means = dict(zip(self.sums, mean_over_processes(values).tolist(), strict=True))
        self.sums, self.counts = {}, {}
        return means
