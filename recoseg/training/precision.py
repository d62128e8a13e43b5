"""Mixed precision: which numbers a step computes with, and whether this CPU can.

That is tried in a child process, since some processors kill one for 16-bit numbers.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.errors import UserError
from recoseg.files import write_whole

_PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """Autocast for a step and a gradient scaler for float16; in float32 both do nothing.

    "auto" is bfloat16 on GPUs that have it, float16 on others, and float32 on a CPU: there, others are slow.
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


# The layers of networks, forward and backward, in both orders of memory that a run can have.
_PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a process that may die here leaves no dump of its memory

import sys
import torch
from torch import nn

network = nn.Sequential(
    nn.Conv2d(3, 32, 3, stride=2, padding=1),
    nn.Conv2d(32, 32, 3, padding=2, dilation=2, groups=32),
    nn.Conv2d(32, 64, 3, padding=1),
    nn.Conv2d(64, 32, 1),
    nn.Flatten(),
    nn.Linear(32 * 16 * 16, 2),
)
for order in (torch.contiguous_format, torch.channels_last):
    network.to(memory_format=order)
    with torch.autocast("cpu", dtype=getattr(torch, sys.argv[1])):
        answer = network(torch.rand(2, 3, 32, 32).to(memory_format=order))
    answer.float().mean().backward()
    if not all(parameter.grad.isfinite().all() for parameter in network.parameters()):
        sys.exit("it gave numbers that are not finite")
"""
_SECONDS = 300
_COMPUTES = "computes"
_ANSWERS = (_COMPUTES, "SIGILL", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE")  # those that stay true
_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")  # they choose among kernels
_REMEDY = "AVX512_CORE_BF16"
_CPU_INFO = Path("/proc/cpuinfo")
_ABILITIES = ("vendor_id", "model name", "flags", "CPU implementer", "CPU part", "Features")  # x86, ARM


def require_sixteen_bits(dtype: torch.dtype, *, cache: Path) -> None:
    """An error in one line where convolutions in `dtype` would kill a process on this CPU, or fail.

    The folder `cache` remembers the answer, so that it is tried once a machine.
    """
    name = str(dtype).removeprefix("torch.")
    record = cache / f"{name}-{_machine()}.txt"
    answer = _remembered(record)
    if answer is None:
        answer = _tried(name)
        if answer in _ANSWERS:
            with suppress(OSError):  # a folder that cannot be written to only means that it is tried again
                cache.mkdir(parents=True, exist_ok=True)
                write_whole(record, answer)
    if answer == _COMPUTES:
        return
    slower = f"; or set ONEDNN_MAX_CPU_ISA={_REMEDY} in the environment, which computes, but slower"
    raise UserError(
        f"train.precision {name} does not work on this CPU: a process that tried a small convolution "
        f"ended with {answer}; take --train.precision float32"
        + ("" if os.environ.get("ONEDNN_MAX_CPU_ISA") == _REMEDY else slower)
    )


def _machine() -> str:
    """What the answer depends on, as a word: processor, system, torch, and limits set from outside."""
    parts = [platform.machine(), platform.release(), torch.__version__]
    parts += [f"{name}={os.environ.get(name)}" for name in _LIMITS]
    with suppress(OSError):
        first = _CPU_INFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        parts += [line for line in first.splitlines() if line.startswith(_ABILITIES)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _remembered(record: Path) -> str | None:
    """An answer given before; none where there is no record, or it holds anything else."""
    with suppress(OSError, UnicodeDecodeError):
        answer = record.read_text(encoding="utf-8")
        return answer if answer in _ANSWERS else None
    return None


def _tried(name: str) -> str:
    """How the child ended: that it computes, the signal that it died of, or its last words."""
    command = [sys.executable, "-P", "-c", _PROGRAM, name]
    try:
        child = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"nothing in {_SECONDS} seconds"
    except OSError as error:
        return str(error)
    if child.returncode == 0:
        return _COMPUTES
    if child.returncode < 0:
        return signal.Signals(-child.returncode).name
    words = child.stderr.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(words) if line.strip()), f"exit {child.returncode}")
