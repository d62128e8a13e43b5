"""The contact sheet of images under their labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from recoseg.data.file_dataset import Entry
from recoseg.data.label_codes import ByValue
from recoseg.data.problem import Problem
from recoseg.figures.contact_sheet import checked_image, draw_contact_sheet, labelled_image
from recoseg.overlay import Overlay
from recoseg.types import IGNORE, ClassInfo

CLASSES = ClassInfo(("background", "leaf"), ((0, 0, 0), (0, 200, 0)))
CODE = ByValue({0: 0, 1: 1, 255: IGNORE})
IMAGE = np.full((20, 30, 3), 100, dtype=np.uint8)


def leaf() -> np.ndarray:
    labels = np.zeros((20, 30), dtype=np.uint8)
    labels[:, 15:] = 1
    return labels


def test_a_labelled_image_is_the_overlay_that_predictions_have() -> None:
    one = labelled_image("a", IMAGE, leaf(), CLASSES)
    assert np.array_equal(one.picture, np.asarray(Overlay().draw(IMAGE, leaf(), CLASSES)))
    assert one.seen == {1}, "the background is not drawn, so not named"


def test_of_partial_labels_the_background_is_drawn_and_single_pixels_are_enlarged() -> None:
    labels = np.full((200, 300), IGNORE, dtype=np.uint8)
    labels[50, 50], labels[150, 200] = 0, 1
    one = labelled_image("a", np.full((200, 300, 3), 100, dtype=np.uint8), labels, CLASSES, partial=True)
    assert one.seen == {0, 1}
    assert (one.picture == [0, 200, 0]).all(2).sum() == 7 * 7
    assert (one.picture == [0, 0, 0]).all(2).sum() == 7 * 7


@pytest.fixture
def entry(tmp_path) -> Entry:
    Image.fromarray(IMAGE).save(tmp_path / "image.png")
    Image.fromarray(leaf()).save(tmp_path / "labels.png")
    return Entry(tmp_path / "image.png", tmp_path / "labels.png")


def test_whatever_can_be_shown_of_broken_files_is_shown(entry) -> None:
    problems = [Problem("x", "this is wrong", "mend it"), Problem("x", "that too", "mend it")]

    def shown():
        one = checked_image("a", entry, problems, CODE, CLASSES)
        assert one.trouble == "this is wrong; that too"
        return one.picture

    overlay = np.asarray(Overlay().draw(IMAGE, leaf(), CLASSES))
    assert np.array_equal(shown(), overlay)
    Image.fromarray(leaf()[::2, ::2].copy()).save(entry.labels)
    assert shown().shape == overlay.shape, "labels of another size are stretched"
    Image.fromarray(leaf() * 7).save(entry.labels)
    assert np.unique(shown()).tolist() == [30, 235], "values without a class are greys"
    entry.labels.write_bytes(b"junk")
    assert np.array_equal(shown(), IMAGE)
    entry.image.write_bytes(b"junk")
    assert shown() is None
    assert checked_image("a", replace(entry, labels=None), [], None, None).picture is None


def test_the_sheet_holds_all_of_them_with_what_is_wrong(tmp_path, texts) -> None:
    sound = labelled_image("sound", IMAGE, leaf(), CLASSES)
    wrong = replace(sound, name="wrong", trouble="no pixel has a class " * 30)
    gone = replace(sound, name="gone", picture=None, seen=frozenset())
    draw_contact_sheet(tmp_path / "a.svg", [wrong, gone, *[sound] * 4], CLASSES, title="title", about="about")
    words = texts(tmp_path / "a.svg")
    assert {"title", "about", "wrong", "gone", "cannot be read", "leaf"} <= set(words)
    assert words.count("sound") == 4
    assert sum("pixel has a" in word for word in words) <= 3, "a long story is cut"
