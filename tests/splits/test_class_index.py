"""The class index: right, remembered, and read again only where a file changed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

from recoseg.data import worker_processes
from recoseg.data.file_dataset import Entry, FileDataset
from recoseg.data.folder import Folder
from recoseg.data.label_codes import ByValue
from recoseg.data.scenes import Scenes
from recoseg.splits.class_index import ClassCounter, IndexCache
from recoseg.splits.labelled_images import few_images


@pytest.fixture
def photos(tmp_path):
    """A folder of 12 labelled images: image n has n + 1 pixels of class 1, a void row, and class 0."""
    root = tmp_path / "photos"
    for kind in ("images", "labels"):
        (root / kind).mkdir(parents=True)
    for number in range(12):
        Image.new("RGB", (6, 4)).save(root / "images" / f"{number:02d}.png")
        write_label(root, number, number + 1)
    keys = "".join(f"{number:02d}\n" for number in range(12))
    (root / "train.txt").write_text(keys)
    (root / "val.txt").write_text("00\n")
    (root / "classes.json").write_text('{"names": ["ground", "leaf"]}')
    return root


def write_label(root, number, num_leaf) -> None:
    labels = np.zeros((4, 6), dtype=np.uint8)
    labels[0] = 255
    labels[1:].flat[:num_leaf] = 1
    Image.fromarray(labels).save(root / "labels" / f"{number:02d}.png")


def reads(monkeypatch) -> list[str]:
    """Keys whose labels are read from now on."""
    seen: list[str] = []
    original = FileDataset.labels

    def labels(self, key):
        seen.append(key)
        return original(self, key)

    monkeypatch.setattr(FileDataset, "labels", labels)
    return seen


def test_the_index_counts_every_pixel_and_void_apart(photos) -> None:
    dataset = Folder(root=photos)
    index = ClassCounter()(dataset, dataset.keys("train"))
    assert index.counts.tolist() == [[17 - n, n + 1] for n in range(12)]
    assert index.pixels[:, -1].tolist() == [6] * 12
    assert index.of(["03", "01"]).keys == ("01", "03")


def test_worker_processes_count_the_same(photos, monkeypatch) -> None:
    monkeypatch.setattr(worker_processes, "NUM_TIMED", 2)
    monkeypatch.setattr(worker_processes, "SECONDS_TO_START", -1)
    dataset, seen = Folder(root=photos), []
    counter = ClassCounter(num_workers=2, progress=lambda done, total: seen.append((done, total)))
    assert np.array_equal(
        counter(dataset, dataset.keys("train")).pixels,
        ClassCounter()(dataset, dataset.keys("train")).pixels,
    )
    assert seen == [(n, 12) for n in range(1, 13)]


def test_labels_are_read_once_and_then_only_where_a_file_changed(photos, tmp_path, monkeypatch) -> None:
    seen = reads(monkeypatch)
    dataset, counter = Folder(root=photos), ClassCounter(cache=tmp_path / "cache")
    first = counter(dataset, dataset.keys("train"))
    assert len(seen) == 12
    assert np.array_equal(counter(dataset, dataset.keys("train")).pixels, first.pixels)
    assert len(seen) == 12
    write_label(photos, 5, 11)
    os.utime(photos / "labels" / "05.png", ns=(1, 1))  # a time that differs even on a coarse clock
    assert counter(dataset, dataset.keys("train")).counts[5].tolist() == [7, 11]
    assert seen[12:] == ["05"]


def test_a_part_of_the_keys_is_enough_and_adds_to_what_is_known(photos, tmp_path, monkeypatch) -> None:
    seen = reads(monkeypatch)
    dataset, counter = Folder(root=photos), ClassCounter(cache=tmp_path / "cache")
    counter(dataset, ["03", "04"])
    counter(dataset, ["05"])
    counter(dataset, dataset.keys("train"))
    assert sorted(seen) == sorted(dataset.keys("train"))


def test_another_way_to_read_the_labels_is_another_index(photos, tmp_path) -> None:
    counter = ClassCounter(cache=tmp_path / "cache")
    counts = counter(Folder(root=photos), ["00"]).pixels.tolist()
    (photos / "classes.json").write_text('{"names": ["ground", "leaf"], "ignore_index": null}')
    with pytest.raises(ValueError, match="255"):  # void is a value outside the list now
        counter(Folder(root=photos), ["00"])
    assert counts == [[17, 1, 6]]


def test_a_damaged_cache_is_read_anew(photos, tmp_path) -> None:
    dataset, counter = Folder(root=photos), ClassCounter(cache=tmp_path / "cache")
    first = counter(dataset, dataset.keys("train"))
    path = IndexCache(tmp_path / "cache", dataset).path
    whole = path.read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert np.array_equal(counter(dataset, dataset.keys("train")).pixels, first.pixels)
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_does_no_harm(photos, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    dataset = Folder(root=photos)
    index = ClassCounter(cache=tmp_path / "file" / "cache")(dataset, dataset.keys("train"))
    assert len(index.keys) == 12


def test_scenes_are_counted_without_files(tmp_path) -> None:
    dataset = Scenes(height=16, width=16, num_train=3, num_val=1)
    index = ClassCounter(cache=tmp_path / "cache")(dataset, dataset.keys("train"))
    assert index.pixels.sum(1).tolist() == [256] * 3
    assert not (tmp_path / "cache").exists()


def test_no_keys_give_an_empty_index(photos, tmp_path) -> None:
    assert ClassCounter(cache=tmp_path / "cache")(Folder(root=photos), []).pixels.shape == (0, 3)


def test_a_further_split_of_ten_thousand_images_takes_less_than_reading_five_hundred_labels(
    tmp_path, in_memory, processor_seconds
) -> None:
    """With files that exist, so that looking whether they changed is part of it."""
    label = tmp_path / "label.png"
    Image.fromarray(np.zeros((375, 500), dtype=np.uint8)).save(label)
    classes = in_memory({}, 21).classes
    keys = [f"2007_{number:06d}" for number in range(10_000)]

    class Many(FileDataset):
        name = "many"

    dataset = Many(
        classes=classes,
        entries={key: Entry(label, label) for key in keys},
        subsets={"train": keys},
        code=ByValue({0: 0}),
    )
    generator = np.random.default_rng(0)
    table = (generator.random((10_000, 22)) < np.geomspace(0.9, 0.01, 22)).astype(np.int64)
    cache = IndexCache(tmp_path, dataset)
    cache.save(dict(zip(keys, table, strict=True)), cache.stamps(keys))

    def split() -> None:
        counter = ClassCounter(cache=tmp_path)
        assert len(few_images(dataset, labels=600, min_classes=3, seed=0, counter=counter).labelled) == 600

    def read() -> None:
        ClassCounter()(dataset, keys[:500])

    assert processor_seconds(split) < processor_seconds(read)
