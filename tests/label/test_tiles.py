"""Tiles of large images: right at every level, and no more of the image decoded than they show."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from recoseg.label.tiles import TILE, Pyramids, num_levels, thumbnail

CODE = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
import recoseg.label.features
from recoseg.label.tiles import Pyramids, thumbnail

path = Path(sys.argv[1])
before = getrusage(RUSAGE_SELF).ru_maxrss
if sys.argv[2] == "tile":
    Pyramids().tile(path, (8000, 6000), 4, 0, 0)
elif sys.argv[2] == "thumbnail":
    thumbnail(path, path.parent / "thumbnails")
else:
    recoseg.label.features.read_lowered(path)
print(getrusage(RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("what", ["tile", "thumbnail", "features"])
def test_a_large_jpeg_takes_little_memory_where_it_is_shown_small(what, tmp_path):
    path = tmp_path / "large.jpg"
    Image.new("RGB", (8000, 6000), (90, 120, 60)).save(path)
    done = subprocess.run(
        [sys.executable, "-c", CODE, path, what], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 60_000  # kB; decoded it is 144 MB as bytes, and 576 MB as floats


@pytest.mark.parametrize("suffix", ["jpg", "png"])
@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize("first", [0, 1, 3])
def test_tiles_of_all_levels_show_the_upright_image(suffix, orientation, first, tmp_path):
    """Of odd sizes, whichever level is requested first."""
    rows, columns = np.mgrid[:1501, :2403]
    pixels = np.stack((rows / 6, columns / 10, 128 + 0 * rows), axis=2).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(pixels).save(path, exif=exif, **({"quality": 95} if suffix == "jpg" else {}))
    upright = Image.fromarray(np.rot90(pixels, -1) if orientation == 6 else pixels)
    width, height = upright.size
    pyramids = Pyramids()
    for level in (first, *range(num_levels(width, height))):
        across, down = (-(-side // 2**level) for side in (width, height))
        tiles = [
            [tile_of(pyramids.tile(path, (width, height), level, x, y)) for x in range(-(-across // TILE))]
            for y in range(-(-down // TILE))
        ]
        shown = np.concatenate([np.concatenate(row, axis=1) for row in tiles])
        assert shown.shape == (down, across, 3)
        expected = np.asarray(upright.reduce(2**level)).astype(int)
        np.testing.assert_allclose(shown, expected, atol=8)


def tile_of(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image).astype(int)


def test_a_thumbnail_fits_its_square_and_is_kept(tmp_path):
    path = tmp_path / "a.jpg"
    Image.new("RGB", (3000, 900), (90, 120, 60)).save(path)
    content = thumbnail(path, tmp_path / "kept")
    assert tile_of(content).shape == (58, 192, 3)
    assert [file.read_bytes() for file in (tmp_path / "kept").iterdir()] == [content]
    assert thumbnail(path, tmp_path / "kept") == content
