"""Files, folders and patterns are found once each, and their results never meet."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.errors import UserError
from recoseg.predict.image_list import find_images, names_of


@pytest.fixture
def found(tmp_path, monkeypatch):
    """`found("photos")` is {path as told: name of its results}, seen from the folder of the photos."""
    monkeypatch.chdir(tmp_path)

    def find(*words: str, out: str = "out") -> dict[str, str]:
        images = find_images(words, out=Path(out))
        return {image.path.as_posix(): image.name.as_posix() for image in images}

    return find


def test_a_folder_is_searched_and_its_sub_folders_kept(photo, found) -> None:
    for name in ("photos/b.jpg", "photos/a.PNG", "photos/sub/deep/a.png", "photos/.hidden.png"):
        photo(name)
    Path("photos/notes.txt").write_text("no image")
    assert found("photos") == {
        "photos/a.PNG": "a", "photos/b.jpg": "b", "photos/sub/deep/a.png": "sub/deep/a",
    }  # fmt: skip


def test_files_of_one_folder_keep_their_names(photo, found) -> None:
    photo("photos/a.png"), photo("photos/b.png")
    assert found("photos/b.png", "photos/a.png") == {"photos/b.png": "b", "photos/a.png": "a"}


def test_files_of_the_same_name_are_told_apart_by_their_folders(photo, found) -> None:
    photo("one/a.png"), photo("two/a.png")
    assert list(found("one", "two").values()) == ["one/a", "two/a"]
    assert list(found("one/a.png", "two/a.png").values()) == ["one/a", "two/a"]
    assert list(found("*/a.png").values()) == ["one/a", "two/a"]


def test_files_of_the_same_stem_keep_their_suffix(photo, found) -> None:
    for name in ("photos/a.png", "photos/a.jpg", "photos/b.png", "photos/a.jpg.png"):
        photo(name)
    assert found("photos") == {
        "photos/a.jpg": "a.jpg", "photos/a.jpg.png": "a.jpg.png", "photos/a.png": "a.png",
        "photos/b.png": "b",
    }  # fmt: skip


PART = st.text("ab.", min_size=1, max_size=4).filter(lambda text: text.strip("."))


@given(st.sets(st.tuples(PART, st.sampled_from([".png", ".jpg", ".a"])).map("".join), min_size=1))
def test_no_two_images_ever_have_the_same_name(names) -> None:
    files = [Path("/photos") / name for name in sorted(names)]
    assert len(set(names_of(files, "/photos"))) == len(files)


def test_an_image_that_is_named_twice_is_there_once(photo, found) -> None:
    photo("photos/a.png"), photo("photos/b.png")
    assert list(found("photos/a.png", "photos", "./photos/../photos/a.png")) == [
        "photos/a.png",
        "photos/b.png",
    ]


def test_patterns_are_searched_as_a_shell_would(photo, found) -> None:
    for name in ("photos/a.jpg", "photos/b.png", "photos/sub/c.jpg"):
        photo(name)
    Path("photos/notes.txt").write_text("no image")
    assert list(found("photos/*.jpg")) == ["photos/a.jpg"]
    assert found("photos/**/*.jpg") == {"photos/a.jpg": "a", "photos/sub/c.jpg": "sub/c"}
    assert list(found("photos/*")) == ["photos/a.jpg", "photos/b.png", "photos/sub/c.jpg"]
    photo("z.jpg")
    assert found("*.jpg", "photos/?.png") == {"z.jpg": "z", "photos/b.png": "photos/b"}


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(photo, found) -> None:
    photo("photo [1].png")
    assert found("photo [1].png") == {"photo [1].png": "photo [1]"}


def test_a_file_that_was_named_itself_needs_no_suffix(photo, found) -> None:
    photo("a.png").rename("scan")
    assert found("scan") == {"scan": "scan"}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nowhere", "no file or folder nowhere"),
        ("nowhere/*.jpg", r"no image matches nowhere/\*\.jpg"),
        ("empty", "no images in empty"),
    ],
)
def test_what_is_not_there_is_named(found, tmp_path, word, message) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=message):
        found(word)


@pytest.mark.parametrize("out", ["photos/out", "photos", "link/out"])
def test_results_inside_the_input_folder_are_refused(photo, found, out, tmp_path) -> None:
    photo("photos/a.png")
    (tmp_path / "link").symlink_to(tmp_path / "photos")
    with pytest.raises(UserError, match=f"output folder {out} is inside the input folder photos"):
        found("photos", out=out)


def test_a_folder_of_which_the_name_only_begins_the_same_is_outside(photo, found) -> None:
    photo("photos/a.png")
    assert found("photos", out="photos_out") == {"photos/a.png": "a"}


def test_images_inside_the_output_folder_are_refused(photo, found) -> None:
    photo("out/labels/a.png")
    for word in ("out/labels/a.png", "out/labels", "out/*/*.png"):
        with pytest.raises(UserError, match=r"out/labels/a\.png is inside the output folder out"):
            found(word)


def test_a_pattern_beside_the_output_folder_is_fine(photo, found) -> None:
    photo("a.png"), photo("out/labels/b.png")
    assert found("*.png", out="out") == {"a.png": "a"}
