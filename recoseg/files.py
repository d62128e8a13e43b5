"""Writing files so that a reader, or a run that is resumed, never meets half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
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
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    try:
        yield temporary
        os.fsync(descriptor)
        temporary.chmod(0o644)
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
