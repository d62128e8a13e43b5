"""Exports that come as a zip: unpacked once, each file whole, beside what is made of them."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import regular, remove_unfinished, whole_file


def unpacked(archive: Path, folder: Path) -> Path:
    """`folder`, with all that the archive holds; files that are there in their size are left alone."""
    try:
        with zipfile.ZipFile(regular(archive)) as content:
            entries = [
                entry for entry in content.infolist() if not entry.is_dir() and _is_inside(entry.filename)
            ]
            _require_room(archive, entries, folder)
            folder.mkdir(parents=True, exist_ok=True)
            remove_unfinished(folder)
            for entry in entries:
                target = folder / PurePosixPath(entry.filename)
                if target.is_file() and target.stat().st_size == entry.file_size:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with (
                    whole_file(target) as temporary,
                    content.open(entry) as source,
                    temporary.open("wb") as file,
                ):
                    shutil.copyfileobj(source, file, 2**20)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise FileError(archive, f"not a zip that can be read ({error})", "download it again") from None
    return folder


def _is_inside(name: str) -> bool:
    """Neither absolute, nor upwards, nor what macOS adds."""
    path = PurePosixPath(name)
    return (
        not path.is_absolute()
        and ".." not in path.parts
        and "__MACOSX" not in path.parts
        and "\\" not in name
    )


def _require_room(archive: Path, entries: list[zipfile.ZipInfo], folder: Path) -> None:
    """A small file may say that it holds more than there is room for."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    needed, free = sum(entry.file_size for entry in entries), shutil.disk_usage(place).free
    if needed > free:
        raise UserError(
            f"{archive} unpacks to {needed / 1e9:.1f} GB, but {place} has room for {free / 1e9:.1f}"
        )
