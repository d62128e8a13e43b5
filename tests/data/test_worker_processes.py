"""Worker processes: the same results, and none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recoseg.data.worker_processes import in_processes

SCRIPT = """
import os, sys, time
from pathlib import Path
from recoseg.data.worker_processes import in_processes

def work(item):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    list(in_processes(work, range(2), num_workers=1 + 1, few=1))
"""


@pytest.mark.parametrize("num_workers", [1, 2])
def test_results_come_in_order(num_workers) -> None:
    assert list(in_processes(abs, range(-40, 0), num_workers=num_workers, few=1)) == list(range(40, 0, -1))


def is_running(process: int) -> bool:
    """Not gone, and not a zombie that only waits for its exit code to be read."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes the way Linux shows them")
def test_workers_end_when_their_parent_is_killed(tmp_path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    pids = tmp_path / "pids"
    pids.mkdir()
    parent = subprocess.Popen([sys.executable, str(tmp_path / "script.py"), str(pids)])
    deadline = time.monotonic() + 600
    while not any(pids.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    workers = [int(path.name) for path in pids.iterdir()]
    assert workers
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_running, workers))
