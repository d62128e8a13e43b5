"""What readers of all formats share: files that may be anything, numbers that may be none, colours."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from recoseg.colours import Colour
from recoseg.data.problem import FileError
from recoseg.exchange.annotation import Form, Polygons, Shape, Strokes
from recoseg.exchange.rasterise import Ring
from recoseg.files import regular

WRONG = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading a value raises that is not as documented."""

NOT_UNDERSTOOD = "objects that are not as the format has them: left out"
TOO_FEW_CORNERS = "polygons of fewer than three corners: left out"
ONLY_BOXES = "objects with a bounding box but no mask: left out"

_SUBSETS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
}


def files_with(suffix: str, source: Path) -> list[Path]:
    """`source`, if it is such a file, or those in and below it, sorted; hidden ones are left alone."""
    if source.is_file():
        return [source] if source.suffix.lower() == suffix else []
    found = (path for path in source.rglob(f"*{suffix}") if path.is_file())
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(source).parts)
    )


def first_with(suffix: str, source: Path, most: int = 20) -> Iterator[Path]:
    """A few of these, for a look at them."""
    yield from files_with(suffix, source)[:most]


def read_json(path: Path) -> Any:
    """What the file holds; read once, however often it is asked for in a row."""
    status = path.stat()
    return _read_json(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_json(path: Path, time: int, size: int) -> Any:
    try:
        return json.loads(regular(path).read_bytes())
    except UnicodeDecodeError:
        raise FileError(path, "not UTF-8 text", "export it again") from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise FileError(path, f"not JSON, or cut short ({reason})", "export it again") from None


def is_json_of(path: Path, *fields: str) -> bool:
    """Whether it holds an object with all these fields."""
    content = outline_of(path)
    return isinstance(content, dict) and all(name in content for name in fields)


def outline_of(path: Path) -> Any:
    """What tells formats apart: an object's fields, without their values, or a list's first entry; else None.

    Kept for as many files as a look at a folder takes, of which some may be large.
    """
    try:
        status = path.stat()
        return _outline_of(path, status.st_mtime_ns, status.st_size)
    except (FileError, OSError):
        return None


@lru_cache(maxsize=256)
def _outline_of(path: Path, time: int, size: int) -> Any:
    content = _read_json(path, time, size)
    return (
        dict.fromkeys(content)
        if isinstance(content, dict)
        else content[:1]
        if isinstance(content, list)
        else None
    )


@contextmanager
def as_written_by(tool: str, path: Path) -> Iterator[None]:
    """A file without what its format always has is an error that says so."""
    try:
        yield
    except FileError:
        raise
    except WRONG as error:
        what = f"no {error} in it" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise FileError(path, f"not as {tool} writes it ({what})", f"export it again from {tool}") from None


def ring_of(points: Any) -> Ring:
    """(N, 2) from pairs, or from x, y, x, y; a ValueError where there are other things."""
    ring = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if not len(ring) or not np.isfinite(ring).all():
        raise ValueError("coordinates that are no numbers")
    return ring


def polygons_of(parts: Sequence[Sequence[Ring]], notes: Counter[str]) -> Form | None:
    """Of outer rings and their holes, those that have an area."""
    kept = []
    for rings in parts:
        if len(rings[0]) < 3:
            notes[TOO_FEW_CORNERS] += 1
        else:
            kept.append(tuple(ring for ring in rings if len(ring) >= 3))
    return Polygons(tuple(kept)) if kept else None


def layered_shapes(
    things: Iterable[Mapping[str, Any]],
    name: str,
    form_of: Callable[[Mapping[str, Any], Counter[str]], Form | None],
    notes: Counter[str],
) -> tuple[Shape, ...]:
    """Later ones on top; their class stands in the field `name`. What makes no sense is counted."""
    shapes = []
    for layer, thing in enumerate(things):
        try:
            form = form_of(thing, notes)
            if form is not None:
                shapes.append(Shape(str(thing[name]).strip(), form, layer=layer))
        except WRONG:
            notes[NOT_UNDERSTOOD] += 1
    return tuple(shapes)


def point_of(x: float, y: float) -> Strokes:
    return Strokes((ring_of((x, y)),))


def whole_number(value: Any) -> int:
    """Of JSON, where 640.0 may stand for 640; a ValueError for anything else."""
    number = int(value)
    if isinstance(value, bool) or number != float(value):
        raise ValueError(f"{value!r} is no whole number")
    return number


def size_of(height: Any, width: Any) -> tuple[int, int] | None:
    """(height, width) where both are told."""
    if not height or not width:
        return None
    return whole_number(height), whole_number(width)


def colour_of_text(text: Any) -> Colour | None:
    """#rrggbb, as web pages write it; None for anything else."""
    found = re.fullmatch(
        r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})", text if isinstance(text, str) else ""
    )
    return (int(found[1], 16), int(found[2], 16), int(found[3], 16)) if found else None


def subset_in(name: str) -> str:
    """train, val or test, if a word of the name says so: instances_val2017.json, valid/images."""
    words = re.findall(r"[a-z]+", PurePosixPath(name).as_posix().lower())
    return next((_SUBSETS[word] for word in reversed(words) if word in _SUBSETS), "")
