"""The gallery of predictions as a tree of elements."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import torch

from recoseg.overlay import Overlay
from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.prediction import Prediction
from recoseg.report.prediction_gallery import gallery_page, write_gallery
from recoseg.types import ClassInfo

CLASSES = ClassInfo(("background", "<i>leaf</i>"), ((0, 0, 0), (0, 200, 0)))
NAMES = {"plain": 0.9, 'sub/<b> & "quoted" #1?%20': 0.5, "a\u2028line": 0.7}


@pytest.fixture
def output(tmp_path) -> OutputFolder:
    output = OutputFolder(path=tmp_path / "out")
    for name, sure in NAMES.items():
        image = torch.zeros((3, 6, 9), dtype=torch.uint8)
        labels = np.ones((6, 9), dtype=np.uint8)
        confidence = np.full((6, 9), sure, dtype=np.float32)
        output.write(Path(name), Prediction(image, labels, CLASSES, confidence))
    return output


def test_the_least_certain_come_first_and_names_with_markup_are_text(output, read_html) -> None:
    page = read_html(write_gallery(output, CLASSES, title="<run>").read_text(encoding="utf-8"))
    cards = page.one("ol").all("li")
    assert [card.one("p", "key").text for card in cards] == [
        'sub/<b> & "quoted" #1?%20', "a\\u2028line", "plain",
    ]  # fmt: skip
    assert [card.one("p", "sure").text for card in cards] == ["50.0% sure", "70.0% sure", "90.0% sure"]
    assert page.one("h1").text == "<run>"
    assert page.one("p", "subtitle").text == "3 images · 70.0% sure on average"
    assert not page.all("b")
    assert not page.all("i")


def test_links_and_thumbnails_are_files_that_are_there(output, read_html) -> None:
    page = read_html(gallery_page(output, CLASSES, title="run"))
    cards = page.one("ol").all("li")
    addresses = [card.one("a").attributes["href"] for card in cards]
    addresses += [card.one("img").attributes["src"] for card in cards]
    assert len(set(addresses)) == 6
    for address in addresses:
        assert not {"#", "?"} & set(address)
        assert (output.path / unquote(address)).is_file()
    assert {card.one("img").attributes["loading"] for card in cards} == {"lazy"}


def test_the_legend_names_what_is_drawn(output, read_html) -> None:
    def legend(look: Overlay) -> list[str]:
        shown = OutputFolder(path=output.path, overlay=look)
        page = read_html(gallery_page(shown, CLASSES, title="run"))
        return [item.text for item in page.all("ul", "legend")[0].all("li")]

    assert legend(Overlay()) == ["<i>leaf</i>"]
    assert legend(Overlay(untinted=())) == ["background", "<i>leaf</i>"]


def test_a_file_that_is_still_being_written_is_none_of_it(output) -> None:
    (output.path / "thumbnails" / ".late.jpg.0a1b2c3d.part").write_bytes(b"half")
    assert set(output.thumbnails()) == set(NAMES)
