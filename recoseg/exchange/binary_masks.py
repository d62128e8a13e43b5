"""Binary masks, a file for each class of images/NAME.jpg: masks/CLASS/NAME.png or masks/NAME_CLASS.png.

masks/NAME.png, without a class, is the foreground. A number at the end counts objects: NAME_leaf_2.png.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from recoseg.data.folder.listing import walk_folder
from recoseg.errors import UserError
from recoseg.exchange.annotation import AnnotatedImage, LabelSource, MaskFile, Shape, classes_in

_FOREGROUND = "foreground"
_BETWEEN = "_-. "
_COUNTED = re.compile(r"[_\-. ]?\d+$")


def recognises(source: Path) -> bool:
    return (source / "images").is_dir() and bool(walk_folder(source / "masks").images)


def read(source: Path) -> LabelSource:
    photos = walk_folder(source / "images").images
    masks = walk_folder(source / "masks").images
    if not photos or not masks:
        raise UserError(f"{source} should hold images/ and masks/ with a mask for each class of an image")
    by_key = {_key(path, source / "images"): path for path in photos}
    shapes: dict[str, list[Shape]] = {key: [] for key in by_key}
    notes: Counter[str] = Counter()
    for path in masks:
        found = _of(_key(path, source / "masks"), by_key)
        if found is None:
            notes["masks that are called like no image: left out"] += 1
        else:
            key, name = found
            shapes[key].append(Shape(name, MaskFile(path)))
    images = [
        AnnotatedImage(
            path.relative_to(source).as_posix(), shapes=tuple(shapes[key]), listed=bool(shapes[key])
        )
        for key, path in by_key.items()
    ]
    return LabelSource(source, classes_in(images), images, masks=[source / "masks"], notes=notes)


def _key(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _of(mask: str, photos: Mapping[str, Path]) -> tuple[str, str] | None:
    """The key of its image and its class."""
    if mask in photos:
        return mask, _FOREGROUND
    name, _, rest = mask.partition("/")
    if rest:
        inner = _of(rest, photos)
        if inner is not None and (rest in photos or _COUNTED.fullmatch(rest.removeprefix(inner[0]))):
            return inner[0], name
    for end in range(len(mask) - 1, 0, -1):  # the longest name of an image that it begins with
        if mask[end] in _BETWEEN and mask[:end] in photos:
            return mask[:end], _COUNTED.sub("", mask[end + 1 :]) or _FOREGROUND
    return None
