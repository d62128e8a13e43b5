"""The journal: every action a line of a file that only grows, on the disk before it is called saved."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recoseg.errors import UserError
from recoseg.files import naming, regular

Record = dict[str, Any]
"""An action with its `number`, counted from 1, its `id` and the `client` that sent it."""

NAME = "label_journal.jsonl"
"""In the folder of the dataset, and not hidden: whoever copies the folder copies it too."""

_CHECKSUM = re.compile(rb'(?P<body>.*),"crc":"(?P<crc>[0-9a-f]{8})"}', re.DOTALL)
"""The end of a line. The CRC-32 covers this and all earlier lines, even those of versions that wrote none."""


class Journal:
    """`records` are those that the file held when it was opened; `append` adds some.

    The file is locked: a folder has one writer. A killed process may leave a last line without its end. That
    action was never acknowledged; its line moves to the file `torn` beside the journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn: Path | None = None
        is_new = not os.path.lexists(path)
        if not is_new:
            regular(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(self._file, path)
            content = path.read_bytes()
            self._size = content.rfind(b"\n") + 1
            self.records, self._crc = _parse(content[: self._size], path)
            if self._size < len(content):
                self.torn = path.with_suffix(".torn")
                with self.torn.open("ab") as file:
                    file.write(content[self._size :] + b"\n")
                    os.fsync(file.fileno())
                os.ftruncate(self._file, self._size)
            if is_new or self.torn:
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, records: Sequence[Record]) -> None:
        """All of them, on the disk when this returns; none if it raises."""
        text, crc = b"", self._crc
        for record in records:
            body = json.dumps(record, separators=(",", ":")).encode()[:-1]
            crc = zlib.crc32(body, crc)
            text += body + b',"crc":"%08x"}\n' % crc
        with naming(self.path):
            os.ftruncate(self._file, self._size)  # what an earlier failure may have left
            try:
                _write_all(self._file, text, at=self._size)
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, self._size)
                raise
        self._size, self._crc = self._size + len(text), crc

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


def _parse(content: bytes, path: Path) -> tuple[list[Record], int]:
    """The records of whole lines, and the checksum of all lines. Lines of older versions have no checksum."""
    records: list[Record] = []
    crc, checked = 0, 0  # of the lines so far; how many of them a checksum has confirmed
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        end = _CHECKSUM.fullmatch(line)
        body = end["body"] if end else line[:-1]
        crc = zlib.crc32(body, crc)
        try:
            record = json.loads(body + b"}" if end else line)
            is_record = isinstance(record, dict) and record.get("number") == number
        except (ValueError, RecursionError):
            is_record = False
        if not is_record or (int(end["crc"], 16) != crc if end else checked):
            first = checked + 1 if end and is_record else number
            lines = f"line {number}" if first == number else f"one of lines {first} to {number}"
            raise UserError(
                f"{path}: {lines} is damaged; restore the file from a copy, or remove that line and all after"
            )
        checked = number if end else checked
        records.append(record)
    return records, crc


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
