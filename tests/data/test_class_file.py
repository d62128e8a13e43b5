"""A classes.json with a mistake is named, with what is wrong."""

from __future__ import annotations

import pytest

from recoseg.data.folder import Folder
from recoseg.errors import UserError

RED = (255, 0, 0)


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
