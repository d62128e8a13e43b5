"""Workers of a Ray cluster: one task a run, begun again on another worker when its own dies.

Run folders, data and recoseg itself must be under the same paths on all machines: results come back through
that storage, and a run that is begun again goes on from its last state.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from recoseg.errors import UserError
from recoseg.experiments.plan.cells import Cell
from recoseg.experiments.running.execute import CellError, CellStoppedError, Start, execute
from recoseg.experiments.running.workers import num_cores, threads_each
from recoseg.experiments.tables.results import Result
from recoseg.kept_memory import keep_freed_memory

RETRIES = 5
"""How often a run may lose its worker before it counts as failed."""

_SECONDS_TO_ANSWER = 10.0
_OBJECT_STORE = 100 * 2**20  # bytes; only small results pass through it

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what it will be one day; else it warns
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # nothing of what it prints amid our table when a worker dies
    "RAY_task_oom_retries": str(RETRIES),  # of runs that Ray ends for want of memory; else for ever
}
"""What Ray reads when it is imported, unless the user has set it."""


class RayWorkers:
    """`address` of a cluster, "auto" for the one that this machine is part of, "local" for a new one here.

    A run takes a GPU where the cluster has some, else an equal part of a machine's cores: `count` are at work
    on the smallest machine, or one if it is none.
    """

    def __init__(self, address: str, count: int | None, start: Start) -> None:
        self.ray = import_ray()
        self.start = start
        self.connect(address)
        self.count, self.threads, resources = _share_out(self.machines(), count)
        self.task = self.ray.remote(
            **resources,
            max_retries=RETRIES,  # of workers that die; a run that fails has failed
            max_calls=1,  # a fresh process for every run
        )(_run_cell)
        self.cells: dict[Any, Cell] = {}

    def connect(self, address: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": "fatal"}
        try:
            if address == "local":
                few = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
                self.ray.init("local", num_cpus=num_cores(), **few, **quiet)
            else:
                require_answer(address)
                self.ray.init(address, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            why = " ".join(str(error).split()).partition(". ")[0] or type(error).__name__
            raise UserError(f"--ray {address}: no cluster to work with: {why}") from error

    def machines(self) -> list[tuple[int, int]]:
        """Cores and GPUs of each machine that lends any."""
        alive = (node["Resources"] for node in self.ray.nodes() if node["Alive"])
        machines = [(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in alive]
        return [machine for machine in machines if any(machine)]

    def submit(self, cell: Cell) -> None:
        self.cells[self.task.remote(cell, self.start, self.threads)] = cell

    def finished(self, seconds: float) -> list[tuple[Cell, Result | Exception]]:
        """Those that ended since the last call, after waiting for the next one so long at most."""
        waiting = list(self.cells)
        done, _ = self.ray.wait(waiting, num_returns=1, timeout=seconds)
        more, _ = self.ray.wait(waiting, num_returns=len(waiting), timeout=0)
        return [(self.cells.pop(task), self.outcome(task)) for task in dict.fromkeys([*done, *more])]

    def outcome(self, task: Any) -> Result | Exception:
        errors = self.ray.exceptions
        try:
            result: Result = self.ray.get(task)
        except errors.TaskCancelledError:
            return CellStoppedError()
        except errors.RayTaskError as error:
            return error.cause if isinstance(error.cause, Exception) else error
        except errors.WorkerCrashedError:
            return CellError(f"its worker died {RETRIES + 1} times; the same command goes on with it")
        except Exception as error:
            return error
        return result

    def stop(self) -> None:
        """Ask what runs to save and end, and take back what waits."""
        for task in self.cells:
            self.ray.cancel(task)

    def close(self) -> None:
        self.ray.shutdown()


def _share_out(machines: Sequence[tuple[int, int]], count: int | None) -> tuple[int, int, dict[str, float]]:
    """How many runs are at work at a time, the threads of each, and what Ray shall keep free for one."""
    if not machines:
        raise UserError("--ray: no machine of the cluster lends a core or a GPU")
    with_gpus = [(cores, gpus) for cores, gpus in machines if gpus]
    if with_gpus and count is not None:
        raise UserError("--workers has no effect on this cluster: every run takes one of its GPUs")
    if with_gpus:
        threads = min(threads_each(gpus, cores) for cores, gpus in with_gpus)
        return sum(gpus for _, gpus in with_gpus), threads, {"num_cpus": 0, "num_gpus": 1}
    fewest, count = min(cores for cores, _ in machines), count or 1
    share = fewest / count if fewest < count else fewest // count  # Ray takes parts of a core, below one
    at_a_time = sum(int(cores // share) for cores, _ in machines)
    return at_a_time, threads_each(count, fewest), {"num_cpus": share, "num_gpus": 0}


def _run_cell(cell: Cell, start: Start, threads: int) -> Result:
    """One task: the commands run in the worker's own process, so that they end with it."""
    keep_freed_memory()
    torch.set_num_threads(threads)
    return execute(cell, start, threads=threads)


def require_answer(address: str) -> None:
    """Ray itself tries for a minute before it gives up, and not quietly."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not colon or not host or not port.isdigit():
        raise ValueError("an address is HOST:PORT, auto, or local")
    socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()


def import_ray() -> ModuleType:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError("--ray needs the package ray: pip install 'recoseg[ray]'") from error
    module: ModuleType = ray
    return module
