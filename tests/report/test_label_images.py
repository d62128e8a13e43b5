from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.colours import distinct_colours
from recoseg.report.label_images import error_map_uri, label_map_uri, photo_uri, share_right, size_on_page
from recoseg.types import IGNORE, ClassInfo


def decoded(uri):
    head, data = uri.split(",")
    picture = Image.open(BytesIO(b64decode(data)))
    assert head == f"data:image/{picture.format.lower()};base64"
    return picture


def classes_of(count):
    return ClassInfo(tuple(map(str, range(count))), distinct_colours(count))


@pytest.mark.parametrize("count", [1, 2, 15, 16, 150, 255])
def test_a_label_map_shows_the_palette_and_void_is_transparent(count):
    classes = classes_of(count)
    labels = torch.tensor([[*range(count), IGNORE]], dtype=torch.uint8)
    pixels = np.array(decoded(label_map_uri(labels, classes)).convert("RGBA"))[0]
    assert [tuple(pixel[:3]) for pixel in pixels[:count]] == list(classes.palette)
    assert pixels[:, 3].tolist() == [255] * count + [0]


def test_background_is_told_from_the_other_classes_by_its_opacity():
    classes = ClassInfo(("leaf", "background"), distinct_colours(2))
    labels = torch.tensor([[0, 1, IGNORE]], dtype=torch.uint8)
    pixels = np.array(decoded(label_map_uri(labels, classes)).convert("RGBA"))[0]
    assert pixels[:, 3].tolist() == [255, 254, 0]


def test_a_label_that_is_no_class_is_void():
    labels = torch.tensor([[0, 2, 7]], dtype=torch.uint8)
    assert np.array(decoded(label_map_uri(labels, classes_of(2))).convert("RGBA"))[0, :, 3].tolist() == [
        255,
        0,
        0,
    ]


def test_an_error_map_marks_wrong_pixels_but_never_void():
    truth = torch.tensor([[0, 1, IGNORE]], dtype=torch.uint8)
    prediction = torch.tensor([[0, 0, 0]], dtype=torch.uint8)
    pixels = np.array(decoded(error_map_uri(truth, prediction)).convert("RGBA"))[0]
    assert pixels[:, 3].tolist() == [0, 255, 0]
    assert tuple(pixels[1, :3]) == (230, 0, 60)


def test_the_share_of_right_pixels_leaves_void_out():
    truth = torch.tensor([[0, 1, 1, 1, IGNORE]], dtype=torch.uint8)
    assert share_right(truth, torch.tensor([[0, 1, 1, 0, 0]], dtype=torch.uint8)) == 0.75
    assert share_right(torch.full((2, 2), IGNORE), torch.zeros(2, 2)) is None


def test_a_photograph_keeps_its_colours_and_channel_order():
    image = torch.tensor([200, 100, 50], dtype=torch.uint8)[:, None, None].expand(3, 16, 24)
    picture = decoded(photo_uri(image))
    assert picture.size == (24, 16)
    assert np.abs(np.array(picture).astype(int) - [200, 100, 50]).max() <= 3


@pytest.mark.parametrize(
    ("height", "width", "shown"), [(512, 1024, (768, 384)), (768, 100, (100, 768)), (9, 9000, (768, 1))]
)
def test_long_pictures_are_scaled_down_and_others_left(height, width, shown):
    assert size_on_page(height, width) == shown
    assert decoded(label_map_uri(torch.zeros(height, width, dtype=torch.uint8), classes_of(2))).size == shown
    assert decoded(photo_uri(torch.zeros(3, height, width, dtype=torch.uint8))).size == shown


def test_scaling_a_label_map_invents_no_class_between_two_others():
    classes = ClassInfo(("black", "red", "white"), ((0, 0, 0), (255, 0, 0), (255, 255, 255)))
    labels = (torch.arange(1000) % 2 * 2).to(torch.uint8).repeat(3, 1)
    pixels = np.array(decoded(label_map_uri(labels, classes)).convert("RGB"))
    assert {tuple(pixel) for pixel in pixels.reshape(-1, 3).tolist()} == {(0, 0, 0), (255, 255, 255)}
