"""How label files say which class a pixel has: by value, by colour, or as the kind of the file tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recoseg.colours import Colour
from recoseg.data.image_files import Pixels, read_label_colours, read_label_pixels
from recoseg.data.problem import FileError

Labels = NDArray[np.uint8]  # (H, W) class indices, IGNORE where there is none

_MEND_CLASSES = "mend the label, or add what is missing to the class list"


class LabelCode(Protocol):
    """Reads label files into class indices. It must pickle, because worker processes use it too."""

    def decode(self, path: Path) -> Labels:
        """The class indices of a label file, (H, W); a `FileError` if it holds anything that has no class."""


class ByValue:
    """`classes` maps the values in grey, palette and 1-bit label files to class indices (or IGNORE)."""

    def __init__(self, classes: Mapping[int, int], *, remedy: str = _MEND_CLASSES) -> None:
        self._allowed = sorted(classes)
        self._remedy = remedy
        self._table = np.full(65536, -1, dtype=np.int16)
        self._table[list(classes.keys())] = list(classes.values())

    def decode(self, path: Path) -> Labels:
        return self.decode_pixels(_grey_values(read_label_pixels(path), path), path)

    def decode_pixels(self, values: Pixels, path: Path) -> Labels:
        """(H, W) values -> (H, W) class indices; `path` is for the error."""
        classes = np.take(self._table, values)
        if classes.min() < 0:
            unknown = np.unique(values[classes < 0]).tolist()
            what = f"{_some('value', unknown)} outside the class list ({ranges(self._allowed)})"
            raise FileError(path, what, _remedy_of(len(unknown)) or self._remedy)
        return classes.astype(np.uint8)


class ByColour:
    """`classes` maps the RGB colours in label files to class indices (or IGNORE)."""

    def __init__(self, classes: Mapping[Colour, int], *, remedy: str = _MEND_CLASSES) -> None:
        self._remedy = remedy
        codes = colour_codes(np.array(list(classes.keys()), dtype=np.uint8))
        order = np.argsort(codes)
        self._codes = codes[order]
        self._classes = np.array(list(classes.values()), dtype=np.uint8)[order]

    def decode(self, path: Path) -> Labels:
        return self.decode_pixels(read_label_colours(path), path)

    def decode_pixels(self, colours: Pixels, path: Path) -> Labels:
        """(H, W, 3) colours -> (H, W) class indices; `path` is for the error."""
        codes = colour_codes(colours)
        nearest = np.searchsorted(self._codes, codes).clip(max=len(self._codes) - 1)
        known = self._codes[nearest] == codes
        if not known.all():
            unknown = [colour_of(code) for code in np.unique(codes[~known]).tolist()]
            what = f"{_some('colour', unknown)} not in the palette"
            raise FileError(path, what, _remedy_of(len(unknown)) or self._remedy)
        return np.take(self._classes, nearest)


class ByKind:
    """Colour files by colour, all others by value."""

    def __init__(self, *, values: ByValue, colours: ByColour) -> None:
        self._values = values
        self._colours = colours

    def decode(self, path: Path) -> Labels:
        pixels = read_label_pixels(path)
        code = self._colours if pixels.ndim == 3 else self._values
        return code.decode_pixels(pixels, path)


def _grey_values(pixels: Pixels, path: Path) -> Pixels:
    """(H, W) values, also of an RGB file whose three channels are the same, as some programs write it."""
    if pixels.ndim == 2:
        return pixels
    if not _is_grey(pixels):
        what = "a colour image, where class values are expected"
        raise FileError(path, what, 'give a "palette" in classes.json (and no "format", or "rgb")')
    return pixels[..., 0]


def _is_grey(colours: Pixels) -> bool:
    """Whether the three channels of (..., 3) are the same everywhere."""
    return bool((colours[..., :1] == colours[..., 1:]).all())


def colour_codes(colours: Pixels) -> NDArray[np.uint32]:
    """(..., 3) RGB -> (...) the 24-bit number 0xRRGGBB."""
    red, green, blue = (colours[..., channel].astype(np.uint32) for channel in range(3))
    return red << np.uint32(16) | green << np.uint32(8) | blue


def colour_of(code: int) -> Colour:
    """The RGB colour of a 24-bit number."""
    return code >> 16, code >> 8 & 255, code & 255


def _some(noun: str, found: Sequence[object]) -> str:
    """A few of the things found, as subject of a sentence: "value 7 is", "values 7, 9 and 12 more are"."""
    if len(found) == 1:
        return f"{noun} {found[0]} is"
    shown = ", ".join(str(one) for one in found[:4])
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return f"{noun}s {shown}{more} are"


def ranges(values: Iterable[int]) -> str:
    """Sorted numbers in words: 0, 1, 2, 255 -> "0-2, 255"."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _remedy_of(num_unknown: int) -> str | None:
    """What to say when the values look smeared by compression or smoothing rather than mislabelled."""
    if num_unknown > 50:
        return "export the labels again as PNG without smoothing or rescaling"
    return None
