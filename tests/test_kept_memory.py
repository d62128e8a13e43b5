"""Memory that stays with the process."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from recoseg import kept_memory

COUNT_OWN_MAPPINGS = """
import ctypes, sys, torch
from recoseg.kept_memory import keep_freed_memory
names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in names]
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info
if sys.argv[1] == "kept":
    assert keep_freed_memory()
before = mallinfo().hblks
blocks = [torch.ones(10 << 20) for _ in range(3)]  # 40 MB each, more than glibc keeps by itself
print(mallinfo().hblks - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33 or later")
@pytest.mark.parametrize(("how", "mappings"), [("given back", 3), ("kept", 0)])
def test_large_blocks_come_from_memory_that_the_process_keeps(how, mappings) -> None:
    """And not from a mapping of their own, which the system takes back, page by page, when they are freed."""
    command = [sys.executable, "-c", COUNT_OWN_MAPPINGS, how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) == mappings


def test_without_such_a_c_library_nothing_happens(monkeypatch) -> None:
    monkeypatch.setattr(kept_memory.ctypes, "CDLL", lambda name: object())
    assert kept_memory.keep_freed_memory() is False
    kept_memory.return_freed_memory()
