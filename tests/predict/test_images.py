"""Paths, PIL images, arrays and tensors all become the same (3, H, W)."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.errors import UserError
from recoseg.predict.image_list import as_image, large_images_allowed


def test_every_kind_of_image_gives_the_same(photo, noise) -> None:
    path, pixels = photo("a.png", 4, 6), noise(4, 6)
    planes = torch.from_numpy(pixels).permute(2, 0, 1)
    for given in (path, str(path), Image.open(path), pixels, planes, pixels[::-1][::-1]):
        image = as_image(given)
        assert image.shape == (3, 4, 6)
        assert image.is_contiguous()
        assert torch.equal(image, planes)


def test_grey_arrays_and_tensors_have_three_equal_channels() -> None:
    grey = np.array([[0, 50, 255]], dtype=np.uint8)
    for given in (grey, torch.from_numpy(grey), Image.fromarray(grey)):
        assert as_image(given).tolist() == [grey.tolist()] * 3


@pytest.mark.parametrize(
    ("mode", "pixel", "expected"),
    [("1", 1, [255, 255, 255]), ("L", 7, [7, 7, 7]), ("I;16", 257 * 9, [9, 9, 9]),
     ("RGBA", (1, 2, 3, 0), [1, 2, 3]), ("CMYK", (0, 255, 255, 0), [255, 0, 0])],
)  # fmt: skip
def test_pil_images_of_other_modes_become_rgb(mode, pixel, expected) -> None:
    assert as_image(Image.new(mode, (2, 1), pixel))[:, 0, 1].tolist() == expected


def test_a_file_is_turned_upright_and_a_decoded_image_is_not(tmp_path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg", exif=exif)
    assert as_image(tmp_path / "a.jpg").shape == (3, 6, 4)
    assert as_image(Image.open(tmp_path / "a.jpg")).shape == (3, 4, 6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((4, 6, 3)), r"float64; needs uint8, 0 to 255: .*\(image \* 255\)"),
        (torch.zeros(3, 4, 6), r"torch\.float32; needs uint8"),
        (np.zeros((4, 6), dtype=np.uint16), "uint16; needs uint8.*bring it to 8 bits"),
        (np.zeros((3, 4, 6), dtype=np.uint8), r"\(3, 4, 6\).*image\.transpose\(1, 2, 0\)"),
        (torch.zeros(4, 6, 3, dtype=torch.uint8), r"\(4, 6, 3\).*image\.permute\(2, 0, 1\)"),
        (np.zeros((4, 6, 4), dtype=np.uint8), "leave out the fourth channel"),
        (torch.zeros(2, 3, 4, 6, dtype=torch.uint8), r"\(2, 3, 4, 6\).*as a list"),
        (np.zeros(5, dtype=np.uint8), r"\(5,\); needs"),
        (np.zeros((0, 6, 3), dtype=np.uint8), "no pixels"),
        (7, "got int"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_image_is_refused_with_advice(given, message) -> None:
    with pytest.raises(UserError, match=message):
        as_image(given)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UserError, match=r"nowhere\.png: the file does not exist"):
        as_image(Path("nowhere.png"))


def test_large_files_are_read_without_a_word_and_only_here(photo, monkeypatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)
    path = photo("a.png", 10, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_image(path).shape == (3, 10, 10)
        with large_images_allowed():
            Image.open(path).close()
    with pytest.raises(Image.DecompressionBombError):
        Image.open(path)
