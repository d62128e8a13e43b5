"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from recoseg.files import write_whole


def test_a_file_is_written_and_nothing_else_left(tmp_path) -> None:
    write_whole(tmp_path / "a.txt", "grün")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "grün"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.bin"
    write_whole(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]
