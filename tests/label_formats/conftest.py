"""Exports of labelling tools, written here in the layouts that the tools document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recoseg.label_formats import FORMATS
from recoseg.label_formats.importing import Imported, ImportRules, import_labels


@pytest.fixture
def photo(tmp_path) -> Callable[..., Path]:
    """`photo("a/x.jpg", 6, 8)` below `export/`, with an EXIF orientation if need be."""

    def save(name: str, height: int, width: int, orientation: int = 1) -> Path:
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.new("RGB", (width, height), (90, 120, 60))
        exif = Image.Exif()
        exif[0x0112] = orientation
        image.save(path, **({"exif": exif} if orientation != 1 else {}))
        return path

    return save


@pytest.fixture
def text(tmp_path) -> Callable[[str, Any], Path]:
    """Writes text, or JSON, below `export/`."""

    def save(name: str, content: Any) -> Path:
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return save


@pytest.fixture
def save(tmp_path) -> Callable[..., Path]:
    """Writes a label image below `export/`."""

    def write(name: str, pixels, palette=None) -> Path:
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(np.asarray(pixels, dtype=np.uint8))
        if palette:
            image.putpalette([value for colour in palette for value in colour])
        image.save(path)
        return path

    return write


class Result:
    """What an import made."""

    def __init__(self, folder: Path, told: Imported) -> None:
        self.folder, self.told = folder, told
        self.names = told.classes.names
        self.notes = dict(told.notes)

    def labels(self, key: str) -> np.ndarray:
        return np.asarray(Image.open(self.folder / "labels" / f"{key}.png"))

    def rows(self, key: str) -> list[str]:
        """A letter a pixel: the class's number, or a dot for void."""
        return ["".join("." if value == 255 else str(value) for value in row) for row in self.labels(key)]

    def keys(self, kind: str = "labels") -> list[str]:
        folder = self.folder / kind
        return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.*"))


@pytest.fixture
def imported(tmp_path) -> Callable[..., Result]:
    """`imported("coco")` imports `export/`, or another source, as the command does."""

    def run(
        name: str,
        source: Path | None = None,
        *,
        to: str = "own",
        photos: Path | None = None,
        copy: bool = False,
        workers: int = 1,
        **rules: Any,
    ) -> Result:
        place = source or tmp_path / "export"
        told = import_labels(
            FORMATS[name].read(place),
            tmp_path / to,
            rules=ImportRules(**rules),
            photos=photos,
            named_only=photos is None and place.is_file(),
            copy=copy,
            num_workers=workers,
        )
        return Result(tmp_path / to, told)

    return run


def coco_file(images: list[dict], annotations: list[dict], categories: list[dict] | None = None) -> dict:
    return {
        "images": images,
        "annotations": [{"id": number, "iscrowd": 0, **one} for number, one in enumerate(annotations)],
        "categories": categories or [{"id": 1, "name": "leaf"}, {"id": 2, "name": "stem"}],
    }


@pytest.fixture(name="coco_file")
def coco_file_fixture() -> Callable[..., dict]:
    return coco_file


@pytest.fixture
def box() -> Callable[..., list[float]]:
    """x, y, x, y, ... of a rectangle, as most tools write it."""
    return lambda left, top, right, bottom: [left, top, right, top, right, bottom, left, bottom]
