"""PNG masks, a file for each class."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["masks/leaf/day/x.png", "masks/stem/day/x.png"], ["leaf", "stem"]),
        (["masks/day/x_leaf.png", "masks/day/x-stem.png"], ["leaf", "stem"]),
        (["masks/leaf/day/x_1.png", "masks/stem/day/x_2.png"], ["leaf", "stem"]),
        (["masks/day/x_leaf_1.png", "masks/day/x_leaf_2.png"], ["leaf", "leaf"]),
        (["masks/day/x.png", "masks/day/x.bmp"], ["foreground", "foreground"]),
    ],
)
def test_binary_masks_say_their_class_by_folder_or_name(photo, save, imported, names, classes) -> None:
    photo("images/day/x.jpg", 2, 2)
    photo("images/day/x_y.jpg", 2, 2)
    save(names[0], [[255, 0], [0, 0]])
    save(names[1], [[0, 0], [0, 1]])
    made = imported("masks")
    numbers = [1 + sorted(set(classes)).index(name) for name in classes]
    assert made.names == ("background", *sorted(set(classes)))
    assert made.labels("x").tolist() == [[numbers[0], 0], [0, numbers[1]]]
    assert made.keys() == ["x"]


def test_the_longest_name_of_an_image_is_meant(photo, save, imported) -> None:
    photo("images/x.jpg", 1, 1)
    photo("images/x_y.jpg", 1, 1)
    save("masks/x_y_leaf.png", [[255]])
    save("masks/z_leaf.png", [[255]])
    made = imported("masks")
    assert made.keys() == ["x_y"]
    assert made.notes == {"masks without an image of their name: left out": 1}


def test_masks_of_another_size_are_a_problem(photo, save, imported) -> None:
    photo("images/x.jpg", 2, 2)
    photo("images/y.jpg", 2, 2)
    save("masks/leaf/x.png", [[255, 255, 255]])
    save("masks/leaf/y.png", [[255, 255], [0, 0]])
    save("masks/stem/y.png", [[255, 255]])
    made = imported("masks")
    assert [problem.what for problem in made.told.problems] == [
        "labels for 3x1 pixels, but the image has 2x2",
        "2x1 pixels, other than its image or the other masks of it",
    ]


def test_a_folder_without_masks_is_refused(photo, imported) -> None:
    photo("images/x.jpg", 2, 2)
    with pytest.raises(UserError, match="should hold images/ and masks/"):
        imported("masks")
