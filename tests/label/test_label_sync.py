"""What the learner is sent: only what changed, and everything after its process was started again."""

from __future__ import annotations

import pytest

from recoseg.label.full_training import FullTraining
from recoseg.label.label_folder import LabelFolder
from recoseg.label.label_sync import LabelSync
from recoseg.label.messages import Click, Update


class Recorder:
    """In place of the client."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def send(self, message: object) -> None:
        self.sent.append(message)

    def send_requests(self) -> None:
        self.sent.append("requests")

    def take(self) -> list[object]:
        taken, self.sent = self.sent, []
        return taken


@pytest.fixture
def sync(image_folder):
    folder = LabelFolder(image_folder({"a": (8, 6), "b": (8, 6)}))
    folder.add_classes(["leaf", "soil"])
    yield LabelSync(folder, FullTraining(folder), Recorder())  # type: ignore[arg-type]
    folder.close()


def mark(name: str, key: str, one: int = 0) -> dict:
    return {"id": name, "type": "mark", "image": key, "class": one, "shape": "points", "at": [[1, 2]]}


def labelled(messages: list[object]) -> list[str]:
    return [key for one in messages if isinstance(one, Update) for key in one.labels]


def test_only_changes_are_sent_and_all_of_it_to_a_new_process(sync):
    sync.update([])
    assert sync.learner.take() == []  # no process has started
    records = sync.folder.do("one", [mark("1", "a")])
    sync.view("tab", "b")
    sync.restart()
    sync.update(records)
    first, *labels, last = sync.learner.take()
    assert first.views == first.opened == ("b",)
    assert first.clicks == [Click("a", 1.5 / 8, 2.5 / 6, 0)]  # before the labels with it
    assert labelled(labels) == ["a"]
    assert last == "requests"  # after the labels
    sync.update([])
    assert sync.learner.take() == []
    sync.update(sync.folder.do("one", [mark("2", "b", 1)]))
    assert labelled(sync.learner.take()) == ["b"]
    sync.folder.do("one", [{"id": "3", "type": "delete_class", "class": 1}])
    sync.update([])
    first, *labels = sync.learner.take()
    assert first.classes == {0}
    assert labelled(labels) == ["a", "b"]
    sync.restart()
    sync.update([])
    assert labelled(sync.learner.take()) == ["a", "b"]


def test_an_image_that_cannot_be_read_has_no_labels_and_skips_and_another_file_has_all(sync):
    sync.restart()
    sync.folder.do("one", [mark("1", "a"), {"id": "2", "type": "skip", "image": "a", "at": [[1, 1]]}])
    path = sync.folder.images["a"]
    content = path.read_bytes()
    path.write_bytes(b"no image")
    sync.update([])
    first, labels, _ = sync.learner.take()
    assert first.skips == {"a": []}
    assert len(labels.labels["a"].x) == 0
    path.write_bytes(content)
    sync.update([])
    first, labels = sync.learner.take()
    assert first.skips == {"a": [(1.5 / 8, 1.5 / 6)]}
    assert len(labels.labels["a"].x) == 1


def test_the_tab_that_turned_pages_keeps_no_other_from_its_predictions(sync):
    sync.restart()
    sync.view("one", "a")
    for number in range(200):
        sync.view("other", f"page {number}")
    sync.update([])
    assert sync.learner.take()[0].views == ("a", "page 199")
    for number in range(200):
        sync.view(f"closed {number}", "b")
    assert len(sync.views) <= 32
