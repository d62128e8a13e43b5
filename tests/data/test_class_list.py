"""The class list of a folder, from classes.json or from plain labels; label formats end to end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from recoseg.data.folder import Folder
from recoseg.data.folder.class_list import label_scheme
from recoseg.errors import UserError
from recoseg.types import IGNORE

BLACK, WHITE, RED = (0, 0, 0), (255, 255, 255), (255, 0, 0)


def column(folder) -> list[int]:
    """The first column of label "a" in a folder that also has "b"."""
    folder.image("a.png")
    folder.image("b.png")
    return Folder(root=folder.root).labels("a")[:, 0].tolist()


def colours(*values: tuple[int, int, int]) -> np.ndarray:
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 6, axis=1)


def both_labels(folder, pixels, mode=None) -> None:
    folder.label("a.png", pixels, mode)
    folder.label("b.png", pixels, mode)


@pytest.mark.parametrize("mode", [None, "P"])
def test_index_and_palette_files_hold_class_indices(folder, rows, mode):
    folder.classes(names=["sky", "road", "car"])
    both_labels(folder, rows(0, 2, 1, 255), mode)
    assert column(folder) == [0, 2, 1, IGNORE]


def test_rgb_files_are_read_through_the_palette(folder):
    folder.classes(names=["sky", "road"], palette=[RED, BLACK])
    both_labels(folder, colours(RED, BLACK, BLACK, RED))
    assert column(folder) == [0, 1, 1, 0]


def test_format_rgb_reads_palette_files_by_colour(folder, rows):
    folder.classes(names=["sky", "road"], palette=[(10, 200, 10), (200, 10, 10)], format="rgb")
    both_labels(folder, rows(0, 1, 1, 0), "P")
    assert column(folder) == [1, 0, 0, 1]


def test_a_class_file_carries_names_and_colours(folder, rows):
    folder.classes(names=["sky", "road"], palette=[RED, BLACK], ignore_index=255)
    both_labels(folder, rows(0, 1, 1, 255))
    column(folder)
    classes = Folder(root=folder.root).classes
    assert classes.names == ("sky", "road")
    assert classes.palette == (RED, BLACK)


def test_the_ignore_index_becomes_ignore(folder, rows):
    folder.classes(names=["sky", "road"], ignore_index=200)
    both_labels(folder, rows(0, 1, 200, 200))
    assert column(folder) == [0, 1, IGNORE, IGNORE]


def test_a_listed_class_that_is_void_leaves_the_list(folder, rows):
    folder.classes(names=["unlabelled", "sky", "road"], ignore_index=0)
    both_labels(folder, rows(0, 1, 2, 1))
    assert column(folder) == [IGNORE, 0, 1, 0]
    assert Folder(root=folder.root).classes.names == ("sky", "road")


def test_a_void_colour_is_a_listed_class(folder):
    folder.classes(names=["sky", "void", "road"], palette=[RED, BLACK, WHITE], ignore_index=1, format="rgb")
    both_labels(folder, colours(RED, BLACK, WHITE, WHITE))
    assert column(folder) == [0, IGNORE, 1, 1]


def test_255_is_an_error_when_another_value_is_void(folder, rows):
    folder.classes(names=["sky", "road"], ignore_index=9)
    both_labels(folder, rows(0, 1, 255, 9))
    with pytest.raises(UserError, match=r"value 255 is outside the class list \(0-1, 9\); correct the label"):
        column(folder)


def test_format_binary_reads_0_and_255(folder, rows):
    folder.classes(names=["back", "leaf"], format="binary")
    both_labels(folder, rows(0, 255, 255, 0))
    assert column(folder) == [0, 1, 1, 0]


def test_format_binary_may_have_a_void_value(folder, rows):
    folder.classes(names=["back", "leaf"], format="binary", ignore_index=128)
    both_labels(folder, rows(0, 255, 128, 0))
    assert column(folder) == [0, 1, IGNORE, 0]


def test_format_binary_refuses_other_values(folder, rows):
    folder.classes(names=["back", "leaf"], format="binary")
    both_labels(folder, rows(0, 255, 100, 0))
    with pytest.raises(UserError, match=r"value 100 is outside the class list \(0-1, 255, 65535\)"):
        column(folder)


def test_two_classes_and_nothing_but_0_and_255_is_binary(folder, rows):
    folder.classes(names=["back", "leaf"])
    folder.label("b.png", rows(0, 0, 0, 0))  # one of them may hold one value only
    folder.label("a.png", rows(0, 255, 255, 0))
    assert column(folder) == [0, 1, 1, 0]


def test_one_label_with_a_1_makes_255_void(folder, rows):
    folder.classes(names=["back", "leaf"])
    folder.label("a.png", rows(0, 255, 255, 0))
    folder.label("b.png", rows(0, 255, 1, 0))
    assert column(folder) == [0, IGNORE, IGNORE, 0]


def test_an_ignore_index_that_is_written_down_keeps_255_void(folder, rows):
    folder.classes(names=["back", "leaf"], ignore_index=255)
    both_labels(folder, rows(0, 255, 255, 0))
    assert column(folder) == [0, IGNORE, IGNORE, 0]


def test_a_black_and_white_palette_settles_which_class_is_white(folder, rows):
    folder.classes(names=["leaf", "back"], palette=[WHITE, BLACK])
    both_labels(folder, rows(0, 255, 255, 0))
    assert column(folder) == [1, 0, 0, 1]


def test_without_a_class_file_plain_indices_need_no_words(folder):
    folder.pairs(3)
    classes = Folder(root=folder.root).classes
    assert classes.names == ("class_0", "class_1", "class_2")
    assert not (folder.root / "classes.json").exists()


def test_without_a_class_file_all_labels_are_looked_at(folder, rows):
    folder.pairs(3)
    folder.image("zzz.png")
    folder.label("zzz.png", rows(3, 3, 3, 3))
    assert len(Folder(root=folder.root).classes) == 4


def test_without_a_class_file_0_and_255_is_binary(folder, rows):
    both_labels(folder, rows(0, 255, 255, 0))
    assert column(folder) == [0, 1, 1, 0]
    assert Folder(root=folder.root).classes.names == ("background", "foreground")


def test_without_a_class_file_grey_rgb_files_hold_values(folder):
    both_labels(folder, colours(BLACK, WHITE, WHITE, BLACK))
    assert column(folder) == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ((0, 1, 3, 255), r"the label values \(0-1, 3, 255\) do not run from 0 without a gap"),
        ((0, 100, 200, 0), r"the label values \(0, 100, 200\) do not run"),
    ],
)
def test_the_suggested_class_file_for_values_with_gaps_works(folder, rows, values, what):
    both_labels(folder, rows(*values))
    with pytest.raises(UserError, match=what) as raised:
        column(folder)
    folder.text("classes.json", pasted(raised))
    column(folder)


def test_the_suggested_class_file_for_colours_works(folder):
    both_labels(folder, colours(BLACK, RED, WHITE, RED))
    with pytest.raises(UserError, match=r"classes\.json: missing, and the labels hold 3 colours") as raised:
        column(folder)
    folder.text("classes.json", pasted(raised))
    assert column(folder) == [0, 1, 2, 1]


def pasted(raised) -> str:
    """The class file that an error message suggests."""
    content, _ = json.JSONDecoder().raw_decode("{" + str(raised.value).split("{", 1)[1])
    return json.dumps(content)


def test_a_single_value_is_no_class_list(folder, rows):
    both_labels(folder, rows(0, 0, 255, 255, 0)[:1])
    with pytest.raises(UserError, match="the labels hold only the value 0; say what they mean"):
        column(folder)


def test_too_many_colours_are_no_classes(folder):
    both_labels(folder, np.random.default_rng(0).integers(0, 256, (30, 30, 3)))
    with pytest.raises(UserError, match="too many for classes; export the labels as plain PNG"):
        column(folder)


def test_null_means_that_no_value_is_void(folder, rows):
    folder.classes(names=["a", "b", "c"], ignore_index=None)
    both_labels(folder, rows(0, 1, 2, 255))
    with pytest.raises(UserError, match=r"value 255 is outside the class list \(0-2\)"):
        column(folder)


def test_one_class_is_enough_when_it_is_written_down(folder, rows):
    folder.classes(names=["leaf"])
    both_labels(folder, rows(0, 255))
    assert column(folder) == [0, IGNORE]


def test_the_rule_for_labels_is_told_in_words(folder, rows):
    folder.image("a.png")
    folder.label("a.png", rows(0, 255))
    labels = [folder.root / "labels" / "a.png"]
    assert label_scheme(folder.root, labels).rule == "0 is the first class, 255 (or 1) the second"
    folder.classes(names=["void", "a", "b"], ignore_index=0)
    assert label_scheme(folder.root, labels).rule == "values are class indices; 'void' (0) is void"
    folder.classes(names=["a", "b"], palette=[RED, BLACK], format="rgb")
    assert label_scheme(folder.root, labels).rule == "colours are looked up in the palette"


def test_a_label_that_cannot_be_read_does_not_hide_the_classes_of_the_others(folder, rows):
    folder.pairs(3)
    (folder.root / "labels" / "001.png").write_bytes(b"junk")
    data = Folder(root=folder.root)
    assert len(data.classes) == 3
    with pytest.raises(UserError, match=r"labels/001\.png: not an image that can be read"):
        data.labels("001")


# A classes.json with a mistake is named, with what is wrong


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, '"names" must be a list of class names'),
        ({"names": []}, '"names" must be a list of class names'),
        ({"names": ["a", 3]}, '"names" must be a list of class names'),
        ({"names": ["a", "a"]}, "class names must differ; repeated: a"),
        ({"nams": ["a"]}, "unknown field 'nams'; did you mean 'names'"),
        ({"names": ["a", "b"], "palette": [[0, 0, 0]]}, '2 "names" but 1 colours in "palette"'),
        ({"names": ["a"], "palette": [[0, 0, 256]]}, '"palette" must be a list of'),
        ({"names": ["a"], "palette": "red"}, '"palette" must be a list of'),
        ({"names": ["a", "b"], "palette": [RED, RED], "format": "rgb"}, r'"palette" has \[255, 0, 0\] twice'),
        ({"names": ["a"], "ignore_index": -1}, '"ignore_index" must be a value in the label files'),
        ({"names": ["a"], "ignore_index": 0}, '"ignore_index" leaves no class'),
        ({"names": ["a"], "format": "indx"}, "unknown \"format\" 'indx'; did you mean 'index'"),
        ({"names": ["a"], "format": "rgb"}, '"format": "rgb" needs a "palette"'),
        (
            {"names": ["a"], "palette": [RED], "format": "rgb", "ignore_index": 9},
            "is no colour of the palette",
        ),
        ({"names": ["a"], "format": "binary"}, '"format": "binary" needs two "names", not 1'),
        ({"names": ["a", "b"], "format": "binary", "ignore_index": 255}, '"ignore_index" 255 is a class in'),
    ],
)
def test_a_wrong_class_file_is_named_with_what_is_wrong(folder, fields, message):
    folder.pairs(2)
    folder.classes(**fields)
    with pytest.raises(UserError, match=f"classes.json: .*{message}"):
        Folder(root=folder.root)


@pytest.mark.parametrize(
    ("content", "message"), [("{\n!", "line 2 is not JSON"), ("[1]", "must hold an object")]
)
def test_a_class_file_that_is_not_json_is_an_error(folder, content, message):
    folder.pairs(2)
    folder.text("classes.json", content)
    with pytest.raises(UserError, match=message):
        Folder(root=folder.root)


def test_a_class_file_that_is_not_text_is_an_error(folder):
    folder.pairs(2)
    (folder.root / "classes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"classes\.json: cannot be read"):
        Folder(root=folder.root)
