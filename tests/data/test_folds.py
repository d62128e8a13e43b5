"""Folds of a folder: every labelled image validates once."""

from __future__ import annotations

import pytest

from recoseg.data.folder import Folder
from recoseg.errors import UserError


@pytest.mark.parametrize(("number", "folds"), [(5, 5), (7, 3), (12, 2)])
def test_folds_are_a_partition_of_the_labelled_images(folder, number, folds):
    folder.pairs(number, unlabelled=3)
    parts = [Folder(root=folder.root, folds=folds, fold=fold) for fold in range(1, folds + 1)]
    validated = [key for part in parts for key in part.keys("val")]
    assert sorted(validated) == [f"{index:03d}" for index in range(number)]
    sizes = [len(part.keys("val")) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for part in parts:
        assert sorted([*part.keys("train"), *part.keys("val")]) == [f"{i:03d}" for i in range(number + 3)]
    assert len({part.fingerprint() for part in parts}) == folds
    assert not (folder.root / "val.txt").exists()  # nothing is written down


def test_another_seed_cuts_them_elsewhere(folder):
    folder.pairs(12)
    parts = {Folder(root=folder.root, folds=3, seed=seed).keys("val") for seed in range(4)}
    assert len(parts) > 1


def test_test_images_are_in_no_fold(folder):
    folder.pairs(6)
    folder.text("test.txt", "002\n004\n")
    parts = [Folder(root=folder.root, folds=2, fold=fold) for fold in (1, 2)]
    assert sorted(key for part in parts for key in part.keys("val")) == ["000", "001", "003", "005"]
    assert all(tuple(part.keys("test")) == ("002", "004") for part in parts)
    assert all(not set(part.keys("train")) & {"002", "004"} for part in parts)


def test_a_list_that_we_drew_ourselves_is_in_nobodys_way(folder):
    folder.pairs(6)
    Folder(root=folder.root).keep_draw()
    before = (folder.root / "val.txt").read_text()
    parts = [Folder(root=folder.root, folds=3, fold=fold) for fold in (1, 2, 3)]
    assert len({key for part in parts for key in part.keys("val")}) == 6
    assert (folder.root / "val.txt").read_text() == before


@pytest.mark.parametrize("name", ["val.txt", "train.txt"])
def test_lists_of_the_user_are_not_passed_over(folder, name):
    folder.pairs(6)
    folder.text(name, "001\n")
    with pytest.raises(UserError, match=rf"{name} names the images already.* 3 folds: remove the list"):
        Folder(root=folder.root, folds=3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"folds": 5}, "4 labelled images for 5 folds: each needs one; label more, or take fewer"),
        ({"folds": 3, "fold": 4}, "fold must be 1 to 3, the number of folds, not 4"),
        ({"fold": 2}, "fold 2 has no effect without folds"),
        ({"folds": 2, "val_share": 0.5}, r"val_share 0\.5 has no effect beside folds"),
    ],
)
def test_folds_that_make_no_sense_are_an_error(folder, settings, says):
    folder.pairs(4, unlabelled=4)
    with pytest.raises(UserError, match=says):
        Folder(root=folder.root, **settings)
