"""How much memory a run has used, and what to say when there is not enough."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from recoseg.errors import UserError, is_shortage

REMEDIES = (
    "smaller steps need less: train.accumulate 2 (the same batch in two parts), train.labelled_per_step, "
    "augment.crop, or with the contrast contrast.keys shared and fewer contrast.num_keys"
)


def peak_bytes(device: torch.device) -> int:
    """The most memory used so far: of the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def explained_shortage(kept: str) -> Iterator[None]:
    """Turns running out of memory into one line that says what helps; `kept` says where the run stands."""
    try:
        yield
    except (RuntimeError, OSError, MemoryError) as error:
        if not is_shortage(error):
            raise
        raise UserError(f"out of memory; {REMEDIES}. {kept}") from error
