"""Many images: all of them, in bounded memory, past those that cannot be read."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.predict import many
from recoseg.predict.image_list import find_images
from recoseg.predict.many import predict_many
from recoseg.predict.output_folder import OutputFolder


def nothing(done: float) -> None:
    pass


def labelled(predictor, folder: Path, output: OutputFolder, progress=nothing) -> list[str]:
    """The problems, in words."""
    images = output.prepare(find_images([folder], out=output.path), predictor.classes, {})
    return [str(problem) for problem in predict_many(predictor, images, output, progress=progress)]


def test_every_image_gets_its_own_labels(tmp_path, photo, noise, brightest) -> None:
    sizes = {f"{number:02d}": (3 + number, 40 - number) for number in range(20)}
    for name, size in sizes.items():
        photo(f"photos/{name}.png", *size)
    output = OutputFolder(path=tmp_path / "out", confidence=True, probabilities=True)
    assert labelled(brightest(), tmp_path / "photos", output) == []
    for name, size in sizes.items():
        expected = brightest()(noise(*size), probabilities=True)
        with Image.open(tmp_path / f"out/labels/{name}.png") as labels:
            assert np.array_equal(np.asarray(labels), expected.labels)
        saved = np.load(tmp_path / f"out/probabilities/{name}.npy")
        assert saved == pytest.approx(expected.probabilities, abs=1e-3)


def test_files_that_cannot_be_read_are_told_and_the_rest_is_done(tmp_path, photo, brightest) -> None:
    for number in range(5):
        photo(f"photos/{number}.png", 30, 30)
    whole = (tmp_path / "photos/2.png").read_bytes()
    (tmp_path / "photos/1.png").write_bytes(b"")
    (tmp_path / "photos/2.png").write_bytes(whole[: len(whole) // 2])
    problems = labelled(brightest(), tmp_path / "photos", OutputFolder(path=tmp_path / "out"))
    assert len(problems) == 2
    assert "1.png: the file is empty" in problems[0]
    assert "2.png: damaged or cut short" in problems[1]
    assert {path.stem for path in (tmp_path / "out/labels").iterdir()} == {"0", "3", "4"}


def test_few_images_are_in_memory_at_a_time(tmp_path, photo, brightest, monkeypatch) -> None:
    """100 images of 100 pixels where 450 pixels may be held: at most four are read and not yet written."""
    for number in range(100):
        photo(f"photos/{number}.png", 10, 10)
    monkeypatch.setattr(many, "MOST_PIXELS", 450)
    held, most, lock = 0, 0, threading.Lock()
    read, write = many.read_image, OutputFolder.write

    def counted_read(path: Path, *, bit_depth: int):
        nonlocal held, most
        with lock:
            held += 1
            most = max(most, held)
        return read(path, bit_depth=bit_depth)

    def counted_write(self, name, prediction, *, image) -> None:
        nonlocal held
        write(self, name, prediction, image=image)
        with lock:
            held -= 1

    monkeypatch.setattr(many, "read_image", counted_read)
    monkeypatch.setattr(OutputFolder, "write", counted_write)
    assert labelled(brightest(), tmp_path / "photos", OutputFolder(path=tmp_path / "out", overlay=None)) == []
    assert held == 0
    assert 2 <= most <= 5, "four, and the one that the network looks at"


def test_an_image_larger_than_all_that_may_be_held_is_there_alone(
    tmp_path, photo, brightest, monkeypatch
) -> None:
    for number in range(4):
        photo(f"photos/{number}.png", 10, 10)
    monkeypatch.setattr(many, "MOST_PIXELS", 50)
    assert labelled(brightest(), tmp_path / "photos", OutputFolder(path=tmp_path / "out")) == []
    assert len(list((tmp_path / "out/labels").iterdir())) == 4


def test_the_next_images_are_read_while_the_network_runs(tmp_path, photo, brightest, monkeypatch) -> None:
    for number in range(4):
        photo(f"photos/{number}.png")
    read_ahead = threading.Event()
    read = many.read_image

    def noted(path: Path, *, bit_depth: int):
        if path.stem == "1":
            read_ahead.set()
        return read(path, bit_depth=bit_depth)

    monkeypatch.setattr(many, "read_image", noted)
    predictor = brightest()
    waited: list[bool] = []
    predictor.network.register_forward_pre_hook(lambda *_: waited.append(read_ahead.wait(timeout=600)))
    assert labelled(predictor, tmp_path / "photos", OutputFolder(path=tmp_path / "out")) == []
    assert waited[0], "the first image waited for the second to be read"


def test_a_full_disk_ends_it_with_its_own_error(tmp_path, photo, brightest, monkeypatch) -> None:
    for number in range(30):
        photo(f"photos/{number}.png")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(OutputFolder, "write", full)
    predictor = brightest()
    with pytest.raises(OSError, match="No space left"):
        labelled(predictor, tmp_path / "photos", OutputFolder(path=tmp_path / "out"))


def test_progress_counts_images(tmp_path, photo, brightest) -> None:
    for number in range(3):
        photo(f"photos/{number}.png")
    told: list[float] = []
    output = OutputFolder(path=tmp_path / "out", confidence=True)
    labelled(brightest(), tmp_path / "photos", output, progress=told.append)
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == 3
