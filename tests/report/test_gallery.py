"""The pictures of the page."""

from base64 import b64decode
from dataclasses import replace
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


def views(root, name):
    """The images of all layers of one view."""
    return [layer.one("img") for layer in root.all("div", "layer", **{"data-view": name})]


def test_truth_and_prediction_decode_to_the_colours_of_the_classes(read_gallery, make_run, make_picture):
    run, picture = make_run(pictures=[make_picture()]), make_picture()
    root = read_gallery(run)
    [truth], [prediction] = views(root, "truth"), views(root, "prediction")
    palette = np.array(run.classes.palette)
    assert (pixels(truth)[..., :3] == palette[picture.truth]).all()
    assert (pixels(prediction)[..., :3] == palette[picture.prediction]).all()


def test_errors_are_where_the_prediction_differs(read_gallery, make_run, make_picture):
    [errors] = views(read_gallery(make_run(pictures=[make_picture(height=8)])), "errors")
    assert (pixels(errors)[:4, :, 3] == 255).all()
    assert (pixels(errors)[4:, :, 3] == 0).all()


def test_confidence_is_dark_where_the_network_is_unsure(read_gallery, make_run, make_picture):
    [confidence] = views(read_gallery(make_run(pictures=[make_picture(height=32, width=32)])), "confidence")
    brightness = pixels(confidence)[..., :3].mean(-1)
    assert brightness[:12].max() < brightness[20:].min()


def test_a_difference_tells_which_of_two_runs_is_right(read_gallery, make_run, make_picture):
    wrong_above = make_picture(height=8)
    right = replace(wrong_above, prediction=wrong_above.truth)
    runs = [make_run(name="first", pictures=[wrong_above]), make_run(name="second", pictures=[right])]
    [difference] = views(read_gallery(*runs), "difference")  # the first has none
    assert {tuple(pixel) for pixel in pixels(difference)[:4].reshape(-1, 4).tolist()} == {(70, 150, 255, 255)}
    assert (pixels(difference)[4:, :, 3] == 0).all()
    [reverse] = views(read_gallery(*runs[::-1]), "difference")
    assert {tuple(pixel) for pixel in pixels(reverse)[:4].reshape(-1, 4).tolist()} == {(240, 140, 0, 255)}


def test_every_run_has_a_tile_and_the_image_and_truth_are_there_once(read_gallery, make_run, make_picture):
    runs = [make_run(name=name, pictures=[make_picture("a"), make_picture("b")]) for name in ("one", "two")]
    root = read_gallery(*runs)
    captions = [caption.text for caption in root.all("article")[1].all("figcaption")]
    # sure: the mean of 127/255 and 1
    assert captions == ["one50.0% right, 74.9% sure", "two50.0% right, 74.9% sure"]
    assert [heading.text for heading in root.all("h3", "key")] == ["a", "b"]
    assert len(views(root, "image")) == len(views(root, "truth")) == 2
    assert len(views(root, "prediction")) == len(views(root, "confidence")) == len(views(root, "errors")) == 4


def test_a_run_without_that_picture_says_so(read_gallery, make_run, make_picture):
    runs = [make_run(name="one", pictures=[make_picture("a")]), make_run(name="two")]
    tiles = read_gallery(*runs).all("figure", "tile")
    assert tiles[1].text == "no picturenothing to comparetwo"


def test_a_picture_that_only_the_second_run_has_shows_its_image(read_gallery, make_run, make_picture):
    runs = [make_run(name="one"), make_run(name="two", pictures=[make_picture("a")])]
    root = read_gallery(*runs)
    assert len(views(root, "image")) == len(views(root, "prediction")) == 1


def test_images_have_sizes_and_texts_for_those_who_do_not_see_them(read_gallery, make_run, make_picture):
    images = read_gallery(make_run(pictures=[make_picture("a", height=8, width=12)])).all("img")
    assert [image.attributes["alt"] for image in images] == [
        "Image a",
        "True labels of a",
        "Prediction of plain for a",
        "Confidence of plain for a",
        "Errors of plain for a",
    ]
    assert {(image.attributes["width"], image.attributes["height"]) for image in images} == {("12", "8")}


def test_the_legend_has_the_classes_that_occur_and_void_only_if_it_does(read_gallery, make_run, make_picture):
    legend = read_gallery(make_run(pictures=[make_picture(num_classes=2)])).all("ul", "legend")[0]
    assert [item.text for item in legend.all("li")] == ["road", "sky"]
    void = torch.full((8, 12), IGNORE, dtype=torch.uint8)
    sky = torch.ones(8, 12, dtype=torch.uint8)
    picture = Picture("void", torch.zeros(3, 8, 12, dtype=torch.uint8), void, sky, sky)
    root = read_gallery(make_run(pictures=[picture]))
    assert [item.text for item in root.all("ul", "legend")[0].all("li")] == ["sky", "void"]
    assert root.one("figcaption").text == "– right, 0.4% sure"


def test_a_legend_box_has_the_colour_of_its_class(read_gallery, make_run, make_picture):
    boxes = read_gallery(make_run(pictures=[make_picture()])).all("ul", "legend")[0].all("span", "box")
    assert boxes[0].attributes["style"] == "background:rgb(128,64,128)"


@pytest.mark.parametrize(("num_runs", "more", "begin"), [(1, [], "side"), (2, ["difference"], "prediction")])
def test_the_switch_offers_the_views(read_gallery, make_run, make_picture, num_runs, more, begin):
    root = read_gallery(*(make_run(pictures=[make_picture()]) for _ in range(num_runs)))
    choices = root.all("input", None, type="radio")
    values = [choice.attributes["value"] for choice in choices]
    assert values == ["side", "image", "truth", "prediction", "confidence", "errors", *more]
    assert [
        value for value, choice in zip(values, choices, strict=True) if "checked" in choice.attributes
    ] == [begin]


def test_without_a_script_all_views_are_seen(read_gallery, make_run, make_picture):
    root = read_gallery(*(make_run(pictures=[make_picture()]) for _ in range(2)))
    assert root.one("div", id="gallery").attributes["data-view"] == "side"


def test_no_pictures_are_said_to_be_none(read_gallery, make_run):
    assert read_gallery(make_run()).text == "This page has no pictures."


def test_a_picture_of_one_pixel_is_shown(read_gallery, make_run):
    one = torch.zeros(1, 1, dtype=torch.uint8)
    picture = Picture("dot", torch.zeros(3, 1, 1, dtype=torch.uint8), one, one, one)
    root = read_gallery(make_run(pictures=[picture]))
    assert all(pixels(image).shape == (1, 1, 4) for image in root.all("img"))


def test_twenty_large_noisy_pictures_of_three_runs_stay_under_ten_megabytes(make_run):
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(4, 3, 64, 128, generator=generator)
    images = torch.nn.functional.interpolate(coarse, size=(512, 1024), mode="bilinear")
    noise = torch.randn(images.shape, generator=generator)
    images = ((images + 0.05 * noise).clamp(0, 1) * 255).to(torch.uint8)
    blocks = torch.randint(0, 3, (4, 1, 32, 64), generator=generator).float()
    labels = torch.nn.functional.interpolate(blocks, size=(512, 1024))[:, 0].to(torch.uint8)
    confidence = images[:, 0]  # as noisy as the image
    pictures = [Picture(str(i), images[i], labels[i], labels[i].roll(5, 1), confidence[i]) for i in range(4)]
    others = [replace(picture, prediction=picture.prediction.roll(3, 0)) for picture in pictures]
    html = page([make_run(pictures=shown) for shown in (pictures, others, others)], title="Large")
    assert html.count('class="layer"') == 4 * (2 + 3 * 3 + 2)
    assert 5 * len(html.encode()) < 10_000_000  # four pictures stand for twenty
