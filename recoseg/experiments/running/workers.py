"""The loop that hands cells to workers, and the workers of one machine: so many at a time, a process each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Protocol

import torch

from recoseg.experiments.plan.cells import Cell
from recoseg.experiments.running.board import Board
from recoseg.experiments.running.execute import CellInUseError, CellStoppedError, execute
from recoseg.experiments.tables.results import Result
from recoseg.training.early_end import Interrupted, StopRequest

_SECONDS_BETWEEN_REFRESHES = 1.0


class Workers(Protocol):
    """What does cells: processes of this machine, or a cluster."""

    count: int

    def submit(self, cell: Cell) -> None: ...

    def finished(self, seconds: float) -> list[tuple[Cell, Result | Exception]]: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


def run_cells(board: Board, workers: Workers, show: Callable[[Board], None]) -> None:
    """Do all cells that are not done. Ctrl-C or SIGTERM lets runs save their states and leaves the rest."""
    try:
        with StopRequest() as stop:
            for cell in board.unfinished():
                workers.submit(cell)
                board.submitted.add(cell.folder)
            while board.submitted:
                for cell, outcome in workers.finished(_SECONDS_BETWEEN_REFRESHES):
                    if isinstance(outcome, CellInUseError) and not board.stopping:
                        workers.submit(cell)  # after those that wait: the other process may have ended then
                    else:
                        board.put(cell, outcome)
                if stop.requested and not board.stopping:
                    board.stopping = True
                    workers.stop()
                board.refresh_running()
                show(board)
        if stop.requested:
            raise Interrupted("stopped, with states saved; the same command goes on")
    finally:
        workers.close()


# Workers of this machine.

_CHILD = Path(__file__).resolve().parents[2] / "cli" / "child.py"


class LocalWorkers:
    """Cells that are submitted wait for a free worker; `stop` lets processes save their states and end."""

    def __init__(self, count: int, *, threads: int | None = None) -> None:
        """`threads` of each; if none, the cores are shared out."""
        self.count, self.threads = count, threads or threads_each(count)
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="cell")
        self.futures: dict[Future[Result], Cell] = {}
        self.devices: SimpleQueue[int] = SimpleQueue()
        for number in range(count):
            self.devices.put(number)
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.lock, self.stopping = Lock(), False

    def submit(self, cell: Cell) -> None:
        self.futures[self.pool.submit(self.run, cell)] = cell

    def finished(self, seconds: float) -> list[tuple[Cell, Result | Exception]]:
        """Those that ended since the last call, after waiting for the next one so long at most."""
        done, _ = wait(self.futures, timeout=seconds, return_when=FIRST_COMPLETED)
        ended: list[tuple[Cell, Result | Exception]] = []
        for future in done:
            cell = self.futures.pop(future)
            try:
                ended.append((cell, future.result()))
            except Exception as error:
                ended.append((cell, error))
        return ended

    def run(self, cell: Cell) -> Result:
        if self.stopping:  # before it makes a folder, or waits for one
            raise CellStoppedError
        device = self.devices.get()
        try:
            return execute(cell, lambda command, log: self.start(command, log, device), threads=self.threads)
        finally:
            self.devices.put(device)

    def start(self, command: Sequence[str], log: Path, device: int) -> int:
        with log.open("ab") as output, self.lock:
            if self.stopping:
                raise CellStoppedError
            process = subprocess.Popen(
                [sys.executable, "-P", str(_CHILD), *command],
                stdin=subprocess.PIPE,  # nothing is written: it is closed when we end, however that is
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment(device),
                start_new_session=True,  # Ctrl-C is for us, who pass it on in our own way
            )
            self.processes.add(process)
        code = process.wait()
        with self.lock:
            self.processes.discard(process)
            if code and self.stopping:  # it may have been asked before it could listen
                raise CellStoppedError
        return code

    def environment(self, device: int) -> dict[str, str]:
        """A share of the threads, and a GPU of its own if there are some; but what the user has set stays."""
        gpus = [str(number) for number in range(torch.cuda.device_count())]
        visible = [word for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
        gpus = visible if len(visible) == len(gpus) else gpus
        mine = {"CUDA_VISIBLE_DEVICES": gpus[device % len(gpus)]} if gpus and self.count > 1 else {}
        return {"OMP_NUM_THREADS": str(self.threads), **os.environ, **mine}

    def stop(self) -> None:
        """Begin nothing more, and ask what runs to save and end. A second call ends it at once."""
        with self.lock:
            number = signal.SIGKILL if self.stopping else signal.SIGTERM
            self.stopping = True
            for process in self.processes:
                process.send_signal(number)

    def close(self) -> None:
        """Ends what still runs: at once, if it was asked to end before."""
        if self.futures:
            self.stop()
        self.pool.shutdown(wait=True, cancel_futures=True)


def threads_each(workers: int, cores: int | None = None) -> int:
    """Cores, those of this process if none are given, shared out; or what the user has set."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = num_cores() if cores is None else cores
    return int(given) if given.isdigit() else max(1, cores // workers)


def num_cores() -> int:
    """Those that this process may use, where the system tells, as Linux does."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
