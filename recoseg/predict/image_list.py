"""Whatever a person calls images -> those that are meant, each with a name for its results, as tensors."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recoseg.data.folder.listing import walk_folder
from recoseg.data.image_files import FULL_DEPTH, image_suffixes, read_image, rgb_planes
from recoseg.errors import UserError
from recoseg.files import real


@dataclass(frozen=True)
class ImageFile:
    """An image, as it was given, and the name of its results: a path without a suffix below their folder."""

    path: Path
    name: Path


@dataclass(frozen=True)
class Source:
    """What one word stands for: files, all below `root`."""

    root: Path
    files: Sequence[Path]
    is_folder: bool = False


def find_images(words: Sequence[str | Path], *, out: Path) -> list[ImageFile]:
    """The images that the words name, each once, in the order of the words.

    Sub-folders are kept: names are relative to the folder that all the words have in common. Nothing may be
    taken from `out` or written between the images.
    """
    sources = [_source_of(str(word)) for word in words]
    _refuse_results_among_images(sources, out)
    files = _each_once([located(file) for one in sources for file in one.files])
    shared = os.path.commonpath([located(one.root) for one in sources])
    return [
        ImageFile(_as_given(file), name) for file, name in zip(files, names_of(files, shared), strict=True)
    ]


def _source_of(word: str) -> Source:
    path = Path(word)
    if path.is_dir():
        files = walk_folder(path).images
        if not files:
            raise UserError(f"no images in {word}, nor in its sub-folders; files are told by their suffix")
        return Source(path, files, is_folder=True)
    if os.path.lexists(path):
        return Source(path.parent, [path])  # named itself: also without an image's suffix
    if has_magic(word):
        return _pattern_source(word)
    raise UserError(f"there is no file or folder {word}")


def _pattern_source(word: str) -> Source:
    """What the shell would make of it; folders among it are searched, files that are no images left out."""
    matches = sorted({Path(match) for match in matching(Path(word).parts) if not _leads_back(Path(match))})
    files = [
        file for match in matches for file in ([match] if match.is_file() else walk_folder(match).images)
    ]
    images = [file for file in files if file.suffix.lower() in image_suffixes()]
    if not images:
        raise UserError(f"no image matches {word}")
    plain = Path(*_before_magic(Path(word).parts[:-1]))
    return Source(plain, images)


def matching(parts: Sequence[str]) -> Iterator[str]:
    """What glob finds; but `**` looks into every folder once, where glob goes round in loops of links."""
    if "**" not in parts:
        yield from glob(str(Path(*parts)))  # noqa: PTH207
        return
    place = parts.index("**")
    before, after = Path(*parts[:place]), parts[place + 1 :]
    for start in glob(str(before)):  # noqa: PTH207
        for folder in walk_folder(Path(start)).folders:
            yield from matching([*Path(escape(str(folder))).parts, *(after or ["*"])])


def _leads_back(path: Path) -> bool:
    """Whether it is a link to a folder in which it lies."""
    return path.is_symlink() and real(path.parent).is_relative_to(real(path))


def _before_magic(parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        if has_magic(part):
            return
        yield part


def _refuse_results_among_images(sources: Sequence[Source], out: Path) -> None:
    target = real(out)
    for source in sources:
        if source.is_folder and target.is_relative_to(real(source.root)):
            raise UserError(
                f"the output folder {out} is inside the input folder {source.root}, where results would be "
                "taken for images the next time: choose a folder outside it with -o"
            )
        for file in source.files:
            if real(file).is_relative_to(target):
                raise UserError(
                    f"the image {file} is inside the output folder {out}: choose another folder with -o"
                )


def names_of(files: Sequence[Path], shared: str) -> list[Path]:
    """Without the suffix, unless another image would have the same name then."""
    stems, whole = Counter(file.with_suffix("") for file in files), set(files)
    return [
        (
            file if stems[file.with_suffix("")] > 1 or file.with_suffix("") in whole else file.with_suffix("")
        ).relative_to(shared)
        for file in files
    ]


def _each_once(files: Sequence[Path]) -> list[Path]:
    """Files that several links to their folder lead to under one name: that without links, or the first."""
    places = {folder: real(folder) for folder in {file.parent for file in files}}
    names: dict[Path, dict[Path, None]] = {}
    for file in files:
        names.setdefault(places[file.parent] / file.name, {})[file] = None
    return [place if place in found else next(iter(found)) for place, found in names.items()]


def located(path: Path) -> Path:
    """Absolute, with links as they are: their names are the ones that people know."""
    return Path(os.path.normpath(path.absolute()))


def _as_given(file: Path) -> Path:
    """Short, for messages: relative to the current folder where it lies below it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


ImageLike = str | Path | Image.Image | NDArray[Any] | Tensor

MOST_PIXELS = 10**9
"""Pillow warns of files beyond 89 megapixels, which might be made to fill the memory, and refuses twice that.

Here large images are expected, and whoever names a file wants it read: a gigapixel takes 7 GB.
"""

_SHAPES = "needs (H, W, 3) or (H, W) in an array, (3, H, W) or (H, W) in a tensor"


def as_image(given: ImageLike, *, bit_depth: int = FULL_DEPTH) -> Tensor:
    """RGB as (3, H, W) uint8. A file is turned upright; what is already decoded is taken as it lies."""
    if isinstance(given, str | Path):
        with large_images_allowed():
            return read_image(Path(given), bit_depth=bit_depth)
    if isinstance(given, Image.Image):
        planes = rgb_planes(given, "the image", bit_depth=bit_depth)
    elif isinstance(given, np.ndarray):
        planes = _from_array(given)
    elif isinstance(given, Tensor):
        planes = _from_tensor(given)
    else:
        raise UserError(f"an image is a path, a PIL image, an array or a tensor; got {type(given).__name__}")
    if not planes.numel():
        raise UserError(f"the image has no pixels: its shape is {tuple(planes.shape)}")
    return planes


def _from_array(array: NDArray[Any]) -> Tensor:
    _require_bytes(array.dtype == np.uint8, str(array.dtype))
    if array.ndim == 2:
        array = array[..., None].repeat(3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3:
        raise UserError(
            f"an image of shape {array.shape}; {_SHAPES}{advice(array.shape, 'transpose(1, 2, 0)')}"
        )
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def _from_tensor(tensor: Tensor) -> Tensor:
    _require_bytes(tensor.dtype == torch.uint8, str(tensor.dtype))
    if tensor.ndim == 2:
        tensor = tensor.expand(3, -1, -1)
    if tensor.ndim != 3 or tensor.shape[0] != 3:
        shape = tuple(tensor.shape)
        raise UserError(f"an image of shape {shape}; {_SHAPES}{advice(shape, 'permute(2, 0, 1)')}")
    return tensor.detach().cpu().contiguous()


def _require_bytes(is_bytes: bool, kind: str) -> None:
    if is_bytes:
        return
    to_do = (
        "of values in 0-1, give (image * 255).round() as uint8" if "float" in kind else "bring it to 8 bits"
    )
    raise UserError(f"an image of {kind}; needs uint8, 0 to 255: {to_do}")


def advice(shape: tuple[int, ...], turned: str) -> str:
    """What to do about some frequent mistakes."""
    if len(shape) == 4:
        return "; give several images as a list"
    if len(shape) != 3:
        return ""
    if 3 in (shape[0], shape[2]):
        return f"; the channels are elsewhere: image.{turned}"
    return "; leave out the fourth channel" if 4 in (shape[0], shape[2]) else ""


@contextmanager
def large_images_allowed() -> Iterator[None]:
    """Within it, Pillow reads files of up to `MOST_PIXELS` without a word, and none that are larger."""
    before, Image.MAX_IMAGE_PIXELS = (
        Image.MAX_IMAGE_PIXELS,
        MOST_PIXELS // 2,
    )  # Pillow refuses twice its limit
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
