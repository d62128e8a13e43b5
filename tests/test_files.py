"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from recoseg.files import whole_file, write_whole


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


def test_a_file_that_is_filled_part_by_part_appears_when_it_is_whole(tmp_path) -> None:
    path = tmp_path / "a.bin"
    with whole_file(path) as temporary:
        temporary.write_bytes(b"half")
        assert not path.exists()
        with temporary.open("ab") as file:
            file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_a_file_has_the_rights_that_the_umask_leaves(tmp_path, umask, mode) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "a.txt", "new")
        write_whole(tmp_path / "a.txt", "again")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_a_file_whose_filling_fails_leaves_nothing(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "a.bin"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
