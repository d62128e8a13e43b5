"""Writers of small datasets, as the folder of a user would hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

Write = Callable[..., Path]


def save(path: Path, pixels: Any, mode: str | None = None) -> Path:
    """Writes an array as an image file, making the folders it needs; `mode` "P" gives it a palette."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(pixels))
    if mode == "P":
        image = Image.frombytes("P", image.size, image.tobytes())
        image.putpalette([200, 10, 10, 10, 200, 10] + [10, 10, 200] * 254)  # colours that are not the indices
    image.save(path)
    return path


class FolderWriter:
    """Fills a folder dataset under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def image(self, name: str, height: int = 4, width: int = 6) -> Path:
        return save(self.root / "images" / name, np.full((height, width, 3), 90, dtype=np.uint8))

    def label(self, name: str, pixels: Any, mode: str | None = None) -> Path:
        return save(self.root / "labels" / name, np.asarray(pixels, dtype=np.uint8), mode)

    def pairs(self, count: int, *, unlabelled: int = 0) -> None:
        """`count` images with labels of the classes 0, 1 and 2, then some without any."""
        for index in range(count):
            self.image(f"{index:03d}.png")
            self.label(f"{index:03d}.png", label_rows(0, 1, 2, 255))
        for index in range(count, count + unlabelled):
            self.image(f"{index:03d}.png")

    def classes(self, **fields: Any) -> None:
        self.text("classes.json", json.dumps(fields))

    def text(self, name: str, content: str) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(content.encode())


def label_rows(*values: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A label with a row of 6 pixels for each value."""
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 6, axis=1)


@pytest.fixture
def folder(tmp_path: Path) -> FolderWriter:
    return FolderWriter(tmp_path / "data")


@pytest.fixture
def rows() -> Callable[..., Any]:
    return label_rows


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes one image file in the temporary folder: `write(name, pixels, mode)`."""

    def write_one(name: str, pixels: Sequence[Any], mode: str | None = None) -> Path:
        return save(tmp_path / name, pixels, mode)

    return write_one
