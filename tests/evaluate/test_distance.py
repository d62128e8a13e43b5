"""Distances in pixels, or as a share of the diagonal."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError
from recoseg.evaluate.boundary import Distance


def test_pixels_are_pixels_and_shares_follow_the_size() -> None:
    assert Distance.parse("3").pixels(30, 40) == 3
    assert Distance.parse("2%").pixels(30, 40) == pytest.approx(1)
    assert Distance.parse(" 2 %").whole_pixels(300, 400) == 10
    assert Distance.parse("0.75%").whole_pixels(1, 1) == 1


@pytest.mark.parametrize("text", ["3", "0.75%", "2.5"])
def test_words_read_back(text) -> None:
    assert Distance.parse(text).as_word() == text


def test_people_read_units() -> None:
    assert [str(Distance.parse(text)) for text in ("1", "3", "2%")] == [
        "1 pixel", "3 pixels", "2 % of the diagonal",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "%", "3px", "0", "-1", "nan", "inf", "101%"])
def test_anything_else_is_an_error_that_says_what_is_allowed(text) -> None:
    with pytest.raises(UserError, match=r"needs pixels above 0 such as 3, or a share of the diagonal"):
        Distance.parse(text)
