"""PNG masks, a file for each class of images/NAME.jpg: masks/CLASS/NAME.png or masks/NAME_CLASS.png.

masks/NAME.png, without a class, is the foreground. A number at the end counts objects: NAME_leaf_2.png.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from recoseg.data.folder.listing import walk_folder
from recoseg.errors import UserError
from recoseg.label_formats.annotation import AnnotatedImage, LabelSource, Shape

_FOREGROUND = "foreground"
_BETWEEN = "_-. "
_NUMBER = re.compile(r"[_\-. ]?\d+$")


def recognises(source: Path) -> bool:
    return (source / "images").is_dir() and bool(walk_folder(source / "masks").images)


def read(source: Path) -> LabelSource:
    """Read the folder of images/ and masks/."""
    if not recognises(source):
        raise UserError(f"{source} should hold images/ and masks/ with a mask for each class of an image")
    photos = {_key_of(path, source / "images"): path for path in walk_folder(source / "images").images}
    shapes: dict[str, list[Shape]] = {key: [] for key in photos}
    notes: Counter[str] = Counter()
    for path in walk_folder(source / "masks").images:
        found = _find_photo(_key_of(path, source / "masks"), photos)
        if found is None:
            notes["masks without an image of their name: left out"] += 1
        else:
            key, name = found
            shapes[key].append(Shape(name, path))
    images = [
        AnnotatedImage(
            path.relative_to(source).as_posix(), shapes=tuple(shapes[key]), listed=bool(shapes[key])
        )
        for key, path in photos.items()
    ]
    return LabelSource(source, images, masks=[source / "masks"], notes=notes)


def _key_of(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _find_photo(mask: str, photos: Mapping[str, Path]) -> tuple[str, str] | None:
    """Return the key of its image and its class."""
    if mask in photos:
        return mask, _FOREGROUND
    name, _, rest = mask.partition("/")
    if rest:
        inner = _find_photo(rest, photos)
        if inner is not None and (rest in photos or _NUMBER.fullmatch(rest.removeprefix(inner[0]))):
            return inner[0], name
    for end in range(len(mask) - 1, 0, -1):  # the longest name of an image that it begins with
        if mask[end] in _BETWEEN and mask[:end] in photos:
            return mask[:end], _NUMBER.sub("", mask[end + 1 :]) or _FOREGROUND
    return None
