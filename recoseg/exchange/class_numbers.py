"""Which class of a tool gets which number: instances become classes, and some names mean none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recoseg.colours import colours_of
from recoseg.errors import UserError
from recoseg.exchange.annotation import BACKGROUND, LabelSource
from recoseg.text import did_you_mean
from recoseg.types import IGNORE, ClassInfo

_BACKGROUNDS = ("background", "_background_", "__background__")
_VOIDS = ("void", "ignore", "_ignore_", "__ignore__")
_UNNAMED = "unnamed"


@dataclass(frozen=True)
class ClassNumbers:
    """The classes; and tools' names -> numbers, IGNORE for void. A name that is missing was not asked for."""

    info: ClassInfo
    numbers: Mapping[str, int]

    @property
    def background(self) -> int | None:
        return self.info.names.index(BACKGROUND) if BACKGROUND in self.info.names else None


def number_classes(
    source: LabelSource, *, wanted: Sequence[str] | None, with_background: bool
) -> ClassNumbers:
    """In the tool's order, or as `wanted`; with the background first, unless it has a place already."""
    found = {_meaning(name): colour for name, colour in source.classes.items() if not _is_void(name)}
    names = list(found) if wanted is None else list(dict.fromkeys(wanted))
    for name in names:
        if name not in found and name != BACKGROUND:
            raise UserError(f"no class {name!r} there{did_you_mean(name, found)}")
    if with_background and BACKGROUND not in names:
        names = [BACKGROUND, *names]
    if not names:
        raise UserError("there is no object of any class, so there is nothing to import")
    if len(names) > IGNORE:
        raise UserError(f"{len(names)} classes, where {IGNORE} are the most; choose some with --classes")
    chosen = colours_of(names)
    palette = tuple(found.get(name) or colour for name, colour in zip(names, chosen, strict=True))
    numbers = {name: names.index(_meaning(name)) for name in source.classes if _meaning(name) in names}
    void = {name: IGNORE for name in source.classes if _is_void(name)}
    return ClassNumbers(ClassInfo(tuple(names), palette), numbers | void)


def _is_void(name: str) -> bool:
    return name.casefold() in _VOIDS


def _is_background(name: str) -> bool:
    return name.casefold() in _BACKGROUNDS


def _meaning(name: str) -> str:
    return BACKGROUND if _is_background(name) else name or _UNNAMED
