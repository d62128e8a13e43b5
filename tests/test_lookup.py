"""Finding by name."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError
from recoseg.text import lookup


def test_a_known_name_gives_its_value() -> None:
    assert lookup({"a": 1}, "a", what="letter") == 1


def test_an_unknown_name_lists_the_names_and_the_nearest() -> None:
    with pytest.raises(
        UserError, match=r"unknown method 'clasmix'; did you mean 'classmix'\? Known: cutmix, classmix"
    ):
        lookup({"cutmix": 1, "classmix": 2}, "clasmix", what="method")


def test_case_does_not_matter_for_the_nearest_name() -> None:
    with pytest.raises(UserError, match="did you mean 'CutMix'"):
        lookup({"CutMix": 1}, "cutmix", what="method")


def test_nothing_near_still_lists_the_names() -> None:
    with pytest.raises(UserError, match=r"unknown method 'zzz'\. Known: cutmix"):
        lookup({"cutmix": 1}, "zzz", what="method")
