"""`recoseg describe`: what a dataset holds and what a split shows of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def stripes(tmp_path):
    """Four images to train on: half is class 0, three tenths class 1, two tenths void; two show class 2."""
    root = tmp_path / "stripes"
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(5):
        labels = np.zeros((10, 10), dtype=np.uint8)
        labels[5:8], labels[8:] = 1, 255
        if number < 2:
            labels[0] = 2
        Image.new("RGB", (10, 10), (90, 90, 90)).save(root / "images" / f"s{number}.png")
        Image.fromarray(labels).save(root / "labels" / f"s{number}.png")
    (root / "train.txt").write_text("s0\ns1\ns2\ns3\n")
    (root / "val.txt").write_text("s4\n")
    (root / "classes.json").write_text('{"names": ["road", "sky", "bus"], "format": "index"}')
    return root


def row(text: str, name: str) -> list[str]:
    """What the table says of the class."""
    line = next(line for line in text.splitlines() if f" {name} " in line)
    return [cell.strip() for cell in line.split(name)[1].split("│")[1:-1]]


def test_a_dataset_is_described_by_class(recoseg, stripes) -> None:
    outcome = recoseg("describe", stripes)
    assert outcome.code == 0, outcome.err
    assert "folder: 3 classes" in outcome.out
    assert "train: 4 images, 4 with labels" in outcome.out
    # 400 pixels, of which 2 x 10 are bus
    assert row(outcome.out, "road") == ["45.00 %", "4", "1"]
    assert row(outcome.out, "sky") == ["30.00 %", "4", "1"]
    assert row(outcome.out, "bus") == ["5.00 %", "2", "0"]
    assert row(outcome.out, "(void)") == ["20.00 %", "4", "1"]


def test_a_split_is_described_by_what_it_shows(recoseg, stripes) -> None:
    (stripes / "list.txt").write_text("s0\n")
    assert recoseg("split", stripes, "--labelled-list", stripes / "list.txt", "--out", "s.json").code == 0
    outcome = recoseg("describe", stripes, "--split", "s.json")
    assert "split: 1 labelled images, 3 unlabelled (listed_images: labelled_list list.txt)" in outcome.out
    # of the 80 pixels with a class in s0: 40, 30 and 10
    assert row(outcome.out, "road") == ["45.00 %", "4", "50.00 %", "22.22 %", "1"]
    assert row(outcome.out, "bus") == ["5.00 %", "2", "12.50 %", "50.00 %", "1"]
    assert row(outcome.out, "(void)") == ["20.00 %", "4", "", "", ""]


def test_partial_labels_are_counted_as_they_are_seen(recoseg, stripes) -> None:
    assert recoseg("split", stripes, "--pixels", "1", "--out", "s.json").code == 0
    outcome = recoseg("describe", stripes, "--split", "s.json")
    # ten pixels are seen in all: one of each class in each image that has it
    assert row(outcome.out, "road") == ["45.00 %", "4", "40.00 %", "2.22 %", "4"]
    assert row(outcome.out, "bus") == ["5.00 %", "2", "20.00 %", "10.00 %", "2"]


def test_the_second_time_no_label_is_read(recoseg, stripes) -> None:
    first = recoseg("describe", stripes).out
    for path in (stripes / "labels").iterdir():
        status = path.stat()
        path.write_bytes(b"\0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert recoseg("describe", stripes).out == first


def test_the_picture_has_four_panels_in_the_classes_colours(recoseg, stripes, tmp_path) -> None:
    outcome = recoseg("describe", stripes, "--picture", "labels.png")
    assert outcome.code == 0, outcome.err
    assert "picture: labels.png" in outcome.out
    with Image.open(tmp_path / "labels.png") as picture:
        width, height = picture.size
        assert width > 4 * 320
        assert height < width
    again = recoseg("describe", stripes, "--picture", "labels.png")
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert "labels.png exists already; choose another --picture" in again.err
    assert recoseg("describe", stripes, "--picture", "labels.png", "--force", "--image", "s3").code == 0


def test_the_picture_of_a_split_shows_the_labels_that_it_leaves(recoseg, stripes, monkeypatch) -> None:
    from recoseg.figures import contact_sheet

    shown = {}

    def draw(path, images, classes, *, title, about) -> None:
        shown["images"], shown["title"] = [one.name for one in images], title
        shown["seen"] = [set(one.seen) for one in images]

    monkeypatch.setattr(contact_sheet, "draw_contact_sheet", draw)
    (stripes / "list.txt").write_text("s1\ns3\n")
    assert recoseg("split", stripes, "--labelled-list", stripes / "list.txt", "--out", "s.json").code == 0
    outcome = recoseg("describe", stripes, "--split", "s.json", "--picture", "p.png")
    assert (outcome.code, "picture: p.png" in outcome.out) == (0, True), outcome.err
    assert shown == {
        "images": ["s1", "s3"],
        "title": "2 of 2 labelled images, as the split shows them",
        "seen": [{0, 1, 2}, {0, 1}],
    }
    assert recoseg("describe", stripes, "--split", "s.json", "--picture", "p.png", "--image", "s3").code == 0
    assert shown["images"] == ["s3"]
    hidden = recoseg("describe", stripes, "--split", "s.json", "--picture", "p.png", "--image", "s0")
    assert (hidden.code, "no labelled training image has this key" in hidden.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--split", "none.json"], "no split file at none.json"),
        (["--picture", "x.jpg"], "a picture's name ends in .png, .svg, .pdf"),
        (["--image", "s1"], "--image has no effect without --picture"),
        (["--force"], "--force has no effect without --picture"),
        (["--picture", "x.png", "--image", "nobody"], "no labelled training image has this key"),
        (["--picture", "no/x.png"], "there is no folder no"),
        (["--split.labels", "3"], "unexpected argument '--split.labels'"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--workers", "many"], "invalid int value"),
    ],
)
def test_a_mistake_is_one_line(recoseg, stripes, words, message) -> None:
    outcome = recoseg("describe", stripes, *words)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert message in outcome.err


def test_a_damaged_label_is_named(recoseg, stripes) -> None:
    (stripes / "labels" / "s2.png").write_bytes(b"no picture")
    outcome = recoseg("describe", stripes)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert re.search(r"labels/s2\.png: ", outcome.err)


def test_matplotlib_is_imported_for_the_picture_alone(stripes, tmp_path) -> None:
    code = (
        "import sys\nfrom recoseg.cli.main import main\n"
        f"main(['describe', {str(stripes)!r}])\nassert 'matplotlib' not in sys.modules"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
