"""Writing files so that a reader, or a run that is resumed, never meets half of one."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` under a temporary name beside `path`, then move it there: all of it or nothing."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to be filled: it takes that name in the end, or goes if anything fails."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    # With the rights that the user's umask leaves, as any other program would make it.
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        yield temporary
        os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def digest(path: Path) -> str:
    """The sha256 of a file's content, which tells files apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
