"""Writing files so that nobody ever meets half of one, and reading none that may never say anything."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recoseg.errors import UserError

_LONGEST_PREFIX = 40
"""Letters of a file's name in its temporary name, which would else be too long before the name itself is."""

_NO_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
UNFINISHED = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}\.part", re.DOTALL)
"""The name of a file that is being written, or that a process which was killed had begun."""


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` under a temporary name beside `path`, then move it there: all of it or nothing."""
    remove_unfinished(path.parent, name=path.name)
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to be filled: it takes that name in the end, or goes if anything fails."""
    with naming(path):
        descriptor, temporary = _begun_file(path)
        try:
            yield temporary
            os.fsync(descriptor)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def _begun_file(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, locked for as long as its descriptor is open: so nobody removes it."""
    while True:
        temporary = path.with_name(f".{path.name[:_LONGEST_PREFIX]}.{secrets.token_hex(4)}.part")
        # With the rights that the user's umask leaves, as any other program would make it.
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)  # somebody took it for one that is left over, before it was locked


def remove_unfinished(folder: Path, *, name: str | None = None) -> None:
    """Remove what processes that were killed had begun to write: to `name`, or to any file in or below."""
    for path in folder.rglob(".*.part") if name is None else folder.glob(".*.part"):
        found = UNFINISHED.fullmatch(path.name)
        if found is None or (name is not None and found["name"] != name[:_LONGEST_PREFIX]):
            continue
        with suppress(OSError), path.open("rb+") as file:  # gone meanwhile, or not ours to remove
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while a process writes it
            path.unlink()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Troubles of the disk name the file that is written: the system tells of a temporary one, or of none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename).endswith(".part")):
            error.filename = str(path)
        raise


def regular(path: Path) -> Path:
    """The path of a file, to be opened; an OSError for a pipe and the like, which may never say anything."""
    kind = _NO_FILES.get(stat.S_IFMT(path.stat().st_mode))
    if kind is not None:
        raise OSError(errno.ENXIO, f"{kind}, not a file", str(path))
    return path


def as_path(value: object, *, what: str) -> Path:
    """The path that a caller gives as text or as a path."""
    if not isinstance(value, str | os.PathLike):
        raise UserError(f"{what}: got {value!r:.100}, needs a path")
    return Path(value)


def real(path: Path) -> Path:
    """Absolute and without links; those that lead round in a circle stay, which `resolve` would fall over."""
    return Path(os.path.realpath(path))


def digest(path: Path) -> str:
    """The sha256 of a file's content, which tells files apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
