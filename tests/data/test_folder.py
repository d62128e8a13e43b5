"""A folder of a user's own images: pairing, lists, and the draw of validation images."""

from __future__ import annotations

import pickle

import pytest

from recoseg.data.folder import Folder
from recoseg.data.folder.folder_dataset import draw_share
from recoseg.errors import UserError
from recoseg.types import IGNORE


def test_images_and_labels_are_paired_by_stem(folder, rows):
    folder.image("a.jpg")
    folder.image("b.png")
    folder.label("a.png", rows(0, 1, 0, 1))
    folder.label("b.tif", rows(1, 1, 0, 255))
    data = Folder(root=folder.root)
    assert sorted(data.keys("train") + data.keys("val")) == ["a", "b"]
    assert data.image("a").shape == (3, 4, 6)
    assert data.labels("b")[:, 0].tolist() == [1, 1, 0, IGNORE]
    assert data.sample("b").key == "b"


def test_nested_folders_give_keys_with_slashes(folder, rows):
    for name in ("x/a", "y/a", "y/z/b.c"):
        folder.image(f"{name}.png")
        folder.label(f"{name}.png", rows(0, 1))
    data = Folder(root=folder.root)
    assert sorted(data.keys("train") + data.keys("val")) == ["x/a", "y/a", "y/z/b.c"]


def test_images_without_a_label_are_unlabelled_and_need_no_mask(folder):
    folder.pairs(5, unlabelled=3)
    data = Folder(root=str(folder.root))
    assert data.keys("train")[-3:] == ("005", "006", "007")
    assert not data.has_labels("005")
    assert data.has_labels("000")
    assert data.sample("005").labels.eq(IGNORE).all()
    with pytest.raises(UserError, match=r"005\.png has no labels"):
        data.labels("005")


def test_validation_is_drawn_from_the_labelled_images_and_written_down(folder):
    folder.pairs(10, unlabelled=30)
    first = Folder(root=folder.root, val_share=0.3, seed=4)
    assert not (folder.root / "val.txt").exists()  # only training writes it
    first.keep_draw()
    assert len(first.keys("val")) == 3
    assert all(first.has_labels(key) for key in first.keys("val"))
    assert len(first.keys("train")) == 37
    written = (folder.root / "val.txt").read_text().splitlines()
    assert tuple(written[1:]) == first.keys("val")
    assert sorted(path.name for path in folder.root.iterdir()) == ["images", "labels", "val.txt"]
    folder.image("new.png")
    again = Folder(root=folder.root, val_share=0.3, seed=4)
    assert again.keys("val") == first.keys("val")
    assert "new" in again.keys("train")


def test_the_draw_is_the_same_on_every_machine():
    keys = [f"{index:03d}" for index in range(20)]
    assert draw_share(keys, share=0.2, seed=0) == ("003", "012", "014", "017")
    assert draw_share(keys, share=0.2, seed=1) != draw_share(keys, share=0.2, seed=0)


@pytest.mark.parametrize(
    ("count", "share", "drawn"), [(2, 0.01, 1), (2, 0.99, 1), (10, 0.99, 9), (1, 0.5, 0)]
)
def test_the_draw_leaves_something_for_both_sides(count, share, drawn):
    assert len(draw_share([str(index) for index in range(count)], share=share, seed=0)) == drawn


def test_a_folder_that_cannot_be_written_gets_the_same_draw(folder, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    folder.pairs(10)
    monkeypatch.setattr("recoseg.data.folder.folder_dataset.write_whole", refuse)
    data = Folder(root=folder.root)
    data.keep_draw()
    assert not (folder.root / "val.txt").exists()
    monkeypatch.undo()
    assert Folder(root=folder.root).keys("val") == data.keys("val")


def test_settings_that_the_lists_make_idle_are_an_error(folder):
    folder.pairs(5)
    Folder(root=folder.root, seed=3).keep_draw()
    with pytest.raises(
        UserError, match=r"seed 4 have no effect; leave them at 0\.2 and 3, or remove the list"
    ):
        Folder(root=folder.root, seed=4)
    folder.text("val.txt", "001\n")
    with pytest.raises(UserError, match=r"val_share 0\.5 and seed 0 have no effect"):
        Folder(root=folder.root, val_share=0.5)


@pytest.mark.parametrize("share", [0, 1, -0.5, 20])
def test_a_share_outside_0_to_1_is_an_error(folder, share):
    folder.pairs(3)
    with pytest.raises(UserError, match="val_share must lie between 0 and 1"):
        Folder(root=folder.root, val_share=share)


def test_lists_are_read_leniently_and_keep_their_order(folder, rows):
    folder.pairs(5)
    folder.image("sub/a.v2.png")
    folder.label("sub/a.v2.png", rows(0, 1, 2))
    folder.text("train.txt", "\ufeff# mine\r\n004.png\r\n\r\nimages/001.jpg\r\n./000\r\n000\r\n")
    folder.text("val.txt", "sub\\a.v2\n  002  \n")
    data = Folder(root=folder.root)
    assert data.keys("train") == ("004", "001", "000")
    assert data.keys("val") == ("sub/a.v2", "002")
    assert data.keys("test") == ()


def test_keys_that_start_like_a_comment_survive_being_written_down(folder, rows):
    for name in ("#1.png", "#2.png"):
        folder.image(name)
        folder.label(name, rows(0, 1))
    assert Folder(root=folder.root).keys("val") == Folder(root=folder.root).keys("val") != ()


def test_without_a_training_list_all_other_images_train(folder):
    folder.pairs(5, unlabelled=1)
    folder.text("val.txt", "001\n")
    folder.text("test.txt", "002\n")
    assert Folder(root=folder.root).keys("train") == ("000", "003", "004", "005")


def test_without_a_validation_list_the_other_labelled_images_validate(folder):
    folder.pairs(4, unlabelled=1)
    folder.text("train.txt", "000\n004\n")
    data = Folder(root=folder.root)
    assert data.keys("val") == ("001", "002", "003")
    assert not (folder.root / "val.txt").exists()


def test_test_images_are_kept_out_of_the_draw(folder):
    folder.pairs(4)
    folder.text("test.txt", "000\n001\n")
    data = Folder(root=folder.root)
    assert len(data.keys("train")) == len(data.keys("val")) == 1
    assert data.keys("test") == ("000", "001")


def test_a_folder_dataset_survives_pickling(folder):
    folder.pairs(3)
    data = Folder(root=folder.root)
    copy = pickle.loads(pickle.dumps(data))
    assert copy.fingerprint() == data.fingerprint()
    assert copy.sample("001").labels.equal(data.sample("001").labels)


def test_hidden_and_foreign_files_are_left_alone(folder):
    folder.pairs(3)
    for name in ("images/.DS_Store", "images/._000.png", "images/notes.txt", "labels/Thumbs.db"):
        folder.text(name, "junk")
    folder.image(".cache/000.png")
    assert len(Folder(root=folder.root).entries) == 3
