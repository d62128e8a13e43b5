"""Preparing: the result is a folder dataset, a restart goes on, and nothing half-done is ever left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.data import preparation as job
from recoseg.data.cityscapes import IDS, Cityscapes
from recoseg.data.dataset_check import check_folder
from recoseg.data.folder import Folder
from recoseg.data.preparation import Converter, prepare
from recoseg.data.resize import Resize
from recoseg.errors import UserError
from recoseg.files import whole_file

HALF = Resize(scale=0.5)
KEYS = {
    "train": ("aachen/aachen_000000_000019", "aachen/aachen_000001_000019"),
    "val": ("ulm/ulm_000000_000019",),
    "test": ("bonn/bonn_000000_000019",),
}


@pytest.fixture
def source(tmp_path, write) -> Path:
    """Cityscapes with four images of 4x40 pixels that hold all classes and void, in its owner's layout."""
    generator = np.random.default_rng(0)
    ids = np.repeat(np.array([*IDS, 0], dtype=np.uint8), 2)[None].repeat(4, axis=0)
    for subset, keys in KEYS.items():
        for key in keys:
            write(
                f"src/leftImg8bit/{subset}/{key}_leftImg8bit.png",
                generator.integers(0, 256, (4, 40, 3), np.uint8),
            )
            if subset != "test":
                write(f"src/gtFine/{subset}/{key}_gtFine_labelIds.png", ids)
    return tmp_path / "src"


def run(source: Path, destination: Path, resize: Resize = HALF, **settings):
    return prepare(Cityscapes(root=source), source=source, destination=destination, resize=resize, **settings)


def written(folder: Path) -> dict[str, int]:
    """All files, with the times at which they were written."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in paths}


def test_the_result_is_a_folder_dataset_without_problems(source, tmp_path) -> None:
    prepared = run(source, tmp_path / "dst")
    assert (prepared.num_images, prepared.num_kept, prepared.problems) == (4, 0, ())
    assert check_folder(tmp_path / "dst").problems == ()
    before, after = Cityscapes(root=source), Folder(root=tmp_path / "dst")
    assert after.classes == before.classes
    for subset, keys in KEYS.items():
        assert after.keys(subset) == before.keys(subset) == keys
    assert sorted(path.name for path in (tmp_path / "dst").iterdir()) == [
        "classes.json", "images", "labels", "prepare.json", "test.txt", "train.txt", "val.txt",
    ]  # fmt: skip


def test_pixels_are_means_and_labels_class_indices(source, tmp_path) -> None:
    run(source, tmp_path / "dst")
    before, after = Cityscapes(root=source), Folder(root=tmp_path / "dst")
    key = KEYS["train"][0]
    means = before.image(key).float().reshape(3, 2, 2, 20, 2).mean((2, 4))
    assert (after.image(key).float() - means).abs().max() <= 0.5
    assert after.labels(key).tolist() == [[*range(19), 255]] * 2
    assert Image.open(tmp_path / "dst/labels" / f"{key}.png").mode == "L"
    assert not after.has_labels(KEYS["test"][0])


def test_an_image_that_changes_neither_size_nor_format_is_copied_as_it_is(source, tmp_path) -> None:
    run(source, tmp_path / "dst", Resize())
    key = KEYS["train"][0]
    original = (source / "leftImg8bit/train" / f"{key}_leftImg8bit.png").read_bytes()
    assert (tmp_path / "dst/images" / f"{key}.png").read_bytes() == original


def test_a_jpeg_is_close(source, tmp_path) -> None:
    run(source, tmp_path / "lossy", format="jpg")
    run(source, tmp_path / "exact")
    lossy, exact = (Folder(root=tmp_path / name).image(KEYS["val"][0]).float() for name in ("lossy", "exact"))
    assert 0 < (lossy - exact).abs().mean() < 5


def test_worker_processes_write_the_same_files(source, tmp_path, monkeypatch) -> None:
    run(source, tmp_path / "one")
    monkeypatch.setattr(job, "FEW_IMAGES", 2)
    run(source, tmp_path / "two", num_workers=2)
    for path in (tmp_path / "one").rglob("*"):
        if path.is_file():
            assert (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes() == path.read_bytes()


def test_a_restart_goes_on_where_the_last_one_stopped(source, tmp_path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    destination = tmp_path / "dst"
    with pytest.raises(KeyboardInterrupt):
        run(source, destination, progress=stop)
    with pytest.raises(UserError, match=r"not finished: run recoseg prepare again"):
        Folder(root=destination)
    half = written(destination)
    seen: list[tuple[int, int]] = []
    prepared = run(source, destination, progress=lambda *counts: seen.append(counts))
    assert (prepared.num_images, prepared.num_kept) == (4, 2)
    assert seen == [(3, 4), (4, 4)]
    files = written(destination)
    kept = [name for name in half if name.startswith(("images", "labels"))]
    assert len(kept) == 4
    assert {name: files[name] for name in kept} == {name: half[name] for name in kept}
    assert check_folder(destination).problems == ()


def test_what_is_done_is_left_alone(source, tmp_path) -> None:
    run(source, tmp_path / "dst")
    before = written(tmp_path / "dst/images")
    assert run(source, tmp_path / "dst").num_kept == 4
    assert written(tmp_path / "dst/images") == before


def test_a_source_that_is_newer_is_done_again(source, tmp_path) -> None:
    run(source, tmp_path / "dst")
    path = source / "gtFine/train" / f"{KEYS['train'][0]}_gtFine_labelIds.png"
    Image.fromarray(np.full((4, 40), 7, dtype=np.uint8)).save(path)
    os.utime(path, (2e9, 2e9))
    assert run(source, tmp_path / "dst").num_kept == 3
    assert set(Folder(root=tmp_path / "dst").labels(KEYS["train"][0]).flatten().tolist()) == {0}


def test_a_label_that_the_source_has_lost_is_removed(source, tmp_path) -> None:
    run(source, tmp_path / "dst")
    (source / "gtFine/train" / f"{KEYS['train'][0]}_gtFine_labelIds.png").unlink()
    run(source, tmp_path / "dst")
    assert not Folder(root=tmp_path / "dst").has_labels(KEYS["train"][0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"resize": Resize(scale=0.25)},
            "was begun with scale 0.5, not 0.25; give the same, or another folder",
        ),
        ({"resize": Resize(size=(2, 4))}, "was begun with height None, not 2"),
        ({"resize": Resize(scale=0.5, filter="antialias")}, "was begun with filter area, not antialias"),
        ({"format": "jpg"}, "was begun with format png, not jpg"),
    ],
)
def test_going_on_with_other_settings_is_refused(source, tmp_path, changed, message) -> None:
    run(source, tmp_path / "dst")
    before = written(tmp_path / "dst")
    with pytest.raises(UserError, match=message):
        run(source, tmp_path / "dst", **changed)
    assert written(tmp_path / "dst") == before


def test_damaged_sources_are_reported_and_all_others_done(source, tmp_path) -> None:
    first, second = KEYS["train"]
    (source / "leftImg8bit/train" / f"{first}_leftImg8bit.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
    prepared = run(source, tmp_path / "dst")
    (problem,) = prepared.problems
    assert "aachen_000000_000019_leftImg8bit.png" in problem.file
    assert prepared.num_images == 3
    assert Folder(root=tmp_path / "dst").keys("train") == (second,)
    Image.new("RGB", (40, 4)).save(source / "leftImg8bit/train" / f"{first}_leftImg8bit.png")  # mended
    assert run(source, tmp_path / "dst").problems == ()
    assert Folder(root=tmp_path / "dst").keys("train") == (first, second)


def test_a_label_of_another_size_or_with_an_unknown_class_is_reported(source, tmp_path) -> None:
    for key, pixels in zip(KEYS["train"], (np.zeros((3, 3)), np.full((4, 40), 99)), strict=True):
        path = source / "gtFine/train" / f"{key}_gtFine_labelIds.png"
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    what = [problem.what for problem in run(source, tmp_path / "dst").problems]
    assert what[0] == "3x3 pixels, but its image has 40x4"
    assert what[1].startswith("value 99 is outside the class list")


def test_a_validation_image_without_a_label_is_reported_and_left_out(source, tmp_path, write) -> None:
    write("src/leftImg8bit/val/ulm/ulm_000009_000019_leftImg8bit.png", np.zeros((4, 40, 3), dtype=np.uint8))
    (problem,) = run(source, tmp_path / "dst").problems
    assert problem.what == "a validation image without a label"
    assert Folder(root=tmp_path / "dst").keys("val") == KEYS["val"]


@pytest.mark.parametrize("place", [".", "inside", "leftImg8bit/../deep/inside"])
def test_the_source_is_never_written_to(source, place) -> None:
    before = written(source)
    with pytest.raises(UserError, match="which is only read; give another folder to write to"):
        run(source, source / place)
    assert written(source) == before


def test_a_folder_with_files_of_others_is_left_alone(source, tmp_path) -> None:
    (tmp_path / "dst").mkdir()
    (tmp_path / "dst" / "thesis.tex").write_text("years of work")
    with pytest.raises(
        UserError, match="holds files that recoseg prepare did not write; give a new or empty"
    ):
        run(source, tmp_path / "dst")
    with pytest.raises(UserError, match=r"thesis\.tex is a file; give a new or empty folder"):
        run(source, tmp_path / "dst/thesis.tex")
    assert written(tmp_path / "dst").keys() == {"thesis.tex"}


@pytest.mark.parametrize("content", ["{", "[]", "\x00"])
def test_a_record_that_cannot_be_read_is_named(source, tmp_path, content) -> None:
    run(source, tmp_path / "dst")
    (tmp_path / "dst" / "prepare.json").write_text(content)
    with pytest.raises(UserError, match=r"prepare\.json: .*; bring it back, or give a new folder"):
        run(source, tmp_path / "dst")


def test_left_overs_of_a_killed_run_are_removed_but_not_those_of_one_at_work(source, tmp_path) -> None:
    run(source, tmp_path / "dst")
    left = tmp_path / "dst/images/.left.png.0a_b1c2d.part"
    left.write_bytes(b"half")
    with whole_file(tmp_path / "dst/images/at_work.png") as at_work:
        run(source, tmp_path / "dst")
        assert [path.exists() for path in (left, at_work)] == [False, True]


def test_a_full_disk_leaves_no_half_file(source, tmp_path, monkeypatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    run(source, tmp_path / "dst")
    key = KEYS["train"][0]
    converter = Converter((tmp_path / "dst").resolve(), Cityscapes(root=source).code, HALF, "png")
    before = written(tmp_path / "dst")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        converter((key, Cityscapes(root=source).entry(key)))
    assert written(tmp_path / "dst") == before


# People's own images: names, classes and unlabelled images survive


def test_own_images_with_dots_and_hashes_in_their_names_keep_them(folder, tmp_path, rows) -> None:
    for name in ("a.v2", "#1", "plain"):
        folder.image(f"{name}.png")
        folder.label(f"{name}.png", rows(0, 1, 2, 255))
    folder.text("val.txt", "plain\n")
    source = Folder(root=folder.root)
    prepare(source, source=folder.root, destination=tmp_path / "dst", resize=HALF)
    prepared = Folder(root=tmp_path / "dst")
    assert (prepared.keys("train"), prepared.keys("val")) == (("#1", "a.v2"), ("plain",))
    assert prepared.classes.names == source.classes.names
    record = json.loads((tmp_path / "dst/prepare.json").read_text())
    assert (record["dataset"], record["scale"], record["height"]) == ("folder", 0.5, None)


def test_images_without_a_label_stay_unlabelled(folder, tmp_path) -> None:
    folder.pairs(3, unlabelled=2)
    source = Folder(root=folder.root)
    assert prepare(source, source=folder.root, destination=tmp_path / "dst", resize=HALF).problems == ()
    prepared = Folder(root=tmp_path / "dst")
    assert prepared.keys("train") == source.keys("train")
    assert [prepared.has_labels(f"{number:03d}") for number in range(5)] == [True] * 3 + [False] * 2
