"""How much memory a run has used, and what to say when there is not enough."""

from __future__ import annotations

import os
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


def machine_bytes() -> int:
    """The memory that this process may have at most."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return whole if allowed == resource.RLIM_INFINITY else min(whole, allowed)


@contextmanager
def explained_shortage(kept: str) -> Iterator[None]:
    """Turns running out of memory into one line that says what helps; `kept` says where the run stands."""
    try:
        yield
    except (RuntimeError, OSError, MemoryError) as error:
        if not is_shortage(error):
            raise
        raise UserError(f"out of memory; {REMEDIES}. {kept}") from error
