"""Several processes under torchrun: meeting, working in parallel, and agreeing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import torch
import torch.distributed
from torch import nn
from torch.distributed import PrefixStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from recoseg.distributed import is_running, rank, sum_over_processes, world_size
from recoseg.errors import UserError
from recoseg.methods.method import Method
from recoseg.models.representation import WithRepresentation

Result = TypeVar("Result")

_TIMEOUT = timedelta(minutes=30)
"""How long a process waits for the others, e.g. while the first one draws the split."""

SECONDS_TO_SAY_WHY = 10.0

_groups: list[object] = []


@contextmanager
def processes(device: str) -> Iterator[None]:
    """Within it, the processes that torchrun started, if it did, know each other.

    GPUs talk over NCCL, and each process has one of its own as its current one; CPUs talk over gloo.
    """
    if is_running() or not _several_wanted():
        yield
        return
    if device.startswith("cuda:"):
        raise UserError(
            f"train.device {device}: of several processes each takes a GPU of its own; give cuda, or auto"
        )
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    if on_gpu:
        if not os.environ.get("LOCAL_RANK", "").isdecimal():
            raise UserError("the environment has no LOCAL_RANK, the number of the GPU: start with torchrun")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    meet("nccl" if on_gpu else "gloo")
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.distributed.DistError) and "gloo" not in str(error):
            raise
        raise UserError(
            f"process {rank()} lost the others: one of them has ended, and said why if it could"
        ) from error
    finally:
        # Kept until this process ends. Freed with a traceback that holds the network, a group waits for its
        # threads, and one of them may wait for Python to let go of a tensor: for ever.
        _groups.append(torch.distributed.group.WORLD)
        torch.distributed.destroy_process_group()


def _several_wanted() -> bool:
    """Whether this is one of several processes, by what torchrun or its like puts into the environment.

    Half of that would have it wait for others that never come.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return False
    given = {name: os.environ.get(name, "") for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT")}
    numbers = [value for name, value in given.items() if name != "MASTER_ADDR"]
    if (
        all(value.isdecimal() for value in numbers)
        and given["MASTER_ADDR"]
        and int(numbers[1]) < int(numbers[0])
    ):
        return True
    raise UserError(
        f"the environment has {' '.join(f'{name}={value}' for name, value in given.items())}, which is not "
        "as torchrun sets it: start several processes with torchrun, or unset WORLD_SIZE for one"
    )


def meet(backend: str) -> None:
    """As `init_process_group` does by itself, but at a place of this attempt's own.

    torchrun may keep one store for all attempts. Processes that it starts anew would find the addresses of
    the former ones there, and try in vain to reach them.
    """
    store, rank, world = next(rendezvous("env://", timeout=_TIMEOUT))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    torch.distributed.init_process_group(
        backend,
        store=PrefixStore(f"attempt {attempt} of {world}", store),
        rank=rank,
        world_size=world,
        timeout=_TIMEOUT,
    )


def by_torchrun() -> bool:
    """Whether torchrun started this process, and so may do it again: after a failure, or for more nodes."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def by_first(work: Callable[[], Result]) -> Result | None:
    """What `work` returns, in the first process, and None in the others, which wait until it is done.

    If it fails, the first one says why. The others end without a word, and later: torchrun ends all once one
    of them has ended.
    """
    result = None
    if is_first():
        try:
            result = work()
        except BaseException:
            from_first("failed")
            raise
    if from_first("done") == "failed":
        time.sleep(SECONDS_TO_SAY_WHY)
        raise SystemExit(1)
    return result


def wait_for_all() -> None:
    if world_size() > 1:
        torch.distributed.barrier()


def from_first(text: str) -> str:
    """The first process's `text`, in all of them."""
    if world_size() == 1:
        return text
    box = [text]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


def require_agreement(start: int, folder: Path) -> None:
    """All processes must have found the same state; else their folders are not the same one."""
    if from_first(str(start)) != str(start):
        raise UserError(
            f"process {rank()} found iteration {start} in {folder}, and the first process another one: "
            "the run folder must lie on storage that all nodes share"
        )


def in_parallel(method: Method, device: torch.device) -> nn.Module:
    """`method` as it is, or with gradients averaged over the processes while they are computed."""
    if world_size() == 1:
        return method
    if device.type == "cuda":
        method = nn.SyncBatchNorm.convert_sync_batchnorm(method)  # type: ignore[no-untyped-call]
    # Processes fill a feature bank alike: to send it around before each step would be for nothing.
    contrast = method.contrast and method.contrast.contrast
    if contrast and contrast.bank is not None:
        stored = [f"contrast.contrast.bank.{name}" for name, _ in contrast.bank.named_buffers()]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(method, stored)  # type: ignore[no-untyped-call]
    return DistributedDataParallel(
        method,
        device_ids=[device] if device.type == "cuda" else None,
        # A network that is not ours may have layers which no loss reaches, such as another head.
        find_unused_parameters=isinstance(method.student, WithRepresentation),
    )


def without_exchange(step: nn.Module, wanted: bool) -> AbstractContextManager[None]:
    """Where `wanted`, gradients are kept for a later exchange instead of being averaged now."""
    if wanted and isinstance(step, DistributedDataParallel):
        return step.no_sync()
    return nullcontext()


def agree(flag: bool, device: torch.device) -> bool:
    """Whether any process says so."""
    if world_size() == 1:
        return flag
    return bool(sum_over_processes(torch.tensor(float(flag), device=device)) > 0)


@torch.no_grad()
def share_buffers(module: nn.Module) -> None:
    """All processes take the first one's BatchNorm statistics, so that they evaluate the same network."""
    if world_size() > 1:
        for buffer in module.buffers():
            torch.distributed.broadcast(buffer, src=0)


def is_first() -> bool:
    return rank() == 0
