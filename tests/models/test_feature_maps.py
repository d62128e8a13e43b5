"""What a layer reads, as a map."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recoseg.errors import UserError
from recoseg.models.layer_taps import as_map, tapped, token_grid


@given(st.integers(3, 40), st.integers(3, 40), st.sampled_from([4, 8, 14, 16]), st.sampled_from([0, 1, 5]))
def test_tokens_are_laid_out_like_the_image_whatever_stands_before_them(rows, columns, patch, extra) -> None:
    image_size = (rows * patch, columns * patch)
    found = token_grid(rows * columns + extra, image_size)
    assert found[1] * found[2] + found[0] == rows * columns + extra
    if rows > 5 and columns > 5:  # so few extra tokens cannot be mistaken for a row
        assert found == (extra, rows, columns)


def test_the_first_row_of_tokens_is_the_top_of_the_image() -> None:
    tokens = torch.arange(2 * 7.0).view(1, 7, 2)  # one class token, then 2 rows of 3
    found = as_map(tokens, channels_last=True, image_size=(16, 24))
    assert found[0, 0].tolist() == [[2, 4, 6], [8, 10, 12]]
    assert found[0, 1].tolist() == [[3, 5, 7], [9, 11, 13]]


def test_maps_with_channels_last_are_turned() -> None:
    given_map = torch.rand(2, 3, 4, 5)
    assert as_map(given_map, channels_last=False, image_size=(3, 4)) is given_map
    turned = as_map(given_map, channels_last=True, image_size=(3, 4))
    assert torch.equal(turned, given_map.permute(0, 3, 1, 2))


def test_what_is_no_map_is_refused() -> None:
    with pytest.raises(UserError, match=r"an input of shape \(2, 3\), needs a map"):
        as_map(torch.rand(2, 3), channels_last=False, image_size=(8, 8))
    with pytest.raises(UserError, match="an input list, needs a map"):
        as_map([torch.rand(2, 3, 4, 4)], channels_last=False, image_size=(8, 8))
    with pytest.raises(UserError, match="30 tokens cannot be laid out like an image of 100x1000"):
        token_grid(30, (100, 1000))


def test_a_tap_takes_arguments_given_by_name_and_the_last_of_several_calls() -> None:
    layer = nn.Identity()
    with tapped(layer) as tap:
        layer(torch.zeros(1))
        layer(input=torch.ones(1))
    assert tap.taken.item() == 1
    layer(torch.zeros(1))
    assert tap.taken.item() == 1  # it is off
