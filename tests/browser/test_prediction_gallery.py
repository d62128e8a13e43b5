"""The gallery of predictions in a real browser: it loads what is in sight, sorts, fits a phone and paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.prediction import Prediction
from recoseg.report.prediction_gallery import write_gallery
from recoseg.types import ClassInfo

pytestmark = pytest.mark.browser

CLASSES = ClassInfo(("background", "leaf"), ((0, 0, 0), (0, 200, 0)))
COUNT = 300
SOME_NAMES = {7: "sub/<b>bold</b> #1?%20", 8: "x&amp;y"}


@pytest.fixture(scope="module")
def gallery(tmp_path_factory) -> Path:
    """Of 300 images, number k of which is sure by k / 300."""
    output = OutputFolder(path=tmp_path_factory.mktemp("out"))
    labels = np.zeros((60, 90), dtype=np.uint8)
    labels[20:, 30:] = 1
    image = torch.full((3, 60, 90), 150, dtype=torch.uint8)
    for k in range(COUNT):
        sure = np.full((60, 90), k / COUNT, dtype=np.float32)
        name = Path(SOME_NAMES.get(k, f"image {k}"))
        output.write(name, Prediction(image, labels, CLASSES, sure))
    return write_gallery(output, CLASSES, title="What run sees")


def names(tab) -> list[str]:
    return tab.run("[...document.querySelectorAll('#cards li')].map(card => card.dataset.name)")


def test_it_loads_what_is_in_sight_and_nothing_else(gallery, open_tab) -> None:
    tab = open_tab(gallery)
    tab.run("new Promise(done => setTimeout(done, 200))")
    asked = {event["request"]["url"] for event in tab.events("Network.requestWillBeSent")}
    pictures = {url for url in asked if "/thumbnails/" in url}
    assert 4 <= len(pictures) < COUNT / 2
    assert asked - pictures <= {gallery.as_uri(), "data:,"}
    assert tab.events("Runtime.exceptionThrown") == tab.events("Log.entryAdded") == []


def test_names_with_markup_lead_to_their_files(gallery, open_tab) -> None:
    tab = open_tab(gallery)
    assert tab.run("document.querySelectorAll('#cards b').length") == 0
    for name in SOME_NAMES.values():
        script = """(async (name) => {
          const card = [...document.querySelectorAll("#cards li")].find(card => card.dataset.name === name);
          card.scrollIntoView({behavior: "instant"});
          const load = (src) => new Promise((yes, no) => {
            const image = new Image();
            image.onload = () => yes(image.naturalWidth);
            image.onerror = no;
            image.src = src;
          });
          return [card.querySelector(".key").textContent, await load(card.querySelector("img").src),
                  await load(card.querySelector("a").href)];
        })(%r)"""
        assert tab.run(script % name) == [name, 3 * 90, 90]


def test_it_can_be_sorted(gallery, open_tab) -> None:
    tab = open_tab(gallery)
    least_first = names(tab)
    assert least_first[:2] == ["image 0", "image 1"]
    for order, first in (("most", "image 299"), ("name", "image 0"), ("least", "image 0")):
        tab.run(f"order.value = {order!r}; order.dispatchEvent(new Event('change'))")
        assert names(tab)[0] == first
    assert names(tab) == least_first
    tab.run("order.value = 'name'; order.dispatchEvent(new Event('change'))")
    assert names(tab)[1:4] == ["image 1", "image 2", "image 3"], "numbers in names count as numbers"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "view", "panels"), [(360, "overlay", 1), (1280, "side", 3)])
def test_every_width_holds_it(gallery, open_tab, dark, width, view, panels) -> None:
    tab = open_tab(gallery, width=width, dark=dark)
    assert tab.run("document.documentElement.scrollWidth") == width
    assert tab.run("cards.dataset.view") == view
    ratio = (
        "(({width, height}) => width / height)(document.querySelector('#cards img').getBoundingClientRect())"
    )
    assert tab.run(ratio) == pytest.approx(panels * 1.5, rel=0.01)


def test_one_chooses_what_is_shown_and_paper_shows_all(gallery, open_tab) -> None:
    tab = open_tab(gallery)
    place = "getComputedStyle(document.querySelector('#cards img')).objectPosition"
    for view, position in (("image", "0% 0px"), ("overlay", "50% 0px"), ("confidence", "100% 0px")):
        tab.click(f"input[value={view}] + span")
        assert tab.run(place) == position
    assert tab.pdf().startswith(b"%PDF")
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.run("cards.dataset.view") == "side"
    tab.run("window.dispatchEvent(new Event('afterprint'))")
    assert tab.run("cards.dataset.view") == "confidence"
