"""Nouns: the labels that a tool has for an image, and the classes of all images.

A reader of a format makes these nouns, and `rasterize` draws label images of them. Shapes stay packed until
then: they are small, and travel to worker processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recoseg.colours import Colour, colours_of
from recoseg.errors import UserError
from recoseg.text import did_you_mean, shortened
from recoseg.types import IGNORE, ClassInfo

Ring = NDArray[np.float64]  # (N, 2): x, y

BACKGROUND, VOID = "background", "void"
_MEANINGS = {
    **dict.fromkeys(("background", "_background_", "__background__"), BACKGROUND),
    **dict.fromkeys(("void", "ignore", "_ignore_", "__ignore__"), VOID),
    "": "unnamed",
}
"""Names in lower case -> our name of the class."""

_MOST_POINTS = 20_000
"""Of lines: each is drawn by itself."""


@dataclass(frozen=True)
class Polygons:
    """One or more rings, each a polygon; the object is their union."""

    rings: tuple[Ring, ...]


@dataclass(frozen=True)
class Strokes:
    """Lines; a point is a line of one point. The other pixels of the image are unknown."""

    lines: tuple[Ring, ...]

    def __post_init__(self) -> None:
        if sum(map(len, self.lines)) > _MOST_POINTS:
            raise ValueError(f"lines of more than {_MOST_POINTS} points")


@dataclass(frozen=True)
class RunLengths:
    """A mask of (height, width) at a place; `counts` as numbers, or as COCO's compressed string."""

    counts: NDArray[np.int64] | str
    height: int
    width: int
    by_column: bool
    top: int = 0
    left: int = 0


@dataclass(frozen=True)
class Brush:
    """Label Studio's mask: an RGBA image of (height, width) in run lengths; alpha is the mask."""

    code: bytes
    height: int
    width: int


@dataclass(frozen=True)
class Bitmap:
    """LabelMe's mask: a PNG in base64 at a place."""

    data: str
    top: int
    left: int


Form = Polygons | Strokes | RunLengths | Brush | Bitmap | Path
"""A path is an image file for one class, as large as the image: bright pixels belong to the class."""


@dataclass(frozen=True)
class Shape:
    """An object: its class and its form. An object without a form may be anywhere."""

    name: str
    form: Form | None
    #: only the region is known, and not which pixels of it belong to the class
    crowd: bool = False
    #: with the rule "later", a higher layer is on top; in one layer, the later shape
    layer: int = 0
    #: the box around a form that may turn out to be damaged
    place: Polygons | None = None

    @property
    def is_void(self) -> bool:
        """Whether it stands for an object that cannot be read."""
        return self.crowd and self.name == VOID


@dataclass(frozen=True)
class LabelFile:
    """Classes of a whole image: a file with a value, or else a colour, for each name."""

    path: Path
    by_value: Mapping[int, str] = field(default_factory=dict)
    by_colour: Mapping[Colour, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnnotatedImage:
    """The labels that a tool has for one image, which it calls `file`.

    `size` is (height, width) of the image in the tool, where known. `notes` counts what the reader left out.
    """

    file: str
    size: tuple[int, int] | None = None
    shapes: tuple[Shape, ...] = ()
    labels: LabelFile | None = None
    #: coordinates of polygons are shares of width and height
    relative: bool = False
    subset: str = ""
    #: the tool knows the image, with or without objects
    listed: bool = True
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_objects(self) -> bool:
        """Whether any object was read."""
        return self.labels is not None or any(not shape.is_void for shape in self.shapes)

    @property
    def has_strokes(self) -> bool:
        """Whether its labels are partial."""
        return any(isinstance(shape.form, Strokes) for shape in self.shapes)

    @property
    def mask_files(self) -> list[Path]:
        """All files that hold its pixels."""
        paths = [shape.form for shape in self.shapes if isinstance(shape.form, Path)]
        return [*paths, self.labels.path] if self.labels else paths


def merge(entries: Sequence[AnnotatedImage]) -> AnnotatedImage:
    """Merge the entries of one image: its objects are those of all entries, in their order."""
    return replace(
        entries[0],
        shapes=tuple(shape for entry in entries for shape in entry.shapes),
        labels=next((entry.labels for entry in entries if entry.labels), None),
        listed=any(entry.listed for entry in entries),
        notes=sum((Counter(entry.notes) for entry in entries), Counter()),
    )


@dataclass(frozen=True)
class LabelSource:
    """All that a reader found in the file or folder `place`."""

    place: Path
    images: Sequence[AnnotatedImage]
    #: classes that the tool lists, with their colours where known
    listed: Mapping[str, Colour | None] = field(default_factory=dict)
    #: the class of pixels without an object, or VOID
    rest: str = BACKGROUND
    #: files and folders of masks, which are no images
    masks: Sequence[Path] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """The folder in which the images are, unless the user gives another."""
        return self.place if self.place.is_dir() else self.place.parent


def number_classes(
    source: LabelSource, *, chosen: Sequence[str] | None, with_background: bool
) -> tuple[ClassInfo, dict[str, int]]:
    """Return the classes, and the number of each name: IGNORE for void, none for classes that are not chosen.

    Classes are in the order of `chosen`, or in the tool's order with unlisted ones after it. The background
    comes first, unless it has a place already.
    """
    used = {shape.name for image in source.images for shape in image.shapes if not shape.is_void}
    listed = {**source.listed, **dict.fromkeys(sorted(used - source.listed.keys()))}
    meanings = {name: _MEANINGS.get(name.casefold(), name) for name in listed}
    colours = {meaning: listed[name] for name, meaning in meanings.items() if meaning != VOID}
    names = list(colours) if chosen is None else list(dict.fromkeys(chosen))
    for name in names:
        if name not in colours and name != BACKGROUND:
            raise UserError(f"--classes: unknown class {name!r}{did_you_mean(name, colours)}")
    if with_background and BACKGROUND not in names:
        names = [BACKGROUND, *names]
    if not names:
        raise UserError("there is no object of any class, so there is nothing to import")
    if len(names) > IGNORE:
        raise UserError(f"{len(names)} classes, where {IGNORE} are the most; choose some with --classes")
    palette = tuple(
        colours.get(name) or colour for name, colour in zip(names, colours_of(names), strict=True)
    )
    numbers = {name: number for number, name in enumerate(names)} | {VOID: IGNORE}
    known = {name: numbers[meaning] for name, meaning in meanings.items() if meaning in numbers}
    return ClassInfo(tuple(names), palette), numbers | known


# What cannot be read

WRONG = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""Errors of reading a value that is not as documented."""

VOIDED = ": void"
"""The end of notes on objects that could not be drawn as they are."""

UNREADABLE = f"objects that cannot be read{VOIDED}"
ONLY_BOX = f"objects with a bounding box but no mask{VOIDED}"
NO_CLASS = f"objects without a known class{VOIDED}"
_Object = TypeVar("_Object")


class UnknownTypeError(ValueError):
    """An object is of a type without pixels, or of one that is not known here."""


def read_objects(
    objects: Iterable[_Object],
    read: Callable[[_Object, Counter[str]], Shape | None],
    notes: Counter[str],
    *,
    box: Callable[[_Object], Polygons | None] = lambda one: None,
) -> tuple[Shape, ...]:
    """Return shapes in their order. Objects that cannot be read are void in their `box`, and counted."""

    def box_or_none(one: _Object) -> Polygons | None:
        try:
            return box(one)
        except WRONG:
            return None

    shapes: list[Shape] = []
    for one in objects:
        try:
            shape = read(one, notes)
        except UnknownTypeError as error:
            kind = shortened(repr(error.args[0]), 40)
            shape = void(
                box_or_none(one), notes, f"objects of the type {kind}, which cannot be drawn{VOIDED}"
            )
        except WRONG:
            shape = void(box_or_none(one), notes, UNREADABLE)
        if shape is not None:
            # Whether masks can be drawn turns out later.
            is_mask = isinstance(shape.form, RunLengths | Bitmap)
            shapes.append(replace(shape, place=box_or_none(one)) if is_mask else shape)
    return tuple(shapes)


def void(form: Form | None, notes: Counter[str], why: str) -> Shape:
    """Return an object without a known class or outline, and note why; other objects are drawn over it."""
    notes[why] += 1
    return Shape(VOID, form, crowd=True)
