"""The journal: every action a line of a file that only grows, on the disk before it is called saved."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recoseg.errors import UserError
from recoseg.files import naming, regular

Record = dict[str, Any]
"""An action with its `number`, counted from 1, its `id` and the `client` that sent it."""

NAME = "label_journal.jsonl"
"""In the folder of the dataset, and not hidden: whoever copies the folder copies it too."""


class Journal:
    """`records` are those that the file held when it was opened; `append` adds some.

    It is locked: a folder has one writer. A last line without its end, which a killed process leaves, was
    never acknowledged, and is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        is_new = not os.path.lexists(path)
        if not is_new:
            regular(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(self._file, path)
            self.records, self._size = _read(path)
            os.ftruncate(self._file, self._size)
            if is_new:
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, records: Sequence[Record]) -> None:
        """All of them, on the disk when this returns; none if it raises."""
        text = "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records).encode()
        with naming(self.path):
            os.ftruncate(self._file, self._size)  # what an earlier failure may have left
            try:
                _write_all(self._file, text, at=self._size)
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, self._size)
                raise
        self._size += len(text)

    def close(self) -> None:
        os.close(self._file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise UserError(
                f"{path.parent} is being labelled by another process already; use its page, or end it first"
            ) from None
        # a file system without locks: nothing can be said


def _read(path: Path) -> tuple[list[Record], int]:
    """The records, and how many bytes hold them."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1):
        try:
            record = json.loads(line)
            if not isinstance(record, dict) or record.get("number") != number:
                raise ValueError("not the record of that number")
        except (ValueError, RecursionError):
            raise UserError(
                f"{path}: line {number} is damaged; bring it back from a copy, or cut it off before that line"
            ) from None
        records.append(record)
    return records, whole


def _write_all(file: int, content: bytes, *, at: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(file, content[written : written + 2**24], at + written)


def _sync_folder(folder: Path) -> None:
    """So that a new file's name is on the disk as well."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
