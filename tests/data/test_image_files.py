"""Every kind of image file becomes upright 8-bit RGB; broken ones are named."""

from __future__ import annotations

import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.data import image_files
from recoseg.data.image_files import image_suffixes, read_image, read_label_pixels, read_rgb
from recoseg.data.problem import FileError
from recoseg.errors import UserError


def pixel(path: Path) -> list[int]:
    """The RGB of the top left pixel."""
    return read_image(path)[:, 0, 0].tolist()


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_an_rgb_image_is_read_as_it_is(write, tmp_path):
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    image = read_image(write("a.png", pixels))
    assert image.dtype == torch.uint8
    assert image.shape == (3, 2, 3)
    assert torch.equal(image, torch.from_numpy(pixels).permute(2, 0, 1))


def test_a_grey_image_has_three_equal_channels(write):
    assert pixel(write("a.png", np.full((2, 2), 77, dtype=np.uint8))) == [77, 77, 77]


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("LA", (40, 0), [40, 40, 40]),
        ("RGBA", (10, 20, 30, 0), [10, 20, 30]),
        ("1", 1, [255, 255, 255]),
    ],
)
def test_transparency_is_dropped_and_one_bit_is_black_and_white(tmp_path, mode, colour, expected):
    Image.new(mode, (3, 2), colour).save(tmp_path / "a.png")
    assert pixel(tmp_path / "a.png") == expected


def test_a_palette_image_is_read_through_its_palette(write):
    assert pixel(write("a.png", np.ones((2, 2), dtype=np.uint8), "P")) == [10, 200, 10]


def test_a_palette_image_with_transparency_keeps_its_colours(tmp_path):
    image = Image.new("P", (2, 2), 0)
    image.putpalette([1, 2, 3])
    image.save(tmp_path / "a.png", transparency=0)
    assert pixel(tmp_path / "a.png") == [1, 2, 3]


def test_a_cmyk_image_becomes_rgb(tmp_path):
    Image.new("CMYK", (8, 8), (255, 0, 0, 0)).save(tmp_path / "a.tif")
    assert pixel(tmp_path / "a.tif") == [0, 255, 255]


def test_premultiplied_alpha_becomes_rgb(tmp_path):
    from recoseg.data.image_files import to_rgb

    assert to_rgb(Image.new("RGBa", (1, 1), (5, 6, 7, 255)), tmp_path).getpixel((0, 0)) == (5, 6, 7)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_a_grey_16_bit_image_keeps_its_range(write, suffix):
    path = write(f"a.{suffix}", np.array([[0, 257, 32896, 65535]], dtype=np.uint16))
    assert read_image(path)[0].tolist() == [[0, 1, 128, 255]]


def test_a_colour_16_bit_image_keeps_its_range(tmp_path):
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    scanline = b"\x00" + struct.pack(">HHH", 65535, 32896, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(scanline)), (b"IEND", b"")]
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks))
    assert pixel(tmp_path / "a.png") == [255, 128, 0]


def test_32_bit_values_that_fit_are_read_as_16_bit(write):
    assert read_image(write("a.tif", np.array([[0, 65535]], dtype=np.int32)))[0].tolist() == [[0, 255]]


def test_32_bit_values_that_do_not_fit_are_refused(write):
    with pytest.raises(FileError, match=r"a\.tif: 32-bit values from 0 to 70000; save it with 8 or 16 bits"):
        read_image(write("a.tif", np.array([[0, 70000]], dtype=np.int32)))


def test_float_images_from_0_to_1_are_scaled(write):
    assert read_image(write("a.tif", np.array([[0.0, 0.5, 1.0]], dtype=np.float32)))[0].tolist() == [
        [0, 128, 255]
    ]


def test_float_images_of_another_range_are_refused(write):
    with pytest.raises(FileError, match=r"float values from 0 to 3\.5; bring them to 0-1"):
        read_image(write("a.tif", np.array([[0.0, 3.5]], dtype=np.float32)))


def test_exif_orientation_turns_the_image_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: a viewer rotates by 90 degrees clockwise
    pixels = np.zeros((16, 32, 3), dtype=np.uint8)
    pixels[:, :16] = 255  # left half white: after the turn the upper half
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    image = read_image(tmp_path / "a.png")
    assert image.shape == (3, 32, 16)
    assert image[:, 0].eq(255).all()
    assert image[:, -1].eq(0).all()


def test_garbled_exif_does_not_hide_the_image(tmp_path):
    Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "a.png", exif=b"Exif\x00\x00garbage")
    assert pixel(tmp_path / "a.png") == [1, 2, 3]


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "tif", "bmp"])
def test_a_truncated_file_is_named_with_a_remedy(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UserError, match=rf"a\.{suffix}: .*; (copy or export|save it as)"):
        read_image(path)


def test_a_file_that_is_no_image_is_named(tmp_path):
    (tmp_path / "a.png").write_text("hello")
    with pytest.raises(UserError, match=r"a\.png: not an image .*PNG, WebP.*; save it as PNG or JPEG"):
        read_image(tmp_path / "a.png")


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "a.png").touch()
    with pytest.raises(UserError, match=r"a\.png: the file is empty \(0 bytes\)"):
        read_image(tmp_path / "a.png")


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(UserError, match=r"a\.png: the file does not exist"):
        read_image(tmp_path / "a.png")
    (tmp_path / "b.png").mkdir()
    with pytest.raises(UserError, match=r"b\.png: cannot be opened"):
        read_image(tmp_path / "b.png")


def test_an_image_of_too_many_pixels_is_refused(write, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    with pytest.raises(UserError, match="too many pixels to be read safely; cut the image into tiles"):
        read_image(write("a.png", np.zeros((10, 10), dtype=np.uint8)))


def test_errors_about_files_cross_process_borders():
    error = pickle.loads(pickle.dumps(FileError("a.png", "what", "remedy")))
    assert str(error) == "a.png: what; remedy"
    assert error.problem.remedy == "remedy"


@pytest.mark.parametrize("mode", [None, "P"])
def test_label_pixels_are_indices_not_colours(write, mode):
    pixels = np.array([[0, 1, 2]], dtype=np.uint8)
    assert read_label_pixels(write("a.png", pixels, mode)).tolist() == [[0, 1, 2]]


def test_label_pixels_of_16_bits_are_not_scaled(write):
    assert read_label_pixels(write("a.png", np.array([[1, 300]], dtype=np.uint16))).tolist() == [[1, 300]]


def test_label_pixels_of_a_one_bit_file_are_0_and_1(write):
    assert read_label_pixels(write("a.png", np.array([[True, False]]))).tolist() == [[1, 0]]


def test_label_pixels_of_a_transparent_grey_file_drop_the_transparency(tmp_path):
    Image.new("LA", (2, 1), (3, 0)).save(tmp_path / "a.png")
    assert read_label_pixels(tmp_path / "a.png").tolist() == [[3, 3]]


def test_label_pixels_of_a_colour_file_are_colours(write):
    assert read_label_pixels(write("a.png", np.ones((2, 5, 3), dtype=np.uint8))).shape == (2, 5, 3)


def test_common_suffixes_are_known():
    assert {".jpg", ".jpeg", ".png", ".webp", ".tif", ".bmp"} <= image_suffixes()
    assert ".txt" not in image_suffixes()


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_an_image_that_is_converted_band_by_band_is_the_same(tmp_path, monkeypatch, mode):
    generator = np.random.default_rng(0)
    colours = Image.fromarray(generator.integers(0, 256, (23, 17, 3), dtype=np.uint8))
    if mode == "I;16":
        image = Image.fromarray(generator.integers(0, 65536, (23, 17), dtype=np.uint16))
    elif mode == "F":
        image = Image.fromarray(generator.random((23, 17), dtype=np.float32))
    else:
        image = colours.convert(mode)
    image.save(tmp_path / "a.tif")
    whole = read_image(tmp_path / "a.tif")
    monkeypatch.setattr(image_files, "BAND_PIXELS", 60)  # three rows at a time
    assert torch.equal(read_image(tmp_path / "a.tif"), whole)
    assert np.array_equal(read_rgb(tmp_path / "a.tif"), whole.permute(1, 2, 0).numpy())
