"""The class list of a folder dataset: `classes.json`, or what its labels show when there is none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.colours import Colour, colours_of, distinct_colours
from recoseg.data.folder.object_ids import are_object_ids
from recoseg.data.image_files import read_label_pixels
from recoseg.data.label_codes import (
    ByColour,
    ByKind,
    ByValue,
    LabelCode,
    colour_codes,
    colour_of,
    ranges,
)
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.text import did_you_mean, nearest_name, require_plain_name
from recoseg.types import IGNORE, ClassInfo

_FIELDS = ("names", "palette", "ignore_index", "format", "partial")
_ALSO_CALLED = {"colors": "palette", "colours": "palette", "classes": "names", "void": "ignore_index"}
_FORMATS = ("index", "rgb", "binary", "instances")
_VALUE_REMEDY = "correct the label, or list the class in classes.json"
_OBJECT_REMEDY = f'{_VALUE_REMEDY}, or add "format": "instances" there if values are object ids'
_COLOUR_REMEDY = (
    'correct the label, or the "palette" in classes.json ("format": "index" if labels hold indices)'
)

_BLACK_AND_WHITE_COLOURS = {(0, 0, 0), (255, 255, 255)}

_TWO_CLASSES = {"binary": (0, 1, 255), "instances": (0, 1)}
"""Formats for two classes -> the values in them that are never void."""

_RULES = {
    "index": "values are class indices",
    "rgb": "colours are looked up in the palette",
    "binary": "0 is the first class, 255 (or 1) the second",
    "instances": "values are object ids: 0 is the first class, all others are the second",
    "both": "values are class indices; in RGB files colours are looked up in the palette",
}


@dataclass(frozen=True)
class LabelScheme:
    """The classes, how label files are read, that rule in words, and a class file if the user has none."""

    classes: ClassInfo
    code: LabelCode
    rule: str
    suggestion: Mapping[str, Any] | None = None
    partial: bool = False  # whether labels are marks in images rather than whole masks


@dataclass(frozen=True)
class _ClassFile:
    """What `classes.json` says; with `ignore_index` None no value is void, with `format` None see below."""

    names: tuple[str, ...]
    palette: tuple[Colour, ...] | None = None
    ignore_index: int | None = IGNORE
    format: str | None = None
    says_ignore: bool = False  # whether ignore_index was written down
    partial: bool = False


def label_scheme(root: Path, labels: Sequence[Path]) -> LabelScheme:
    """The scheme of the folder `root`, whose label files are `labels`."""
    path = root / "classes.json"
    if not os.path.lexists(path):
        found = _found_classes(path, labels)
        return replace(_scheme_of(_parse_class_file(found), found.get("format", "index")), suggestion=found)
    try:
        file = _parse_class_file(_read_json(path))
        return _scheme_of(file, _settled_format(file, labels))
    except UserError as error:
        raise FileError(path, str(error), "mend the file") from None


def _settled_format(file: _ClassFile, labels: Sequence[Path]) -> str:
    """The format written down, or else: colours through the palette in RGB files, values in all others.

    In two-class data 255 is the second class, rather than void, if no ignore_index is written down and
    all labels together hold nothing but 0 and 255: as void it would leave the second class without any pixel.
    """
    if file.format:
        return file.format
    if len(file.names) == 2 and not file.says_ignore and _only_black_and_white(labels):
        return "rgb" if set(file.palette or ()) == _BLACK_AND_WHITE_COLOURS else "binary"
    return "both" if file.palette else "index"


def _scheme_of(file: _ClassFile, label_format: str) -> LabelScheme:
    """Classes and label code for a class file whose format is settled."""
    # A listed class that is named as void is not learned: it leaves the list, and those after it move up.
    kept = [index for index in range(len(file.names)) if index != file.ignore_index]
    if not kept:
        raise UserError('"ignore_index" leaves no class; list at least one other')
    palette = file.palette or colours_of(file.names)
    classes = ClassInfo(tuple(file.names[k] for k in kept), tuple(palette[k] for k in kept))
    class_of = {value: index for index, value in enumerate(kept)}
    if file.ignore_index is not None:
        class_of[file.ignore_index] = IGNORE
    code, rule = _label_code(file, label_format, class_of), _rule_in_words(file, label_format)
    return LabelScheme(classes, code, rule, partial=file.partial)


def _label_code(file: _ClassFile, label_format: str, class_of: Mapping[int, int]) -> LabelCode:
    """Reads label files of that format; `class_of` maps the indices that the class file uses."""
    values = ByValue(class_of, remedy=_OBJECT_REMEDY if len(file.names) == 2 else _VALUE_REMEDY)
    if label_format == "index":
        return values
    void = {file.ignore_index: IGNORE} if file.says_ignore and file.ignore_index is not None else {}
    if label_format == "binary":
        return ByValue({0: 0, 1: 1, 255: 1, 65535: 1} | void, remedy=_VALUE_REMEDY)
    if label_format == "instances":
        return ByValue({0: 0} | dict.fromkeys(range(1, 65536), 1) | void, remedy=_VALUE_REMEDY)
    colours = ByColour(_colour_classes(file.palette or (), class_of), remedy=_COLOUR_REMEDY)
    return colours if label_format == "rgb" else ByKind(values=values, colours=colours)


def _rule_in_words(file: _ClassFile, label_format: str) -> str:
    """How label files are read, for the user to see."""
    void = file.ignore_index
    if void is None or (label_format in _TWO_CLASSES and not file.says_ignore):
        return _RULES[label_format]
    if void < len(file.names):
        return f"{_RULES[label_format]}; {file.names[void]!r} ({void}) is void"
    return _RULES[label_format] + (f"; {void} is void" if label_format != "rgb" else "")


def _colour_classes(palette: Sequence[Colour], class_of: Mapping[int, int]) -> dict[Colour, int]:
    """Colour -> class; a colour that stands for two classes is an error."""
    if len(set(palette)) < len(palette):
        twice = sorted({colour for colour in palette if palette.count(colour) > 1})
        raise UserError(
            f'"palette" has {list(twice[0])} twice, so RGB labels are ambiguous; give each its own'
        )
    return {colour: class_of[index] for index, colour in enumerate(palette)}


# Reading classes.json


def _read_json(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text, object_pairs_hook=_each_field_once)
    except UserError:
        raise
    except json.JSONDecodeError as error:
        raise UserError(f"line {error.lineno} is not JSON ({error.msg}); mend it there") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot be read ({error}); save it as JSON in UTF-8") from None


def _each_field_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object; of a field that is there twice, the first would be lost."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise UserError(f"the field {twice!r} is there twice; keep one of them")
    return fields


def _parse_class_file(content: object) -> _ClassFile:
    """The class file with every field checked."""
    if not isinstance(content, dict):
        raise UserError('must hold an object such as {"names": ["background", "leaf"]}')
    for field in content:
        _refuse_misspelt(field, missing=[name for name in _FIELDS if name not in content])
    names = _parse_names(content.get("names"))
    file = _ClassFile(
        names=names,
        palette=_parse_palette(content["palette"], len(names))
        if content.get("palette") is not None
        else None,
        ignore_index=_parse_ignore_index(content.get("ignore_index", IGNORE)),
        format=content.get("format"),
        says_ignore="ignore_index" in content and content["ignore_index"] is not None,
        partial=_parse_partial(content.get("partial", False)),
    )
    _check_format(file)
    return file


def _refuse_misspelt(field: str, *, missing: Sequence[str]) -> None:
    """Further fields, such as a note or a licence, are the user's own; one that was meant as ours is not."""
    meant = _ALSO_CALLED.get(field.lower()) or nearest_name(field, missing)
    if field not in _FIELDS and meant in missing:
        raise UserError(f"unknown field {field!r}; did you mean {meant!r}? Known: {', '.join(_FIELDS)}")


def _parse_names(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise UserError('"names" must be a list of class names, such as ["background", "leaf"]')
    ClassInfo(tuple(names), colours_of(names))  # says what else a list of names must be
    for name in names:
        require_plain_name(name, what="the class name")
    return tuple(names)


def _parse_palette(palette: object, num_classes: int) -> tuple[Colour, ...]:
    def is_colour(one: object) -> bool:
        return isinstance(one, list) and len(one) == 3 and all(type(c) is int and 0 <= c <= 255 for c in one)

    if not isinstance(palette, list) or not all(map(is_colour, palette)):
        raise UserError('"palette" must be a list of [red, green, blue] with numbers from 0 to 255')
    if len(palette) != num_classes:
        raise UserError(
            f'{num_classes} "names" but {len(palette)} colours in "palette"; give one colour a class'
        )
    return tuple((red, green, blue) for red, green, blue in palette)


def _parse_ignore_index(value: object) -> int | None:
    if value is None or (type(value) is int and 0 <= value <= 65535):
        return value
    raise UserError(f'"ignore_index" must be a value in the label files, 0 to 65535, or null, not {value!r}')


def _parse_partial(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise UserError(f'"partial" must be true or false, not {value!r}')


def _check_format(file: _ClassFile) -> None:
    """The format is known, and the other fields give what it needs."""
    if file.format is None:
        return
    if file.format not in _FORMATS:
        raise UserError(f'unknown "format" {file.format!r}{did_you_mean(str(file.format), _FORMATS)}')
    if file.format == "rgb" and not file.palette:
        raise UserError('"format": "rgb" needs a "palette": one [red, green, blue] a class')
    if file.format == "rgb" and file.says_ignore and file.ignore_index not in range(len(file.names)):
        remedy = "list the void colour as a class of its own and give the number of that class"
        raise UserError(f'"ignore_index" {file.ignore_index} is no colour of the palette; {remedy}')
    if file.format not in _TWO_CLASSES:
        return
    told = f'"format": "{file.format}"'
    if len(file.names) != 2:
        raise UserError(f'{told} needs two "names", not {len(file.names)}')
    if file.says_ignore and file.ignore_index in _TWO_CLASSES[file.format]:
        raise UserError(f'"ignore_index" {file.ignore_index} is a class in {told}; leave it out')


# What label files hold when no class file says so, and the class file that it suggests

_BLACK_AND_WHITE = {0, 255}


@dataclass(frozen=True)
class _Survey:
    """Everything that occurs in some label files: values of grey and palette files, colours of RGB files."""

    values: frozenset[int]
    colours: frozenset[int]  # 24-bit numbers
    trouble: FileError | None = None  # why a file could not be read


def _found_classes(path: Path, labels: Sequence[Path]) -> dict[str, Any]:
    """The content of a class file for labels that need no explanation, or an error that suggests one.

    Plain are: the values 0 to K-1, and perhaps 255 for void; or nothing but 0 and 255, a binary mask.
    Reads every label once. `path` is where the class file would be.
    """
    each = _survey(labels)
    found = _plain_values(_all_of(each))
    troubles = [one.trouble for one in each if one.trouble]
    if len(troubles) == len(labels) > 0:
        raise troubles[0]
    if are_object_ids([(path, one.values) for path, one in zip(labels, each, strict=True)]):
        held = ranges(sorted(found.values))
        what = f"missing, and the labels hold object ids ({held}), other ones in each image"
        suggestion = json.dumps({"names": ["background", "object"], "format": "instances"})
        raise FileError(path, what, f"to make all objects one class, save this as classes.json: {suggestion}")
    if found.colours:
        raise _class_file_wanted(
            path, f"the labels hold {len(found.colours)} colours", _suggest_colours(found.colours)
        )
    if found.values == _BLACK_AND_WHITE:
        return {"names": ["background", "foreground"], "format": "binary"}
    values = sorted(found.values - {IGNORE})
    if len(values) < 2:
        only = f"only the value {values[0]}" if values else "no class at all"
        raise _class_file_wanted(path, f"the labels hold {only}", {"names": ["background", "foreground"]})
    if values != list(range(len(values))):
        what = f"the label values ({ranges(sorted(found.values))}) do not run from 0 without a gap"
        raise _class_file_wanted(path, what, _suggest_values(values))
    return _index_classes(len(values))


def _survey(labels: Iterable[Path]) -> list[_Survey]:
    """Read the labels, in threads."""
    with ThreadPoolExecutor() as threads:
        return list(threads.map(_survey_file, labels))


def _all_of(surveys: Sequence[_Survey]) -> _Survey:
    """A file that cannot be read adds nothing: using it will say what is wrong."""
    return _Survey(
        frozenset().union(*(one.values for one in surveys)),
        frozenset().union(*(one.colours for one in surveys)),
    )


def _survey_file(path: Path) -> _Survey:
    try:
        pixels = read_label_pixels(path)
    except FileError as error:
        return _Survey(frozenset(), frozenset(), error)
    if pixels.ndim == 3:
        return _Survey(frozenset(), frozenset(np.unique(colour_codes(pixels)).tolist()))
    return _Survey(frozenset(np.flatnonzero(np.bincount(pixels.ravel())).tolist()), frozenset())


def _plain_values(found: _Survey) -> _Survey:
    """RGB files whose colours are all grey hold values, three times over."""
    greys = [colour_of(code) for code in found.colours]
    if any(red != green or green != blue for red, green, blue in greys):
        return found
    return _Survey(found.values | {red for red, _, _ in greys}, frozenset())


def _only_black_and_white(labels: Iterable[Path]) -> bool:
    """Whether all labels together hold the values 0 and 255 and no other; stops at the first other."""
    seen: set[int] = set()
    for path in labels:
        found = _plain_values(_survey_file(path))
        seen |= found.values
        if found.colours or not seen <= _BLACK_AND_WHITE:
            return False
    return seen == _BLACK_AND_WHITE


def _index_classes(num_classes: int) -> dict[str, Any]:
    return {
        "names": [f"class_{index}" for index in range(num_classes)],
        "palette": [list(colour) for colour in distinct_colours(num_classes)],
        "ignore_index": IGNORE,
    }


def _suggest_values(values: Sequence[int]) -> dict[str, Any] | None:
    """Indices with a few gaps, or grey levels that stand for classes."""
    if values[-1] < 2 * len(values):
        return _index_classes(values[-1] + 1)
    return _suggest_colours({value * 0x010101 for value in values}) if values[-1] <= 255 else None


def _suggest_colours(codes: Iterable[int]) -> dict[str, Any] | None:
    """One class a colour; None if there are too many to be classes."""
    colours = [colour_of(code) for code in sorted(codes)]
    if len(colours) > IGNORE:
        return None
    names = [f"class_{index}" for index in range(len(colours))]
    return {"names": names, "palette": [list(colour) for colour in colours], "format": "rgb"}


def _class_file_wanted(path: Path, what: str, suggestion: dict[str, Any] | None) -> FileError:
    """What the labels hold, and the class file that would settle it."""
    if suggestion is None:
        return FileError(path, f"missing, and {what}, too many for classes", "export the labels as plain PNG")
    remedy = f"say what they mean in that file, such as: {json.dumps(suggestion)}"
    return FileError(path, f"missing, and {what}", remedy)
