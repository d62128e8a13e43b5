"""Image and label files: read as 8-bit RGB, or as the numbers a label holds; written as PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo

from recoseg.data.problem import FileError
from recoseg.errors import is_shortage
from recoseg.files import regular
from recoseg.text import is_text
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from torch import Tensor

Pixels = NDArray[Any]

FORMATS = {
    "JPEG": "JPEG",
    "PNG": "PNG",
    "WEBP": "WebP",
    "TIFF": "TIFF",
    "BMP": "BMP",
    "GIF": "GIF",
    "JPEG2000": "JPEG 2000",
    "AVIF": "AVIF",
    "PPM": "PPM",
}
"""Pillow's name -> what people say. No other decoder ever sees a file, whatever its suffix: Pillow has forty,
one of which starts Ghostscript, and others that hardly anybody looks after."""

# What Pillow raises on damaged files after they are decoded; before that it may be anything.
_DECODER_ERRORS = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, MemoryError)


BAND_PIXELS = 2**22
"""How much of an image is converted at once: a large one never exists in whole copies of every stage."""


FULL_DEPTH = 16
"""Bits of a grey image of more than 8 bits; how many of them hold data depends on the camera."""


def read_image(path: Path, *, bit_depth: int = FULL_DEPTH) -> Tensor:
    """The image upright (by its EXIF orientation) and in RGB, (3, H, W) uint8."""
    with _opened(path) as image:
        _make_upright(image)
        return rgb_planes(image, path, bit_depth=bit_depth)


def rgb_planes(image: Image.Image, path: str | Path, *, bit_depth: int = FULL_DEPTH) -> Tensor:
    """Any decoded image in RGB, as it lies, (3, H, W) uint8. `path` is what an error calls it."""
    import torch

    width, height = image.size
    planes = np.empty((3, height, width), dtype=np.uint8)
    step = max(1, BAND_PIXELS // width)
    for top in range(0, height, step):
        rows = slice(top, min(top + step, height))
        band = image if step >= height else image.crop((0, rows.start, width, rows.stop))
        planes[:, rows] = np.asarray(to_rgb(band, path, bit_depth=bit_depth)).transpose(2, 0, 1)
    return torch.from_numpy(planes)


def read_rgb(path: Path, *, bit_depth: int = FULL_DEPTH) -> NDArray[np.uint8]:
    """The image upright (by its EXIF orientation) and in RGB, (H, W, 3), writable."""
    with _opened(path) as image:
        _make_upright(image)
        return np.array(to_rgb(image, path, bit_depth=bit_depth), dtype=np.uint8)


def open_rgb(path: Path, *, reduce: int) -> Image.Image:
    """The image upright and in RGB. A JPEG comes at 1/2, 1/4 or 1/8 of its size, at most 1/`reduce`."""
    with _opened(path, reduce=reduce) as image:
        _make_upright(image)
        return to_rgb(image, path)


def _make_upright(image: Image.Image) -> None:
    """Turn it as viewers show it; with garbled EXIF data it stays as stored."""
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # what garbled data makes Pillow raise depends on where it is garbled
        pass


def read_label_pixels(path: Path) -> Pixels:
    """The numbers of a label file, not their looks.

    Grey, palette and 1-bit files give (H, W) uint8 or uint16 (a palette file its indices); colour
    files give (H, W, 3) uint8. Transparency is dropped.
    """
    with _opened_labels(path) as image:
        if image.mode in ("LA", "La", "PA"):
            return np.array(image.getchannel(0), dtype=np.uint8)
        if image.mode in ("1", "L", "P"):
            return np.array(image, dtype=np.uint8)
        if image.mode.startswith("I"):
            return _sixteen_bit(image, path)
        return np.array(to_rgb(image, path), dtype=np.uint8)


def read_label_colours(path: Path) -> NDArray[np.uint8]:
    """The colours that a viewer shows for a label file, (H, W, 3); a palette file through its own palette."""
    with _opened_labels(path) as image:
        return np.array(to_rgb(image, path), dtype=np.uint8)


@contextmanager
def _opened_labels(path: Path) -> Iterator[Image.Image]:
    """A decoded label file; one in JPEG holds values that nobody drew, some of which are other classes."""
    with _opened(path) as image:
        if image.format == "JPEG":
            what = "labels in a JPEG file, which changes values along edges"
            raise FileError(path, what, "save labels as PNG, from the program that drew them")
        yield image


@contextmanager
def _opened(path: Path, *, reduce: int = 1) -> Iterator[Image.Image]:
    """The decoded file; whatever is wrong with it is a `FileError` that names it."""
    with _trouble_named(path, Exception):
        image = _recognised(path)
    with image:
        with _trouble_named(path, Exception):
            if reduce > 1:
                image.draft(None, (max(1, image.width // reduce), max(1, image.height // reduce)))
            image.load()
        with _trouble_named(path, *_DECODER_ERRORS):
            yield image


@dataclass(frozen=True)
class Brightness:
    """The largest value in an image of more than 8 bits; of a colour image in its upper 8 bits.

    Pillow reads 16 bits of grey images, and the upper 8 bits of colour images with 16 bits a channel.
    """

    largest: int
    is_colour: bool


def read_brightness(path: Path) -> Brightness | None:
    """None for an image of 8 bits, whose pixels are not read; float images count as such."""
    if path.suffix.lower() in _SUFFIXES_OF_8_BITS:
        return None
    with _trouble_named(path, Exception), _recognised(path) as image:
        # How Pillow unpacks pixels, such as "RGB;16B" or ("RGB;16L", 0, 1).
        is_colour = image.mode == "RGB" and any(";16" in str(tile.args) for tile in image.tile)
        is_grey = image.mode.startswith("I")
    if not (is_colour or is_grey):
        return None
    with _opened(path) as image:
        values: Pixels = _sixteen_bit(image, path) if is_grey else np.asarray(image)
        return Brightness(int(values.max()), is_colour)


_SUFFIXES_OF_8_BITS = frozenset({".jpg", ".jpeg", ".jfif", ".webp", ".bmp", ".gif"})
"""Files that have them need not be opened to know their depth."""


def num_pixels(path: Path) -> int:
    """By the file's header; a `FileError` if it has none, or more than may be read."""
    with _trouble_named(path, Exception), _recognised(path) as image:
        return image.width * image.height


def stored_size(path: Path) -> tuple[tuple[int, int], int]:
    """(height, width) as the file's header has it, and the EXIF orientation, 1 (upright) to 8."""
    with _trouble_named(path, Exception), _recognised(path) as image:
        size = (image.height, image.width)
        if image.format == "PNG" and not any(mark in path.read_bytes() for mark in _EXIF_MARKS):
            return size, 1  # Pillow would decode all of it to look for EXIF data at its end
        try:
            orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
        except MemoryError:
            raise
        except Exception:  # garbled, as above
            orientation = 1
        return size, orientation if orientation in range(1, 9) else 1


_EXIF_MARKS = (b"eXIf", b"Raw profile type", b"Orientation")


def upright_size(path: Path) -> tuple[int, int]:
    """(width, height) of what `read_image` would give, by the file's header; a `FileError` as above."""
    (height, width), orientation = stored_size(path)
    return (height, width) if orientation >= 5 else (width, height)


def _recognised(path: Path) -> ImageFile.ImageFile:
    """The file by its header alone; nothing but files is ever opened."""
    if not is_text(str(path)):
        raise not_text(path)
    return Image.open(regular(path), formats=_known_formats())


@contextmanager
def _trouble_named(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """What goes wrong with a file as a `FileError` that names it; `errors` count as damage."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(path, "the file does not exist", "restore it, or drop it from the dataset") from None
    except Image.DecompressionBombError:
        raise FileError(path, "too many pixels to be read safely", "cut the image into tiles") from None
    except UnidentifiedImageError:
        raise _unidentified(path) from None
    except errors as error:
        if is_shortage(error):
            what = "too large for the memory that is free"
            raise FileError(path, what, "close other programs, or cut it into tiles") from None
        if isinstance(error, OSError) and error.strerror:  # of the system; a decoder's has but words
            raise FileError(path, f"cannot be opened ({error.strerror})", "make it a readable file") from None
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(path, f"damaged or cut short ({reason})", "copy or export the file again") from None


def not_text(path: Path) -> FileError:
    """Lists, splits and pages hold names of images, and cannot hold this one."""
    return FileError(path, "its name is not UTF-8 text", "rename it")


def _unidentified(path: Path) -> FileError:
    """Why Pillow found no image in the file."""
    if path.stat().st_size == 0:
        return FileError(path, "the file is empty (0 bytes)", "copy or export the file again")
    what = f"not an image that can be read (these can: {', '.join(FORMATS.values())})"
    return FileError(path, what, "save it as PNG or JPEG, or move it elsewhere")


def to_rgb(image: Image.Image, path: str | Path, *, bit_depth: int = FULL_DEPTH) -> Image.Image:
    """Any mode as RGB. Float greys keep their range; transparency is dropped.

    In greys of more than 8 bits the largest number of `bit_depth` bits, and all above it, become white.
    """
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I"):
        white = 2**bit_depth - 1
        grey = np.round(np.minimum(_sixteen_bit(image, path), white) * (255 / white))
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        return Image.fromarray(_unit_float(image, path)).convert("RGB")
    if image.mode in ("La", "RGBa"):  # premultiplied: Pillow converts these one step at a time
        image = image.convert(image.mode.upper())
    return image.convert("RGB")


def _sixteen_bit(image: Image.Image, path: str | Path) -> NDArray[np.uint16]:
    """A grey file of more than 8 bits as (H, W) uint16; 32-bit files as long as their values fit."""
    values: Pixels = np.asarray(image)
    if values.min() < 0 or values.max() > 65535:
        what = f"32-bit values from {values.min()} to {values.max()}"
        raise FileError(path, what, "save it with 8 or 16 bits (0 to 65535)")
    return values.astype(np.uint16)


def _unit_float(image: Image.Image, path: str | Path) -> NDArray[np.uint8]:
    """A float file with values in [0, 1] as (H, W) uint8."""
    values: Pixels = np.asarray(image)
    if not (values.min() >= 0 and values.max() <= 1):  # also catches NaN
        what = f"float values from {values.min():g} to {values.max():g}"
        raise FileError(path, what, "bring them to 0-1, or save the file with 8 or 16 bits")
    return np.round(values * 255).astype(np.uint8)


@cache
def _known_formats() -> tuple[str, ...]:
    """Those of `FORMATS` that this Pillow was built with."""
    Image.init()  # registers all that it was
    return tuple(name for name in FORMATS if name in Image.OPEN)


def png_text(path: Path, name: str) -> str | None:
    """What `write_png` put into the header of a file under that name; None if there is nothing."""
    try:
        with Image.open(path, formats=("PNG",)) as image:
            words = image.info.get(name)
    except (*_DECODER_ERRORS, UnidentifiedImageError):
        return None
    return words if isinstance(words, str) else None


@cache
def image_suffixes() -> frozenset[str]:
    """Suffixes of the formats that are read, in lower case with their dot."""
    formats = Image.registered_extensions()
    return frozenset(suffix for suffix, name in formats.items() if name in _known_formats())


def write_png(
    file: BinaryIO,
    pixels: Pixels,
    *,
    palette: Sequence[tuple[int, int, int]] | None = None,
    text: Mapping[str, str] | None = None,
) -> None:
    """(H, W) of 8 or 16 bits as grey, (H, W, 3) as RGB; with a `palette`, indices into it, void as white.

    `text` goes into the file's header.
    """
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    if palette is not None:
        others = [(0, 0, 0)] * (IGNORE - len(palette)) + [(255, 255, 255)]  # with fewer, Pillow cuts off void
        picture.putpalette([value for colour in [*palette, *others] for value in colour])
    header = PngInfo()
    for name, words in (text or {}).items():
        header.add_text(name, words)
    picture.save(file, "PNG", compress_level=3, pnginfo=header)
