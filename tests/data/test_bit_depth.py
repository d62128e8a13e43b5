"""12-bit data in 16-bit files: one scale for a folder, measured, told and kept in the run."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from recoseg.data.bit_depth import measure_bit_depth
from recoseg.data.dataset_check import check_folder
from recoseg.data.folder import Folder
from recoseg.data.image_files import read_image
from recoseg.errors import UserError


def grey(path, *values: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array([values], dtype=np.uint16)).save(path)


def colour(path, *values: int) -> None:
    """A PNG with 16 bits a channel, one pixel of these values."""
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    line = b"\x00" + struct.pack(">HHH", *values)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(line)), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in parts]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def images(tmp_path):
    return sorted((tmp_path / "images").iterdir())


@pytest.mark.parametrize(
    ("largest", "bits"), [(0, 8), (255, 8), (256, 9), (1023, 10), (4095, 12), (4096, 13), (65535, 16)]
)
def test_bit_depth_is_that_of_the_largest_value_in_all_images(tmp_path, largest, bits):
    grey(tmp_path / "images" / "a.tif", 0, min(3, largest))
    grey(tmp_path / "images" / "b.png", largest)
    Image.new("RGB", (2, 2), (255, 255, 255)).save(tmp_path / "images" / "c.png")
    assert measure_bit_depth(images(tmp_path), num_workers=1) == bits


def test_images_of_8_bits_have_no_depth_to_measure(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("L", (2, 2), 9).save(tmp_path / "images" / "a.png")
    Image.new("RGB", (2, 2)).save(tmp_path / "images" / "b.jpg")
    (tmp_path / "images" / "c.tif").write_bytes(b"damaged")  # named by whatever uses it
    assert measure_bit_depth(images(tmp_path), num_workers=1) is None


def test_images_are_scaled_by_their_depth_and_brighter_values_become_white(tmp_path):
    grey(tmp_path / "a.tif", 0, 16, 2048, 4095, 5000)
    assert read_image(tmp_path / "a.tif", bit_depth=12)[0].tolist() == [[0, 1, 128, 255, 255]]
    assert read_image(tmp_path / "a.tif")[0].tolist() == [[0, 0, 8, 16, 19]]


def test_check_names_the_depth(folder, rows):
    folder.pairs(3)
    for name in ("000", "001", "002"):
        (folder.root / "images" / f"{name}.png").unlink()
        grey(folder.root / "images" / f"{name}.tif", *range(0, 4000, 1000))
    report = check_folder(folder.root)
    assert report.bit_depth == 12
    assert any("12 of 16 bits" in note and "0-4095" in note for note in report.notes)


def test_a_folder_reads_images_by_its_depth(folder):
    folder.pairs(2)
    (folder.root / "images" / "000.png").unlink()
    grey(folder.root / "images" / "000.tif", 4095)
    assert Folder(root=folder.root, bit_depth=12).image("000").max() == 255
    assert Folder(root=folder.root).image("000").max() == 16


def test_dark_colours_of_16_bits_are_refused_with_their_range(folder):
    folder.pairs(2)
    colour(folder.root / "images" / "000.png", 4095, 100, 7)
    colour(folder.root / "images" / "001.png", 2000, 100, 7)
    (problem,) = [one for one in check_folder(folder.root).problems if "16 bits a channel" in one.what]
    assert (problem.file, problem.remedy[:28]) == (
        str(folder.root / "images" / "000.png"),
        "save them with 8 bits a chan",
    )
    assert "0-4095" in problem.remedy
    with pytest.raises(UserError, match=r"16 bits a channel.*0-4095"):
        measure_bit_depth(images(folder.root), num_workers=1)
    colour(folder.root / "images" / "001.png", 60000, 100, 7)
    assert measure_bit_depth(images(folder.root), num_workers=1) is None
