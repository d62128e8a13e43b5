"""What is the same for all formats: classes, images, EXIF, restarts, and what is told of it."""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile

import numpy as np
import pytest
from PIL import Image, ImageOps

from recoseg.data.folder import Folder
from recoseg.data.image_files import read_rgb
from recoseg.errors import UserError
from recoseg.label_formats.importing import ImageWriter
from recoseg.label_formats.parsing import PhotoFinder, unpack
from recoseg.label_formats.rasterize import EXIF_RULE, Drawing


@pytest.fixture
def coco(photo, text, coco_file, box):
    """`coco({"a.png": (2, 3)})`: images of these sizes, each with a leaf in its upper left pixel."""

    def write(sizes: dict[str, tuple[int, int]], *, orientation: int = 1, stated=None, on_disk=None):
        for name, size in sizes.items():
            if on_disk is None or name in on_disk:
                photo(f"images/{name}", *size, orientation=orientation)
        listed, objects = [], []
        for number, (name, size) in enumerate(sizes.items()):
            height, width = stated or size
            listed.append({"id": number, "file_name": name, "height": height, "width": width})
            objects.append({"image_id": number, "category_id": 1, "segmentation": [box(0, 0, 1, 1)]})
        return text("instances.json", coco_file(listed, objects))

    return write


# EXIF: the size that the tool gives says what its coordinates refer to


@pytest.mark.parametrize("orientation", range(1, 9))
def test_labels_of_the_upright_image_stay_where_they_are(coco, imported, orientation) -> None:
    coco({"a.jpg": (8, 16)}, orientation=orientation, stated=(16, 8) if orientation > 4 else (8, 16))
    made = imported("coco")
    labels = made.labels("a")
    assert labels.shape == read_rgb(made.folder / "images/a.jpg").shape[:2]
    assert np.argwhere(labels == 1).tolist() == [[0, 0]]
    assert made.notes == ({EXIF_RULE: 1} if orientation != 1 else {})


@pytest.mark.parametrize("orientation", range(5, 9))
def test_labels_of_the_stored_image_are_turned_with_it(coco, imported, orientation) -> None:
    """The size alone tells, so only where EXIF swaps the sides."""
    coco({"a.jpg": (8, 16)}, orientation=orientation, stated=(8, 16))
    made = imported("coco")
    stored = np.zeros((8, 16), dtype=np.uint8)
    stored[0, 0] = 1
    image = Image.fromarray(stored)
    image.getexif()[0x0112] = orientation
    assert (made.labels("a") == np.asarray(ImageOps.exif_transpose(image))).all()
    assert made.labels("a").shape == (16, 8)


def test_an_orientation_in_a_png_is_seen_too(coco, imported) -> None:
    coco({"a.png": (8, 16)}, orientation=6, stated=(16, 8))
    assert imported("coco").labels("a").shape == (16, 8)


def test_labels_of_another_size_are_a_problem_of_that_image_alone(coco, photo, imported) -> None:
    coco({"a.jpg": (8, 16), "b.jpg": (8, 16)})
    photo("images/b.jpg", 4, 8)
    made = imported("coco")
    (problem,) = made.told.problems
    assert problem.what == "labels for 16x8 pixels, but the image has 8x4"
    assert made.keys() == ["a"]


# Images


def test_folders_below_stay_and_unnamed_images_come_along_unlabelled(coco, photo, imported) -> None:
    coco({"north/a.png": (1, 2), "south/a.png": (1, 2)})
    photo("images/south/b.png", 1, 2)
    made = imported("coco")
    assert made.keys("images") == ["north/a", "south/a", "south/b"]
    assert made.keys() == ["north/a", "south/a"]
    assert (made.told.num_images, made.told.num_labelled) == (3, 2)


def test_of_a_file_only_the_images_that_it_names_come(coco, photo, imported) -> None:
    path = coco({"a.png": (1, 2)})
    photo("images/holiday.png", 1, 2)
    assert imported("coco", path).keys("images") == ["a"]


def test_images_that_are_missing_are_counted(coco, imported) -> None:
    coco({"a.png": (1, 2), "b.png": (1, 2), "c.png": (1, 2)}, on_disk=["b.png"])
    made = imported("coco")
    assert made.notes == {"images that are not on disk: left out": 2}
    assert made.told.examples["images that are not on disk: left out"] == "a.png"


def test_without_any_image_the_error_says_where_they_were_looked_for(coco, imported, tmp_path) -> None:
    path = coco({"a.png": (1, 2)}, on_disk=[])
    with pytest.raises(UserError, match=r"none of the 1 labelled images, such as a\.png, is in .*--images"):
        imported("coco", path)
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    Image.new("RGB", (2, 1)).save(tmp_path / "elsewhere/deep/a.png")
    assert imported("coco", path, photos=tmp_path / "elsewhere").keys() == ["a"]


def test_of_several_images_of_one_name_the_folders_decide(coco, photo, imported) -> None:
    coco({"a/x.png": (1, 2), "y.png": (1, 2)}, on_disk=["a/x.png"])
    for name in ("x.png", "b/a/x.png", "a/y.png", "b/y.png"):
        photo(f"images/{name}", 1, 2)
    made = imported("coco")
    assert made.keys() == ["a/x"]
    assert made.notes == {"images with several files of their name: left out": 1}


def test_one_name_in_many_folders_takes_no_longer_than_many_names(tmp_path) -> None:
    names = [f"{number}/deep/x.jpg" for number in range(1500)]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    start = time.process_time()
    finder = PhotoFinder(tmp_path)
    assert [finder.find(f"photos\\{name}") for name in names] == [tmp_path / name for name in names]
    assert isinstance(finder.find("deep/x.jpg"), str)
    assert isinstance(finder.find("/".join(["deep"] * 100_000) + "/x.jpg"), str)
    assert time.process_time() - start < 2


def test_an_image_that_is_listed_many_times_has_all_its_objects(
    photo, text, coco_file, box, imported
) -> None:
    photo("a.png", 1, 4)
    listed = [{"id": number, "file_name": "a.png", "height": 1, "width": 4} for number in range(4)]
    objects = [
        {"image_id": number, "category_id": 1 + number % 2, "segmentation": [box(number, 0, number + 1, 1)]}
        for number in range(4)
    ]
    text("x.json", coco_file(listed, objects))
    assert imported("coco").rows("a") == ["1212"]


def test_memory_that_runs_out_for_one_image_is_a_problem_of_that_image(coco, imported, monkeypatch) -> None:
    coco({"a.png": (2, 3), "b.png": (2, 3)})
    draw = Drawing.__call__

    def fail(drawing, image, photo, notes):
        if photo.stem == "a":
            raise MemoryError
        return draw(drawing, image, photo, notes)

    monkeypatch.setattr(Drawing, "__call__", fail)
    made = imported("coco")
    assert made.keys() == ["b"]
    (problem,) = made.told.problems
    assert "memory" in problem.what
    assert "--workers" not in problem.remedy


def test_images_of_one_stem_keep_their_suffix_in_their_key(coco, imported) -> None:
    coco({"a.png": (1, 2), "a.jpg": (1, 2)})
    made = imported("coco")
    assert sorted(path.name for path in (made.folder / "images").iterdir()) == ["a.jpg.jpg", "a.png.png"]
    assert made.keys() == ["a.jpg", "a.png"]


def test_images_are_linked_or_copied_and_never_changed(coco, imported, tmp_path, monkeypatch) -> None:
    coco({"a.png": (1, 2)})
    origin = tmp_path / "export/images/a.png"
    before = origin.read_bytes(), origin.stat().st_mtime_ns
    assert (imported("coco", to="linked").folder / "images/a.png").samefile(origin)
    copied = imported("coco", to="copied", copy=True).folder / "images/a.png"
    assert not copied.samefile(origin)
    assert copied.read_bytes() == before[0]

    def refuse(*words, **more):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    assert (imported("coco", to="far").folder / "images/a.png").is_symlink()
    assert (origin.read_bytes(), origin.stat().st_mtime_ns) == before


# Classes


def test_only_the_wanted_classes_in_their_order(photo, text, coco_file, box, imported) -> None:
    photo("a.png", 1, 4)
    objects = [
        {"image_id": 1, "category_id": number, "segmentation": [box(number, 0, number + 1, 1)]}
        for number in (1, 2, 3)
    ]
    categories = [{"id": number, "name": name} for number, name in ((1, "leaf"), (2, "stem"), (3, "soil"))]
    text("x.json", coco_file([{"id": 1, "file_name": "a.png"}], objects, categories))
    made = imported("coco", classes=["soil", "leaf"])
    assert made.names == ("background", "soil", "leaf")
    assert made.rows("a") == ["0201"]
    assert made.notes == {"objects of classes that were not chosen: left out": 1}
    with pytest.raises(UserError, match="unknown class 'laef'; did you mean 'leaf'"):
        imported("coco", to="other", classes=["laef"])


def test_the_rest_may_be_void_and_background_may_be_a_class(photo, text, coco_file, box, imported) -> None:
    photo("a.png", 1, 4)
    objects = [
        {"image_id": 1, "category_id": number, "segmentation": [box(number, 0, number + 1, 1)]}
        for number in (1, 2)
    ]
    categories = [{"id": 1, "name": "leaf"}, {"id": 2, "name": "Background"}, {"id": 3, "name": "void"}]
    text("x.json", coco_file([{"id": 1, "file_name": "a.png"}], objects, categories))
    assert imported("coco").rows("a") == ["1011"]
    made = imported("coco", to="void", rest="void")
    assert made.names == ("leaf", "background")
    assert made.rows("a") == [".01."]


def test_more_classes_than_a_label_file_can_hold_are_refused(photo, text, coco_file, box, imported) -> None:
    photo("a.png", 1, 4)
    categories = [{"id": number, "name": f"c{number}"} for number in range(255)]
    objects = [{"image_id": 1, "category_id": 0, "segmentation": [box(0, 0, 1, 1)]}]
    text("x.json", coco_file([{"id": 1, "file_name": "a.png"}], objects, categories))
    with pytest.raises(UserError, match="256 classes, where 255 are the most; choose some with --classes"):
        imported("coco")


def test_an_image_of_which_nothing_is_left_is_unlabelled(photo, text, coco_file, box, imported) -> None:
    for name in "ab":
        photo(f"{name}.png", 2, 2)
    listed = [{"id": number, "file_name": f"{name}.png"} for number, name in enumerate("ab")]
    objects = [
        {"image_id": 0, "category_id": 1, "segmentation": [box(0, 0, 1, 1)]},
        {"image_id": 1, "category_id": 1, "iscrowd": 1, "segmentation": [box(0, 0, 2, 2)]},
    ]
    text("x.json", coco_file(listed, objects))
    made = imported("coco")
    assert made.keys() == ["a"]
    assert made.notes["images without a pixel of any class: unlabelled"] == 1


# Restarts


def test_a_second_run_draws_nothing_and_tells_the_same(coco, imported) -> None:
    coco({"a.png": (2, 3), "b.png": (2, 3)})
    first = imported("coco")
    times = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.png")}
    second = imported("coco")
    assert {path: path.stat().st_mtime_ns for path in second.folder.rglob("*.png")} == times
    assert (first.told.num_kept, second.told.num_kept) == (0, 2)
    assert second.told.pixels.tolist() == first.told.pixels.tolist()
    assert second.told.images.tolist() == first.told.images.tolist()


def test_after_a_stop_the_rest_is_drawn_and_until_then_nobody_trains_on_it(
    coco, imported, monkeypatch, tmp_path
) -> None:
    coco({f"{name}.png": (2, 3) for name in "abc"})
    whole, folder = ImageWriter.__call__, tmp_path / "own"

    def stopped_at_b(writer, item):
        if item.key == "b":
            raise KeyboardInterrupt
        return whole(writer, item)

    with monkeypatch.context() as patch:
        patch.setattr(ImageWriter, "__call__", stopped_at_b)
        patch.setattr("recoseg.data.worker_processes.NUM_TIMED", 0)  # none is done before the others
        with pytest.raises(KeyboardInterrupt):
            imported("coco")
    with pytest.raises(UserError, match="not finished: run recoseg import again"):
        Folder(root=folder)
    (folder / "labels/.b.png.0123abcd.part").write_bytes(b"half")
    with (folder / "imported.jsonl").open("a") as log:
        log.write('{"key": "b", "ma')  # as far as it came
    made = imported("coco")
    assert made.told.num_kept == 1
    assert made.keys() == ["a", "b", "c"]
    assert len(Folder(root=folder).entries) == 3


def test_only_what_changed_is_drawn_again(coco, photo, imported, text, coco_file, box) -> None:
    coco({"a.png": (2, 3), "b.png": (2, 3), "c.png": (2, 3)})
    imported("coco")
    size = {"height": 2, "width": 3}
    listed = [{"id": number, "file_name": f"{name}.png", **size} for number, name in enumerate("abc")]
    objects = [
        {"image_id": 0, "category_id": 1, "segmentation": [box(0, 0, 1, 1)]},
        {"image_id": 1, "category_id": 2, "segmentation": [box(0, 0, 3, 2)]},
    ]
    text("instances.json", coco_file(listed, objects))
    made = imported("coco")
    assert made.told.num_kept == 1
    assert made.rows("b") == ["222", "222"]
    assert made.keys() == ["a", "b"]  # c lost its label


def test_what_is_gone_from_the_source_goes(coco, imported, tmp_path) -> None:
    coco({"a.png": (2, 3), "b.png": (2, 3)})
    imported("coco")
    (tmp_path / "export/images/b.png").unlink()
    made = imported("coco")
    assert made.keys("images") == made.keys() == ["a"]


def test_labels_that_somebody_removed_are_drawn_again(coco, imported) -> None:
    coco({"a.png": (2, 3)})
    first = imported("coco")
    (first.folder / "labels/a.png").unlink()
    assert imported("coco").keys() == ["a"]


def test_other_rules_or_files_of_others_need_another_folder(coco, imported, tmp_path) -> None:
    coco({"a.png": (2, 3)})
    imported("coco")
    with pytest.raises(UserError, match="was begun with overlap smaller, not later; give the same"):
        imported("coco", overlap="later")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("x")
    with pytest.raises(UserError, match="holds files that recoseg import did not write"):
        imported("coco", to="mine")
    with pytest.raises(UserError, match="is a file"):
        imported("coco", to="mine/notes.txt")


def test_worker_processes_write_the_same(coco, imported, monkeypatch) -> None:
    monkeypatch.setattr("recoseg.data.worker_processes.SECONDS_TO_START", -1)
    coco({f"{number}.png": (2, 3) for number in range(20)})
    alone, together = imported("coco", to="alone"), imported("coco", to="together", workers=2)
    for key in map(str, range(20)):
        one, other = (made.folder / f"labels/{key}.png" for made in (alone, together))
        assert one.read_bytes() == other.read_bytes()
    assert json.loads((alone.folder / "classes.json").read_text()) == {
        "names": ["background", "leaf", "stem"],
        "palette": [[0, 0, 0], [255, 60, 60], [30, 75, 255]],
        "ignore_index": 255,
        "format": "index",
    }


# Zips


def test_a_zip_is_unpacked_once_and_nothing_outside_of_its_folder(coco, tmp_path, imported) -> None:
    coco({"a.png": (2, 3)})
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (tmp_path / "export").rglob("*.*"):
            file.write(path, path.relative_to(tmp_path / "export"))
        file.writestr("../evil.txt", "x")
        file.writestr("/tmp/recoseg-evil.txt", "x")
    shutil.rmtree(tmp_path / "export")
    folder = unpack(archive, tmp_path / "own/unpacked")
    assert imported("coco", folder).keys() == ["a"]
    assert sorted(path.name for path in folder.rglob("*.*")) == ["a.png", "instances.json"]
    assert not (tmp_path / "own/evil.txt").exists()
    time = (folder / "instances.json").stat().st_mtime_ns
    assert (unpack(archive, folder) / "instances.json").stat().st_mtime_ns == time


def test_what_is_no_zip_or_says_to_be_too_large_is_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(UserError, match=r"x\.zip: not a zip that can be read"):
        unpack(tmp_path / "x.zip", tmp_path / "own")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as file:
        file.writestr("a.txt", "1234")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=3))
    with pytest.raises(UserError, match="unpacks to"):
        unpack(tmp_path / "y.zip", tmp_path / "own")


def test_a_log_that_names_files_elsewhere_removes_none(coco, imported, tmp_path) -> None:
    coco({"a.png": (2, 3)})
    log = imported("coco").folder / "imported.jsonl"
    mine = [tmp_path / "mine.png", tmp_path / "own/mine.png"]
    for path in mine:
        path.write_bytes(b"mine")
    line = json.loads(log.read_text())
    for key in ("../mine", "../../mine", str(tmp_path / "mine")):
        log.write_text(log.read_text() + json.dumps({**line, "key": key, "photo": f"{key}.png"}) + "\n")
    imported("coco")
    assert all(path.exists() for path in mine)
