"""The pictures of the page."""

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.report.gallery import gallery
from recoseg.report.page import page
from recoseg.report.run_view import Picture
from recoseg.types import IGNORE


@pytest.fixture
def read_gallery(read_html):
    return lambda *runs: read_html(gallery(runs))


def pixels(image):
    data = b64decode(image.attributes["src"].split(",")[1])
    return np.array(Image.open(BytesIO(data)).convert("RGBA"))


def test_truth_and_prediction_decode_to_the_colours_of_the_classes(read_gallery, make_run, make_picture):
    run, picture = make_run(pictures=[make_picture()]), make_picture()
    truth, prediction = read_gallery(run).all("img", "map")
    palette = np.array(run.classes.palette)
    assert (pixels(truth)[..., :3] == palette[picture.truth]).all()
    assert (pixels(prediction)[..., :3] == palette[picture.prediction]).all()


def test_errors_are_where_the_prediction_differs(read_gallery, make_run, make_picture):
    wrong = pixels(read_gallery(make_run(pictures=[make_picture(height=8)])).one("img", "wrong"))
    assert (wrong[:4, :, 3] == 255).all()
    assert (wrong[4:, :, 3] == 0).all()


def test_every_run_has_a_tile_beside_one_image_and_one_truth(read_gallery, make_run, make_picture):
    runs = [make_run(name=name, pictures=[make_picture("a"), make_picture("b")]) for name in ("one", "two")]
    root = read_gallery(*runs)
    captions = [caption.text for caption in root.all("article")[1].all("figcaption")]
    assert captions == ["Image", "Truth", "one50.0% right", "two50.0% right"]
    assert [heading.text for heading in root.all("h3", "key")] == ["a", "b"]
    assert len(root.all("img", "photo")) == 2


def test_a_run_without_that_picture_says_so(read_gallery, make_run, make_picture):
    runs = [make_run(name="one", pictures=[make_picture("a")]), make_run(name="two")]
    tiles = read_gallery(*runs).all("figure", "tile")
    assert [tile.text for tile in tiles][2:] == ["one50.0% right", "no picturetwo"]


def test_images_have_sizes_and_texts_for_those_who_do_not_see_them(read_gallery, make_run, make_picture):
    images = read_gallery(make_run(pictures=[make_picture("a", height=8, width=12)])).all("img")
    assert [image.attributes["alt"] for image in images] == [
        "Image a",
        "True labels of a",
        "Prediction of plain for a, 50.0% right",
        "",  # the errors lie over the prediction, whose text tells how many there are
    ]
    assert {(image.attributes["width"], image.attributes["height"]) for image in images} == {("12", "8")}


def test_the_legend_has_the_classes_that_occur_and_void_only_if_it_does(read_gallery, make_run, make_picture):
    legend = read_gallery(make_run(pictures=[make_picture(num_classes=2)])).one("ul", "legend")
    assert [item.text for item in legend.all("li")] == ["road", "sky"]
    void = torch.full((8, 12), IGNORE, dtype=torch.uint8)
    sky = torch.ones(8, 12, dtype=torch.uint8)
    picture = Picture("void", torch.zeros(3, 8, 12, dtype=torch.uint8), void, sky)
    root = read_gallery(make_run(pictures=[picture]))
    assert [item.text for item in root.one("ul", "legend").all("li")] == ["sky", "void"]
    assert root.all("figcaption")[2].text == "Prediction– right"


def test_a_legend_box_has_the_colour_of_its_class(read_gallery, make_run, make_picture):
    boxes = read_gallery(make_run(pictures=[make_picture()])).one("ul", "legend").all("span", "box")
    assert boxes[0].attributes["style"] == "background:rgb(128,64,128)"


def test_the_switch_offers_three_views_and_begins_with_labels(read_gallery, make_run, make_picture):
    root = read_gallery(make_run(pictures=[make_picture()]))
    views = root.all("input", None, type="radio")
    assert [view.attributes["value"] for view in views] == ["labels", "overlay", "errors"]
    assert ["checked" in view.attributes for view in views] == [True, False, False]


def test_no_pictures_are_said_to_be_none(read_gallery, make_run):
    assert read_gallery(make_run()).text == "No pictures were taken."


def test_a_picture_of_one_pixel_is_shown(read_gallery, make_run):
    one = torch.zeros(1, 1, dtype=torch.uint8)
    root = read_gallery(
        make_run(pictures=[Picture("dot", torch.zeros(3, 1, 1, dtype=torch.uint8), one, one)])
    )
    assert all(pixels(image).shape == (1, 1, 4) for image in root.all("img"))


def test_twenty_large_pictures_of_three_runs_stay_under_ten_megabytes(make_run):
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(20, 3, 64, 128, generator=generator)
    images = torch.nn.functional.interpolate(coarse, size=(512, 1024), mode="bilinear")
    images = ((images + 0.05 * torch.randn(images.shape, generator=generator)).clamp(0, 1) * 255).to(
        torch.uint8
    )
    blocks = torch.randint(0, 3, (20, 1, 32, 64), generator=generator).float()
    labels = torch.nn.functional.interpolate(blocks, size=(512, 1024))[:, 0].to(torch.uint8)
    pictures = [Picture(str(i), images[i], labels[i], labels[i].roll(5, 1)) for i in range(20)]
    html = page([make_run(pictures=pictures) for _ in range(3)], title="Large")
    assert html.count("<img") == 20 * (2 + 3 * 2)
    assert len(html.encode()) < 10_000_000
