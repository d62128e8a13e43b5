"""Several processes that train together: who am I, and what do we have in common?"""

from __future__ import annotations

import torch
import torch.distributed
from torch import Tensor


def world_size() -> int:
    """Processes that train together; 1 without torch.distributed."""
    return torch.distributed.get_world_size() if is_running() else 1


def rank() -> int:
    """The number of this process, from 0; the first one writes files."""
    return torch.distributed.get_rank() if is_running() else 0


def is_running() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def sum_over_processes(values: Tensor) -> Tensor:
    """The sum of every process's `values`. All of them must call this, or they wait for each other."""
    if world_size() == 1:
        return values.detach()
    total = values.detach().clone()
    torch.distributed.all_reduce(total)
    return total


def gather_over_processes(values: Tensor) -> Tensor:
    """Every process's `values`, one below the other: (...) -> (world, ...). All of them must call this."""
    if world_size() == 1:
        return values.detach()[None]
    gathered = [torch.empty_like(values) for _ in range(world_size())]
    torch.distributed.all_gather(gathered, values.detach().contiguous())
    return torch.stack(gathered)


def mean_over_processes(values: Tensor) -> Tensor:
    """The mean of every process's `values`.

    A loss divided by a *mean* count has the gradient of the joined batch once gradients are averaged.
    """
    return sum_over_processes(values) / world_size()
