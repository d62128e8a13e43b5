"""`recoseg check` finds every problem of a folder in one go, and says so within 80 columns."""

from __future__ import annotations

import argparse
import io
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from recoseg import progress as progress_module
from recoseg.cli import check as command
from recoseg.cli import terminal as terminal_module
from recoseg.data.dataset_check import check_dataset, check_folder
from recoseg.data.folder import Folder
from recoseg.errors import UserError
from recoseg.text import percent_of_pixels


def found(report) -> dict[str, str]:
    """File name (or what else has the problem) -> what is wrong."""
    return {problem.file.split("/")[-1]: problem.what for problem in report.problems}


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(list(words)))


@pytest.fixture
def broken(folder, rows):
    """A folder with every problem that there is a word for."""
    folder.classes(
        names=["sky", "road", "car", "train"], palette=[[0, 0, 9], [9, 0, 0], [0, 9, 0], [9, 9, 9]]
    )
    folder.pairs(4)
    for name in ("cut", "small", "outside", "colour", "void", "empty", "twice", "both"):
        folder.image(f"{name}.png")
        folder.label(f"{name}.png", rows(0, 1, 2, 2))
    (folder.root / "images" / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
    folder.label("small.png", rows(0, 1, 2))
    folder.label("outside.png", rows(0, 1, 2, 4))
    folder.label("colour.png", np.full((4, 6, 3), 77))
    folder.label("void.png", rows(255, 255, 255, 255))
    (folder.root / "labels" / "empty.png").write_bytes(b"")
    folder.image("twice.jpg")
    folder.label("orphan.png", rows(0, 1, 2, 2))
    folder.label("both.png", np.full((2, 6), 7))
    folder.text("val.txt", "000\ngone\n")
    return folder


def test_every_problem_is_found_in_one_go(broken):
    problems = found(check_folder(broken.root))
    assert problems.pop("both.png") == "6x2 pixels, but its image has 6x4"
    assert {name: what.split(" (")[0].split(",")[0] for name, what in problems.items()} == {
        "cut.png": "not an image that can be read",
        "small.png": "6x3 pixels",
        "outside.png": "value 4 is outside the class list",
        "colour.png": "colour",
        "void.png": "no pixel has a class: all are void",
        "empty.png": "the file is empty",
        "twice.png": "has the same stem as twice.jpg",
        "orphan.png": "a label without an image",
        "val.txt, line 2: gone": "names no file in images/",
        "class 3 (train)": "never occurs in the labels of train or val",
    }


def test_one_label_can_have_two_problems(broken):
    both = [
        problem.what for problem in check_folder(broken.root).problems if problem.file.endswith("both.png")
    ]
    assert both == [
        "value 7 is outside the class list (0-3, 255)",
        "6x2 pixels, but its image has 6x4",
    ]


def test_every_problem_has_a_remedy(broken):
    assert all(problem.remedy for problem in check_folder(broken.root).problems)


def test_pixel_shares_and_image_counts_can_be_checked_by_hand(folder, rows):
    folder.classes(names=["sky", "road"])
    for name, values in {"a": (0, 0, 0, 1), "b": (0, 0, 255, 255), "c": (1, 1, 1, 1)}.items():
        folder.image(f"{name}.png")
        folder.label(f"{name}.png", rows(*values))
    folder.image("d.png")
    folder.text("val.txt", "c\n")
    report = check_folder(folder.root)
    train, val = report.subsets["train"], report.subsets["val"]
    assert (train.num_images, train.num_labelled, val.num_images) == (3, 2, 1)
    assert train.pixels[[0, 1, 255]].tolist() == [30, 6, 12]
    assert train.images[[0, 1, 255]].tolist() == [2, 1, 1]
    assert report.pixel_share[[0, 1, 255]].tolist() == pytest.approx([5 / 12, 5 / 12, 2 / 12])
    assert found(report) == {"class 0 (sky)": "never occurs in the labels of val"}


def test_a_broken_class_file_does_not_stop_the_check_of_files(broken):
    broken.text("classes.json", "{")
    problems = found(check_folder(broken.root))
    assert problems["classes.json"].startswith("line 1 is not JSON")
    assert {"cut.png", "small.png", "empty.png"} <= problems.keys()
    assert "outside.png" not in problems


def test_labels_that_need_a_class_file_are_a_problem_that_suggests_one(folder):
    for name in ("a.png", "b.png"):
        folder.image(name)
        folder.label(name, np.arange(4 * 6 * 3).reshape(4, 6, 3))
    (problem,) = check_folder(folder.root).problems
    assert problem.what == "missing, and the labels hold 24 colours"
    assert '"palette": [[0, 1, 2], [3, 4, 5]' in problem.remedy


def test_no_labels_are_one_problem(folder):
    folder.image("a.png")
    (problem,) = check_folder(folder.root).problems
    assert problem.what.startswith("no image has a label")


def test_images_in_two_lists_are_a_problem_of_the_check_only(folder):
    folder.pairs(3)
    folder.text("train.txt", "000\n001\n")
    folder.text("val.txt", "001\n")
    assert found(check_folder(folder.root))["001.png"].startswith("is both in train.txt and in val.txt")
    assert Folder(root=folder.root).keys("train") == ("000", "001")


def test_a_check_writes_nothing(folder):
    folder.pairs(5)
    assert not check_folder(folder.root).problems
    assert sorted(path.name for path in folder.root.iterdir()) == ["images", "labels"]


def test_any_dataset_of_files_can_be_checked(folder):
    folder.pairs(5)
    report = check_dataset(Folder(root=folder.root))
    assert report.classes is not None
    assert len(report.classes) == 3
    assert not report.problems


def test_worker_processes_find_the_same(broken, monkeypatch):
    alone = check_folder(broken.root)
    monkeypatch.setattr("recoseg.data.dataset_check.FEW_FILES", 2)
    calls: list[tuple[int, int]] = []
    together = check_folder(
        broken.root, num_workers=2, progress=lambda done, total: calls.append((done, total))
    )
    assert together.problems == alone.problems
    assert together.pixel_share.tolist() == alone.pixel_share.tolist()
    assert calls == [(done, 12) for done in range(1, 13)]


def test_a_worker_that_dies_is_an_error_of_one_line(folder, monkeypatch):
    def die(*_: object, **__: object) -> None:
        raise BrokenProcessPool

    folder.pairs(3)
    monkeypatch.setattr("recoseg.data.dataset_check.FEW_FILES", 2)
    monkeypatch.setattr("recoseg.data.worker_processes.ProcessPoolExecutor.map", die)
    with pytest.raises(UserError, match="a worker process died, perhaps for lack of memory: fewer need less"):
        check_folder(folder.root, num_workers=2)


def test_the_worst_images_are_one_of_each_kind_of_problem_in_turn_then_others(folder, rows):
    folder.classes(names=["sky", "road", "car"])
    folder.pairs(9, unlabelled=2)
    for key in ("001", "002", "003"):
        folder.label(f"{key}.png", rows(0, 1, 2))  # of another size
    folder.label("006.png", rows(9, 9, 9, 9))
    folder.label("007.png", rows(255, 255, 255, 255))
    report = check_folder(folder.root)
    worst = report.worst_first(24)
    assert list(worst) == ["001", "006", "007", "002", "003", "000", "004", "005", "008"]
    assert [len(problems) for problems in worst.values()] == [1] * 5 + [0] * 4
    assert list(report.worst_first(2)) == ["001", "006"]
    assert list(report.worst_first(7)) == ["001", "006", "007", "002", "003", "000", "005"]


def test_the_picture_is_written_beside_the_report_and_never_over_a_file(broken, tmp_path, capsys):
    picture = tmp_path / "sheet.png"
    assert run(str(broken.root), "--picture", str(picture)) == 1
    assert f"picture: {picture}" in capsys.readouterr().out
    with Image.open(picture) as shown:
        assert 1000 < shown.width < 2000  # a page, 9 inches, at most
    with pytest.raises(UserError, match=r"sheet\.png exists already; choose another --picture"):
        run(str(broken.root), "--picture", str(picture))
    assert run(str(broken.root), "--picture", str(picture), "--force") == 1
    with pytest.raises(UserError, match="--force has no effect without --picture"):
        run(str(broken.root), "--force")


def test_a_folder_whose_classes_cannot_be_told_has_a_picture_too(folder, rows, tmp_path):
    folder.image("a.png")
    folder.label("a.png", rows(3, 90, 200, 7))
    assert run(str(folder.root), "--picture", str(tmp_path / "sheet.svg")) == 1
    assert (tmp_path / "sheet.svg").is_file()


def test_the_command_prints_a_sound_folder_and_returns_0(folder, capsys):
    folder.pairs(5, unlabelled=2)
    assert run(str(folder.root)) == 0
    printed = capsys.readouterr().out
    assert "train: 6 images, 4 with usable labels" in printed
    assert "class_1" in printed
    assert "25.00 %" in printed
    assert "Labels: values are class indices; 255 is void." in printed
    assert '{"names": ["class_0", "class_1", "class_2"], "palette"' in printed
    assert "No problems found." in printed


def test_the_command_returns_1_and_names_every_file(broken, capsys):
    assert run(str(broken.root), "--workers", "1") == 1
    printed = capsys.readouterr().out
    for name in ("cut", "small", "outside", "colour", "void", "empty", "twice", "orphan"):
        assert f"{name}.png\n" in printed
    assert "12 problems found." in printed


def test_the_output_fits_80_columns_and_keeps_names_whole(folder, rows):
    long = "a_very_long_name_" * 6
    folder.classes(names=["sky", "x" * 100, "road"])
    folder.image("a.png")
    folder.label("a.png", rows(0, 1, 2, 9))
    folder.image(f"{long}.png")
    folder.label(f"{long}.png", rows(0, 1, 2))
    console = Console(width=80, file=io.StringIO())
    command.show(check_folder(folder.root), console)
    lines = console.file.getvalue().splitlines()
    assert any(line.endswith(f"/labels/{long}.png") for line in lines)
    assert all(len(line) <= 80 for line in lines if str(folder.root) not in line)


def test_a_terminal_gets_a_bar_and_other_output_a_line_now_and_then(monkeypatch):
    for terminal in (True, False):
        monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
        console = Console(force_terminal=terminal, file=io.StringIO(), width=80)
        with terminal_module.progress_of(console) as progress:
            progress(3, 10)
        assert ("reading files" if terminal else "read 3 of 10 images, ") in console.file.getvalue()


def test_a_wrong_number_of_workers_is_an_error(folder):
    with pytest.raises(UserError, match="--workers must be at least 1, not 0"):
        run(str(folder.root), "--workers", "0")


def test_a_missing_folder_is_an_error_of_one_line(tmp_path):
    with pytest.raises(UserError, match="does not exist; give a folder"):
        run(str(tmp_path / "nowhere"))


def test_an_image_turned_by_exif_matches_an_upright_label(folder, rows):
    folder.pairs(2)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (4, 6)).save(folder.root / "images" / "001.png", exif=exif)
    assert not check_folder(folder.root).problems


def test_a_share_is_0_only_for_no_pixel():
    assert [percent_of_pixels(share) for share in (0, 0.00001, 0.329)] == ["0 %", "< 0.01 %", "32.90 %"]


def test_camvid_is_sound(real_data):
    if not (real_data / "camvid").is_dir():
        pytest.skip(f"no camvid at {real_data}")
    data = Folder(root=real_data / "camvid")
    assert [len(data.keys(subset)) for subset in ("train", "val", "test")] == [367, 101, 233]
    assert data.sample("0001TP_006690").image.shape == (3, 360, 480)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "num_images"), [("camvid", 701), ("cityscapes_quarter", 3475)])
def test_real_folders_have_no_problem(real_data, name, num_images):
    if not (real_data / name).is_dir():
        pytest.skip(f"no {name} at {real_data}")
    report = check_folder(real_data / name, num_workers=2)
    assert not report.problems
    assert sum(count.num_images for count in report.subsets.values()) == num_images
