"""Why a run ends before its time: numbers that are not finite, too little memory, somebody who asks it to."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn

from recoseg.errors import UserError, is_shortage
from recoseg.types import StepOutput

_REMEDY = "the last saved state is kept; a smaller optimiser.lr or train.clip 1 may help, in a new run"


def require_finite_loss(output: StepOutput, done: int, keys: Sequence[str]) -> None:
    """`done` counts iterations as the log does, from 1; `keys` are the images of the step."""
    if not torch.isfinite(output.loss):
        parts = ", ".join(f"{name} {value.item():g}" for name, value in output.parts.items())
        raise UserError(
            f"the loss is {output.loss.item()} at iteration {done} ({parts}) on images "
            f"{', '.join(keys)}; {_REMEDY}"
        )


def require_finite_weights(network: nn.Module, done: int) -> None:
    """A finite loss can have a gradient that is not; the loss would tell one iteration later."""
    for name, parameter in network.named_parameters():
        if not torch.isfinite(parameter).all():
            raise UserError(f"the weights {name} are not finite after iteration {done}; {_REMEDY}")


_REMEDIES = (
    "smaller steps need less: train.accumulate 2 (the same batch in two parts), train.labelled_per_step, "
    "augment.crop, or with the contrast fewer contrast.num_keys"
)


def peak_bytes(device: torch.device) -> int:
    """The most memory used so far: of the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def device_bytes(device: torch.device) -> int:
    """The memory that what lies on the device may have at most: the GPU's, or this process's."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return machine_bytes()


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
        raise UserError(f"out of memory; {_REMEDIES}. {kept}") from error


class Interrupted(KeyboardInterrupt):
    """Training was ended early on request, after a state was saved."""


class StopRequest:
    """Within it, a first Ctrl-C or SIGTERM sets `requested`; a second one ends at once.

    So does SIGHUP, which comes when the terminal is closed, and then more than once. Who ignores it, as nohup
    does, goes on.
    """

    def __init__(self) -> None:
        self.requested = False
        self.previous: dict[int, Any] = {}
        self.terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def __enter__(self) -> StopRequest:
        # Signals can only be caught in the main thread; elsewhere Ctrl-C keeps its usual meaning.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.previous[number] = signal.signal(number, self.request)
            if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                self.previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self.hang_up)
        return self

    def hang_up(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        for descriptor in self.terminals:
            if not os.isatty(descriptor):  # it is gone: whatever is said to it from now on would be an error
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)

    def request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)
