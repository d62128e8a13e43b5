"""Files of other tools come in here, within limits: texts, JSON, XML, YAML and zips.

A file that breaks a limit, or is damaged, is a `FileError` of one line. Readers of formats may rely on it.
"""

from __future__ import annotations

import errno
import json
import lzma
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from xml.etree import ElementTree

import yaml

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import regular, remove_unfinished, whole_file
from recoseg.text import shortened

MOST_BYTES = 2**31
"""Of a JSON, XML or text file: twice the largest COCO file that is published."""

MOST_YAML = 2**18
"""Bytes of a YAML file: names of 20,000 classes. Its parser is slow and written in Python."""

MOST_FILES, MOST_UNPACKED, MOST_RATIO, SMALL = 2_000_000, 2**40, 200, 2**30
"""Of a zip: files, bytes in all, and bytes for each packed byte where they are more than `SMALL`.

Label images are packed to a hundredth, photos hardly at all.
"""

_NOT_A_ZIP = (
    zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError, struct.error, zlib.error,
    lzma.LZMAError, OverflowError,
)  # fmt: skip
"""What reading a damaged zip raises; besides an OSError without a number, or of a place before its start."""


def files_with(suffix: str, source: Path) -> list[Path]:
    """`source`, if it is such a file, or those in and below it, sorted; without hidden ones."""
    if source.is_file():
        return [source] if source.suffix.lower() == suffix else []
    found = (path for path in source.rglob(f"*{suffix}") if path.is_file())
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(source).parts)
    )


def any_file(suffix: str, source: Path, is_one: Callable[[Path], bool], *, most: int = 20) -> bool:
    """Whether one of the first few files of this suffix passes."""
    return any(is_one(path) for path in files_with(suffix, source)[:most])


def read_text(path: Path, *, most: int = MOST_BYTES) -> str:
    """UTF-8 with or without its mark, or else Latin-1."""
    size = regular(path).stat().st_size
    if size > most:
        what = f"{size / 1e6:,.1f} MB, where {most / 1e6:,.1f} are the most"
        raise FileError(path, what, "divide it into smaller files")
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise FileError(path, "not a text in UTF-8", "save it as UTF-8")
    return text


def read_lines(path: Path) -> list[str]:
    """Lines without outer spaces; empty ones are left out."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_json(path: Path) -> Any:
    """The value in the file; the last file is kept, since formats are recognised before they are read."""
    status = regular(path).stat()
    return _read_json(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_json(path: Path, time: int, size: int) -> Any:
    with _damage_named(path, "JSON", ValueError, RecursionError):
        return json.loads(read_text(path))


def read_outline(path: Path) -> Any:
    """An object's fields without their values, or a list's first entry; None for anything else."""
    try:
        status = path.stat()
        return _outline(path, status.st_mtime_ns, status.st_size)
    except (FileError, OSError):
        return None


@lru_cache(maxsize=256)  # for each file of a folder that is looked at
def _outline(path: Path, time: int, size: int) -> Any:
    content = _read_json(path, time, size)
    if isinstance(content, dict):
        return dict.fromkeys(content)
    return content[:1] if isinstance(content, list) else None


def is_json_with(path: Path, *fields: str) -> bool:
    """Whether it holds an object with all these fields."""
    content = read_outline(path)
    return isinstance(content, dict) and all(name in content for name in fields)


def read_xml(path: Path) -> ElementTree.Element:
    """The root. Entities, which can stand for gigabytes, need a document type: that is refused."""
    text = read_text(path)
    if "<!DOCTYPE" in text:
        raise FileError(path, "XML with a document type of its own", "export it again")
    with _damage_named(path, "XML", ElementTree.ParseError, ValueError):
        return ElementTree.fromstring(text)


def read_yaml(path: Path) -> Any:
    """Lists, dicts and texts: numbers stay texts, and an alias is the same object again, never a copy."""
    with _damage_named(path, "YAML", yaml.YAMLError, ValueError, TypeError, RecursionError):
        return yaml.load(read_text(path, most=MOST_YAML), yaml.BaseLoader)


@contextmanager
def _damage_named(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except errors as error:
        reason = "lists inside lists without end" if isinstance(error, RecursionError) else str(error)
        reason = shortened(" ".join(reason.split()), 200)
        raise FileError(path, f"not {kind}, or cut short ({reason})", "export it again") from None


# Zips


def unpack(archive: Path, folder: Path) -> Path:
    """`folder` with all that the archive holds; files that are there in their size stay as they are."""
    try:
        with zipfile.ZipFile(regular(archive)) as content:
            entries = [one for one in content.infolist() if not one.is_dir() and _is_inside(one.filename)]
            _require_sane(archive, entries, folder)
            folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(folder)
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                if target.is_file() and target.stat().st_size == entry.file_size:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with whole_file(target) as temporary, temporary.open("wb") as file:
                    _copy(content, entry, file)
    except (*_NOT_A_ZIP, OSError) as error:
        if isinstance(error, UserError):
            raise
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of the disk
            raise
        reason = shortened(" ".join(str(error).split())) or type(error).__name__
        raise FileError(archive, f"not a zip that can be read ({reason})", "download it again") from None
    return folder


def _copy(content: zipfile.ZipFile, entry: zipfile.ZipInfo, file: BinaryIO) -> None:
    """Never more bytes than the entry says: zipfile stops there."""
    with content.open(entry) as source:
        shutil.copyfileobj(source, file, 2**20)
    if file.tell() != entry.file_size:
        raise zipfile.BadZipFile(f"{entry.filename} is cut short")


def _is_inside(name: str) -> bool:
    """Neither absolute, nor upwards, nor what macOS adds."""
    path = PurePosixPath(name)
    is_strange = path.is_absolute() or "\\" in name or not {"..", "__MACOSX"}.isdisjoint(path.parts)
    return not is_strange


def _require_sane(archive: Path, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    """A small file may say that it holds more than there is room for."""
    size, packed = sum(entry.file_size for entry in entries), archive.stat().st_size
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    free = shutil.disk_usage(place).free
    if len(entries) > MOST_FILES:
        raise UserError(f"{archive} holds {len(entries):,} files, where {MOST_FILES:,} are the most")
    if size > MOST_UNPACKED or (size > SMALL and size > MOST_RATIO * packed):
        raise UserError(
            f"{archive} of {packed / 1e6:.1f} MB unpacks to {size / 1e9:.1f} GB, as zips made to fill disks "
            "do: if you trust it, unpack it yourself and give the folder"
        )
    if size > free:
        raise UserError(
            f"{archive} unpacks to {size / 1e9:.1f} GB, but {place} has room for {free / 1e9:.1f}"
        )
