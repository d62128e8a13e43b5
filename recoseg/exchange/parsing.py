"""Values of other tools: numbers that may be none, names, colours, and objects that cannot be read.

An object that cannot be read is void: within the box around it, or wherever nothing else is drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np

from recoseg.colours import Colour
from recoseg.data.problem import FileError
from recoseg.exchange.annotation import VOID, Bitmap, Form, Polygons, RunLengths, Shape, Unknown
from recoseg.exchange.rasterise import Ring, box
from recoseg.text import is_text, shortened

WRONG = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a value raises that is not as documented."""

VOIDED = ": void"
"""The end of notes on objects that could not be drawn as they are."""

UNREADABLE = f"objects that cannot be read{VOIDED}"
ONLY_BOXES = f"objects with a bounding box but no mask{VOIDED}"
NO_CLASS = f"objects without a known class{VOIDED}"
TOO_FEW_CORNERS = "polygons of fewer than three corners: left out"

_FARTHEST = 1e9  # pixels that a coordinate may be away from the image
_LONGEST_NAME = 1000
_SUBSETS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
}
_Object = TypeVar("_Object")


class UnknownTypeError(ValueError):
    """An object is of a type that has no pixels, or none that are known here."""

    @property
    def note(self) -> str:
        return f"objects of the type {shortened(repr(self.args[0]), 40)}, which cannot be drawn{VOIDED}"


def read_objects(
    objects: Iterable[_Object],
    read: Callable[[_Object, Counter[str]], Shape | None],
    notes: Counter[str],
    *,
    box_of: Callable[[_Object], Polygons | None] = lambda one: None,
) -> tuple[Shape, ...]:
    """Shapes in their order; those that cannot be read are counted, and void."""
    shapes: list[Shape] = []
    is_anywhere = False
    for one in objects:
        try:
            shape = read(one, notes)
        except WRONG as error:
            notes[error.note if isinstance(error, UnknownTypeError) else UNREADABLE] += 1
            place = _box_or_none(one, box_of)
            is_anywhere |= place is None
            shape = None if place is None else void(place)
        if shape is not None:
            if isinstance(shape.form, RunLengths | Bitmap):  # whether they can be drawn turns out later
                shape = replace(shape, place=_box_or_none(one, box_of))
            shapes.append(shape)
    return (*shapes, void(Unknown())) if is_anywhere else tuple(shapes)


def _box_or_none(one: _Object, box_of: Callable[[_Object], Polygons | None]) -> Polygons | None:
    try:
        return box_of(one)
    except WRONG:
        return None


def void(form: Form) -> Shape:
    """Pixels of an object whose class or outline is unknown; single objects are drawn over it."""
    return Shape(VOID, form, crowd=True)


@contextmanager
def as_written_by(tool: str, path: Path) -> Iterator[None]:
    """A file without what its format always has is an error that says so."""
    try:
        yield
    except FileError:
        raise
    except WRONG as error:
        what = (
            f"no {shortened(str(error))} in it"
            if isinstance(error, KeyError)
            else shortened(" ".join(str(error).split()))
        )
        raise FileError(path, f"not as {tool} writes it ({what})", f"export it again from {tool}") from None


def ring_of(points: Any) -> Ring:
    """(N, 2) from pairs, or from x, y, x, y; a ValueError where there are other things."""
    ring = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if not len(ring) or not (np.abs(ring) <= _FARTHEST).all():  # also catches NaN
        raise ValueError("coordinates that are no numbers, or beyond any image")
    return ring


def number_of(value: Any) -> float:
    """A number as it may be a coordinate, a length or an angle."""
    return float(ring_of((value, 0))[0, 0])


def polygons_of(rings: Iterable[Any], notes: Counter[str]) -> Polygons | None:
    """Those that have an area."""
    found = [ring_of(ring) for ring in rings]
    kept = tuple(ring for ring in found if len(ring) >= 3)
    if len(kept) < len(found):
        notes[TOO_FEW_CORNERS] += len(found) - len(kept)
    return Polygons(kept) if kept else None


def box_polygon(left: Any, top: Any, right: Any, bottom: Any) -> Polygons:
    return Polygons((box(*ring_of((left, top, right, bottom)).ravel()),))


def whole_number(value: Any) -> int:
    """Of JSON, where 640.0 may stand for 640; a ValueError for anything else."""
    number = int(value)
    if isinstance(value, bool) or number != float(value):
        raise ValueError("not a whole number")
    return number


def size_of(height: Any, width: Any) -> tuple[int, int] | None:
    """(height, width) where both are told."""
    if not height or not width:
        return None
    return whole_number(height), whole_number(width)


def name_of(value: Any) -> str:
    """The name of a class, on one line; "" may be one. A ValueError for what is no name."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError("a name that is no text")
    name = " ".join(str(value).split())
    if not is_text(name) or len(name) > _LONGEST_NAME:
        raise ValueError("a name that is no text")
    return name


def file_of(value: Any) -> str:
    """The name of a file, as it is."""
    if not isinstance(value, str) or not is_text(value):
        raise ValueError("the name of a file that is no text")
    return value


def colour_of(values: Any) -> Colour | None:
    """Three numbers, or #rrggbb; None for anything else."""
    if isinstance(values, str):
        values = list(bytes.fromhex(values[1:])) if re.fullmatch(r"#[0-9a-fA-F]{6}", values) else None
    if not isinstance(values, list) or len(values) != 3:
        return None
    if not all(type(value) is int and 0 <= value <= 255 for value in values):
        return None
    red, green, blue = values
    return red, green, blue


def subset_in(name: str) -> str:
    """train, val or test, if a word of the name says so: instances_val2017.json, valid/images."""
    words = re.findall(r"[a-z]+", PurePosixPath(name).as_posix().lower())
    return next((_SUBSETS[word] for word in reversed(words) if word in _SUBSETS), "")
