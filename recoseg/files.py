"""Writing files so that nobody ever meets half of one, and reading none that may never say anything."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_PREFIX = 40
"""Letters of a file's name in its temporary name, which would else be too long before the name itself is."""

NO_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` under a temporary name beside `path`, then move it there: all of it or nothing."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to be filled: it takes that name in the end, or goes if anything fails."""
    temporary = path.with_name(f".{path.name[:LONGEST_PREFIX]}.{secrets.token_hex(4)}.part")
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


def regular(path: Path) -> Path:
    """The path of a file, to be opened; an OSError for a pipe and the like, which may never say anything."""
    kind = NO_FILES.get(stat.S_IFMT(path.stat().st_mode))
    if kind is not None:
        raise OSError(errno.ENXIO, f"{kind}, not a file", str(path))
    return path


def real(path: Path) -> Path:
    """Absolute and without links; those that lead round in a circle stay, which `resolve` would fall over."""
    return Path(os.path.realpath(path))


def digest(path: Path) -> str:
    """The sha256 of a file's content, which tells files apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
