"""Cityscapes in its owner's layout, with label ids, train ids, or both."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from recoseg.data.cityscapes import IDS, Cityscapes
from recoseg.data.problem import FileError
from recoseg.errors import UserError

IMAGE = np.full((2, 3, 3), 90, dtype=np.uint8)
TRAIN, VAL = "aachen_000000_000019", "frankfurt_000000_000294"


def rows(*values):
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 3, axis=1)


@pytest.fixture
def cityscapes(tmp_path, write):
    """One image for each subset, as the two archives unpack."""
    for subset, city, stem, values in (
        ("train", "aachen", TRAIN, (7, 33)),
        ("val", "frankfurt", VAL, (26, 3)),
        ("test", "berlin", "berlin_000000_000019", (3, 3)),
    ):
        write(f"leftImg8bit/{subset}/{city}/{stem}_leftImg8bit.png", IMAGE)
        write(f"gtFine/{subset}/{city}/{stem}_gtFine_labelIds.png", rows(*values))
        write(f"gtFine/{subset}/{city}/{stem}_gtFine_color.png", IMAGE)
        write(f"gtFine/{subset}/{city}/{stem}_gtFine_instanceIds.png", rows(0, 0))
    return tmp_path


def test_keys_are_city_and_frame(cityscapes) -> None:
    dataset = Cityscapes(root=str(cityscapes))
    assert dataset.keys("train") == (f"aachen/{TRAIN}",)
    assert dataset.keys("val") == (f"frankfurt/{VAL}",)
    assert dataset.keys("test") == ("berlin/berlin_000000_000019",)


def test_label_ids_become_19_classes_and_all_others_void(cityscapes) -> None:
    dataset = Cityscapes(root=cityscapes)
    assert dataset.labels(f"aachen/{TRAIN}").tolist() == [[0] * 3, [18] * 3]
    assert dataset.labels(f"frankfurt/{VAL}").tolist() == [[13] * 3, [255] * 3]


def test_every_id_from_0_to_33_and_the_licence_plate_has_its_class_or_is_void(cityscapes, write) -> None:
    name = f"aachen/{TRAIN}"
    write(f"leftImg8bit/train/{name}_leftImg8bit.png", np.zeros((35, 3, 3), dtype=np.uint8))
    write(f"gtFine/train/{name}_gtFine_labelIds.png", rows(*range(34), 255))
    classes = Cityscapes(root=cityscapes).labels(name)[:, 0].tolist()
    assert [value for value in range(34) if classes[value] != 255] == list(IDS)
    assert [index for index in classes if index != 255] == list(range(19))


def test_train_ids_are_preferred_where_they_are(cityscapes, write) -> None:
    write(f"gtFine/train/aachen/{TRAIN}_gtFine_labelTrainIds.png", rows(5, 255))
    dataset = pickle.loads(pickle.dumps(Cityscapes(root=cityscapes)))  # as worker processes get it
    assert dataset.labels(f"aachen/{TRAIN}").tolist() == [[5] * 3, [255] * 3]
    assert dataset.labels(f"frankfurt/{VAL}").tolist() == [[13] * 3, [255] * 3]


def test_names_and_colours_are_those_of_the_papers_figures(cityscapes) -> None:
    classes = Cityscapes(root=cityscapes).classes
    colours = dict(zip(classes.names, classes.palette, strict=True))
    assert (colours["road"], colours["traffic light"]) == ((128, 64, 128), (250, 170, 30))
    assert (len(classes), classes.names[18], colours["bicycle"]) == (19, "bicycle", (119, 11, 32))


def test_test_images_are_unlabelled_with_or_without_the_owners_void_files(cityscapes) -> None:
    key = "berlin/berlin_000000_000019"
    assert not Cityscapes(root=cityscapes).has_labels(key)
    for path in (cityscapes / "gtFine/test/berlin").iterdir():
        path.unlink()
    assert (Cityscapes(root=cityscapes).sample(key).labels == 255).all()


def test_the_folders_may_lie_in_those_of_their_archives(cityscapes) -> None:
    for name in ("leftImg8bit", "gtFine"):
        (cityscapes / f"{name}_trainvaltest").mkdir()
        (cityscapes / name).rename(cityscapes / f"{name}_trainvaltest" / name)
    assert Cityscapes(root=cityscapes).keys("train") == (f"aachen/{TRAIN}",)


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (
            "leftImg8bit",
            r"no leftImg8bit/ or leftImg8bit_trainvaltest/leftImg8bit/; get .*cityscapes-dataset",
        ),
        ("gtFine", r"no gtFine/ or gtFine_trainvaltest/gtFine/; get .*cityscapes-dataset"),
        ("leftImg8bit/val", r"leftImg8bit has no val/\*/\*_leftImg8bit\.png; get"),
        ("gtFine/train", r"gtFine has no train/\*/\*_gtFine_labelIds\.png; get"),
    ],
)
def test_what_is_missing_is_named_with_its_source(cityscapes, gone, message) -> None:
    (cityscapes / gone).rename(cityscapes / "moved")
    with pytest.raises(UserError, match=message):
        Cityscapes(root=cityscapes)


def test_an_id_above_the_list_is_an_error_with_the_files_name(cityscapes, write) -> None:
    write(f"gtFine/train/aachen/{TRAIN}_gtFine_labelIds.png", rows(7, 34))
    with pytest.raises(FileError, match=r"labelIds\.png: value 34 is outside the class list \(0-33, 255\)"):
        Cityscapes(root=cityscapes).labels(f"aachen/{TRAIN}")


def test_a_label_of_another_size_is_an_error(cityscapes, write) -> None:
    write(f"gtFine/train/aachen/{TRAIN}_gtFine_labelIds.png", rows(7, 7, 7))
    with pytest.raises(FileError, match="3x3 pixels, but its image has 3x2"):
        Cityscapes(root=cityscapes).sample(f"aachen/{TRAIN}")
