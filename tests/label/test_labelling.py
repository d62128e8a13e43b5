"""A folder while it is labelled: predictions that become invalid, images that change, threads that fail."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from PIL import Image

from recoseg.label.actions import NotNowError
from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.messages import Predicted, Status, Survey
from recoseg.types import IGNORE

SIZES = {"a": (8, 6), "b": (8, 6)}


def prediction(*, version: int = 5, classes: tuple[int, ...] = (0, 1)) -> MapPrediction:
    sure = np.zeros((len(classes), 3, 4), np.float16)
    sure[-1] = 1
    return MapPrediction(sure, np.array(classes, np.uint8), version, "quick")


def box(number: int, key: str, one: int = 0) -> dict:
    at = [[0, 0], [3, 3]]
    return {"id": f"m{number}", "type": "mark", "image": key, "class": one, "shape": "box", "at": at}


def resize(root, key: str) -> None:
    Image.new("RGB", (20, 10)).save(root / "images" / f"{key}.png")


def damage(root, key: str) -> None:
    (root / "images" / f"{key}.png").write_bytes(b"no image")


def delete(root, key: str) -> None:
    (root / "images" / f"{key}.png").unlink()


class Watched:
    """A labelling without a learner, and its events."""

    def __init__(self, root) -> None:
        self.labelling = Labelling(LabelFolder(root), learns=False)
        self.events: list[tuple[str, dict]] = []
        self.labelling.listeners.add(self.events.append)
        self.is_open = True

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.labelling.close()

    def do(self, *actions: dict) -> None:
        self.labelling.do("one", actions)

    def last(self, kind: str) -> dict | None:
        return next((data for name, data in reversed(self.events) if name == kind), None)


@pytest.fixture
def watched(image_folder):
    started: list[Watched] = []

    def start(root=None) -> Watched:
        root = root or image_folder(SIZES)
        folder = LabelFolder(root)
        folder.add_classes(["leaf", "soil"])
        folder.close()
        started.append(Watched(root))
        return started[-1]

    yield start
    for one in started:
        one.close()


# Predictions


def test_a_prediction_with_a_deleted_class_is_removed_from_pages_at_once(watched, until):
    page = watched()
    page.labelling.receive(Predicted("a", prediction()))
    assert page.last("predictions")["version"] == 5
    page.do({"id": "d", "type": "delete_class", "class": 1})
    assert page.labelling.predictions.get("a") is None
    until(lambda: page.last("predictions") == {"version": 0, "source": None, "images": ["a"]})
    page.labelling.receive(Predicted("b", prediction(version=6)))  # it was on its way
    assert page.last("predictions")["version"] == 0
    with pytest.raises(NotNowError):
        page.do({"id": "x", "type": "accept", "image": "b", "version": 6})
    page.labelling.receive(Predicted("b", prediction(version=7, classes=(0,))))
    assert page.labelling.image("b")["prediction"] == 7


@pytest.mark.parametrize("change", [resize, damage, delete])
def test_a_prediction_of_a_replaced_image_is_not_shown_or_accepted(watched, change):
    page = watched()
    page.labelling.receive(Predicted("a", prediction()))
    change(page.labelling.folder.root, "a")
    assert page.labelling.image("a")["prediction"] == 0
    with pytest.raises(NotNowError):
        page.do({"id": "x", "type": "accept", "image": "a", "version": 5})


def test_predictions_of_a_model_that_is_gone_are_removed(watched):
    page = watched()
    page.labelling.receive(Predicted("a", prediction()))
    status = page.labelling.state()["learner"]
    page.labelling.receive(Status(status | {"version": 6}, valid_from=5))
    assert page.labelling.predictions.get("a") is not None
    page.labelling.receive(Status(status | {"version": 6}, valid_from=6))
    assert page.last("predictions")["version"] == 0
    page.labelling.receive(Survey({0: 0.5, 1: 0.5}, []))
    page.labelling.receive(Survey({}, []))
    assert page.last("shares") == {}
    assert page.labelling.state()["classes"][0]["share"] is None


def test_predictions_that_pages_show_outlive_older_ones(watched):
    page = watched()
    page.labelling.predictions.put("a", prediction())
    for number in range(64):
        page.labelling.predictions._kept[f"other {number}"] = page.labelling.predictions._kept["a"]
    page.labelling.predictions.put("b", prediction(), views=["a"])
    assert page.labelling.predictions.get("a") is not None
    assert len(page.labelling.predictions._kept) == 65


# Images that change

CHANGES = {
    "an accepted prediction on an image of another size": (resize, "accept", "another size"),
    "an accepted prediction on a damaged image": (damage, "accept", "cannot be read"),
    "a skipped spot on a damaged image": (damage, "skip", None),
    "a skipped spot on an image that is gone": (delete, "skip", None),
    "a box on an image of another size": (resize, "mark", None),
    "a box on a damaged image": (damage, "mark", "cannot be read"),
    "a box on an image that is gone": (delete, "mark", "cannot be read"),
}


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("case", CHANGES)
def test_other_images_are_labelled_and_the_folder_opens_again(watched, until, case, is_running):
    change, kind, trouble = CHANGES[case]
    page = watched()
    root = page.labelling.folder.root
    page.labelling.receive(Predicted("a", prediction()))
    actions = {
        "accept": {"id": "1", "type": "accept", "image": "a", "version": 5},
        "skip": {"id": "1", "type": "skip", "image": "a", "at": [[2, 2]]},
        "mark": box(1, "a"),
    }
    page.do(actions[kind])
    if kind != "skip":
        until(lambda: (root / "labels" / "a.png").exists())
    if not is_running:
        page.close()
    before = (root / "labels" / "a.png").read_bytes() if kind != "skip" else b""
    change(root, "a")
    if not is_running:
        if change is delete:
            (root / "images" / "a.png").symlink_to("nowhere")
        page = watched(root)
    page.do(box(2, "b", 1))
    until(lambda: (root / "labels" / "b.png").exists())
    assert (np.array(Image.open(root / "labels" / "b.png"))[:4, :4] == 1).all()
    until(lambda: page.last("classes"))
    assert [one["pixels"] for one in page.labelling.state()["classes"]][1] == 16
    assert page.labelling.spots.next("one", 1) == []
    if trouble:
        until(lambda: trouble in page.labelling.troubles.get("images", ""))
    else:
        assert page.labelling.troubles == {}
    if change is resize and kind == "mark":
        until(lambda: Image.open(root / "labels" / "a.png").size == (20, 10))
    if change in (damage, delete) and kind != "skip":
        assert (root / "labels" / "a.png").read_bytes() == before  # for when the image comes back


def test_an_earlier_label_file_of_another_size_is_left_out(watched, image_folder, until):
    root = image_folder(SIZES)
    (root / "labels").mkdir()
    for key, size in (("a", (5, 5)), ("b", (8, 6))):
        Image.new("L", size, 1).save(root / "labels" / f"{key}.png")
    (root / "classes.json").write_text('{"names": ["leaf", "soil"]}')
    page = watched(root)
    until(lambda: "another size" in page.labelling.troubles.get("images", ""))
    assert page.labelling.image("a")["pixels"] == {}
    assert page.labelling.image("b")["pixels"] == {"1": 48}
    until(lambda: (root / "labels" / "b.png").exists())
    assert (root / "labels.before" / "a.png").exists()


def test_a_replaced_image_has_its_labels_again_when_the_old_one_comes_back(watched, until):
    page = watched()
    root = page.labelling.folder.root
    content = (root / "images" / "a.png").read_bytes()
    page.labelling.receive(Predicted("a", prediction()))
    page.do({"id": "1", "type": "accept", "image": "a", "version": 5})
    resize(root, "a")
    assert page.labelling.image("a")["pixels"] == {}
    page.do(box(1, "b"))
    until(lambda: page.labelling.troubles)
    (root / "images" / "a.png").write_bytes(content)
    assert page.labelling.image("a")["pixels"] == {"1": 48}
    page.do(box(2, "b"))
    until(lambda: not page.labelling.troubles)


@pytest.mark.parametrize("kind", ["index", "overlay", "coco"])
@pytest.mark.parametrize("of", ["labels", "prediction"])
@pytest.mark.parametrize("change", [damage, delete])
def test_an_export_leaves_out_images_that_cannot_be_read(served, image_folder, change, of, kind):
    server = served(image_folder(SIZES), "leaf", "soil")
    root = server.labelling.folder.root
    server.do(*(box(number, key) for number, key in enumerate(SIZES)))
    change(root, "a")
    server.labelling.predictions.put("b", prediction())
    answer = server.client.post("/api/export", json={"what": [kind], "of": of})
    assert answer.status_code == 200, answer.text
    assert answer.json()["files"] == answer.json()["left_out"] == 1
    if kind == "coco":
        images = json.loads((root / "export" / of / "coco.json").read_text())["images"]
        assert [one["file_name"] for one in images] == ["b.png"]


# Threads


@pytest.mark.parametrize("part", ["write_labels", "labelled"])
def test_an_error_in_a_thread_is_shown_and_the_thread_goes_on(watched, until, monkeypatch, part):
    page = watched()
    page.do(box(1, "a"))
    until(lambda: page.last("classes") and page.labelling.folder.root.joinpath("labels/a.png").exists())
    with monkeypatch.context() as patch:
        patch.setattr(page.labelling.folder, part, lambda: 1 / 0)
        page.do(box(2, "b"))
        until(lambda: page.last("trouble"))
        assert "ZeroDivisionError" in page.last("trouble")["message"]
        assert page.labelling.troubles
    page.do(box(3, "b"))
    until(lambda: not page.labelling.troubles)
    labels = page.labelling.folder.root / "labels" / "b.png"
    until(labels.exists)
    assert (np.array(Image.open(labels)) != IGNORE).sum() == 16


def test_one_label_file_that_cannot_be_written_keeps_no_other_from_being_written(watched, until):
    page = watched()
    root = page.labelling.folder.root
    (root / "labels" / "a.png").mkdir(parents=True)
    page.do(box(1, "a"), box(2, "b"))
    until(lambda: (root / "labels" / "b.png").exists())
    until(lambda: "a.png" in (page.last("trouble") or {"message": ""})["message"])
    (root / "labels" / "a.png").rmdir()


def test_a_page_that_opens_later_is_shown_the_trouble(served, image_folder, until):
    server = served(image_folder(SIZES), "leaf")
    damage(server.labelling.folder.root, "a")
    server.do(box(1, "a"))
    until(lambda: server.labelling.troubles)
    with server.client.stream("GET", "/api/events") as stream:
        lines = iter(stream.iter_lines())
        while next(lines) != "event: trouble":
            pass
        assert "cannot be read" in next(lines)


def test_training_does_not_wait_for_an_export(served, image_folder, monkeypatch):
    server = served(image_folder(SIZES), "leaf")
    server.do(box(1, "a"))
    begun, end = threading.Event(), threading.Event()

    def wait(key: str) -> None:
        begun.set()
        end.wait(60)

    monkeypatch.setattr(server.labelling, "predicted", wait)
    body = {"what": ["index"], "of": "prediction"}
    export = threading.Thread(target=lambda: server.client.post("/api/export", json=body, timeout=60))
    export.start()
    assert begun.wait(60)
    answer = server.client.post("/api/training", json={"do": "stop"}, timeout=30)
    end.set()
    export.join()
    assert answer.status_code == 409
