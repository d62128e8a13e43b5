"""Freed memory: kept for the next step of a training, returned to the system by a process that rests."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT_BYTES = 1 << 30


def keep_freed_memory() -> bool:
    """For the whole process: what is freed, up to a gigabyte, stays with it. Returns whether that is so.

    By default glibc returns large blocks to the system at once and gets them back page by page, which makes
    forward passes and training steps longer (docs/architecture.md). Other C libraries are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all([mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES), mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)])


def return_freed_memory() -> None:
    """Return what this process has freed to the system. Other C libraries than glibc are left as they are."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
