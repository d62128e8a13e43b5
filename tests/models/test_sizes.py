"""Sizes that networks refuse."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recoseg.errors import UserError
from recoseg.models.sizes import (
    MULTIPLES,
    SizeRule,
    crop_features,
    crop_logits,
    example_size,
    find_size_rule,
)

sides = st.integers(1, 300)


def images_of(height, width):
    return torch.randn(1, 3, height, width, generator=torch.Generator().manual_seed(0))


def picky(multiple, *, square=False, at_least=1):
    """A network that says what it refuses."""

    def answer(images):
        height, width = images.shape[2:]
        if (
            height % multiple
            or width % multiple
            or (square and height != width)
            or min(height, width) < at_least
        ):
            raise ValueError("not of that size")
        return images

    return answer


@given(sides, sides, st.sampled_from(MULTIPLES), st.integers(1, 4), st.booleans())
def test_a_padded_size_is_the_smallest_that_is_allowed(height, width, multiple, smallest, square) -> None:
    rule = SizeRule(multiple_of=multiple, at_least=multiple * smallest, square=square)
    padded = rule.padded((height, width))
    assert rule.padded(padded) == padded
    for side, outer in zip((height, width), padded, strict=True):
        assert outer >= max(side, rule.at_least)
        assert outer % multiple == 0
        assert square or outer - multiple < max(side, rule.at_least)
    assert not square or padded[0] == padded[1] < max(height, width, rule.at_least) + multiple


def test_padding_repeats_the_last_row_and_column() -> None:
    image = torch.tensor([[[[1.0, 2.0, 3.0]]]])
    padded = SizeRule(multiple_of=2).pad(image)
    assert padded.tolist() == [[[[1, 2, 3, 3], [1, 2, 3, 3]]]]
    assert SizeRule(multiple_of=1).pad(image) is image
    assert SizeRule(at_least=40).pad(image).shape == (1, 1, 40, 40)  # far more than the image itself


@pytest.mark.parametrize("multiple", MULTIPLES)
@pytest.mark.parametrize("square", [False, True])
def test_the_multiple_that_a_network_needs_is_found(multiple, square) -> None:
    rule = find_size_rule(picky(multiple, square=square), images_of, None)
    assert (rule.multiple_of, rule.square) == (multiple, square)


@pytest.mark.parametrize("multiple", MULTIPLES)
def test_patches_that_leave_the_edge_unread_count_as_a_refusal(multiple) -> None:
    patches = nn.Conv2d(3, 4, multiple, stride=multiple)
    assert find_size_rule(patches, images_of, None).multiple_of == multiple


def test_a_network_that_looks_at_nothing_is_taken_as_it_is() -> None:
    blank = nn.Conv2d(3, 4, 1)
    nn.init.zeros_(blank.weight)
    assert find_size_rule(blank, images_of, None) == SizeRule()


def test_the_smallest_size_is_found() -> None:
    assert find_size_rule(picky(4, at_least=20), images_of, None) == SizeRule(multiple_of=4, at_least=32)
    assert find_size_rule(picky(4, at_least=60), images_of, None) == SizeRule(multiple_of=4, at_least=64)
    assert find_size_rule(picky(4, at_least=70), images_of, None) == SizeRule(multiple_of=4, at_least=76)


def test_a_given_multiple_is_taken_or_refused() -> None:
    assert find_size_rule(picky(8), images_of, 24).multiple_of == 24
    with pytest.raises(
        UserError, match="all 2 sizes tried, the first of 108x132: ValueError: not of that size; "
    ):
        find_size_rule(picky(16), images_of, 12)


def test_examples_are_of_no_larger_multiple() -> None:
    for multiple in MULTIPLES:
        sizes = example_size(multiple, square=False)
        assert sizes[0] != sizes[1]
        for side in sizes:
            assert side >= 70
            assert [m for m in MULTIPLES if m > multiple and m % multiple == 0 and side % m == 0] == []


def test_logits_of_a_padded_image_are_cut_to_the_pixel() -> None:
    ramp = torch.arange(4.0).expand(1, 1, 4, 4) * 4 + 1.5  # at cell c of stride 4: the middle of its pixels
    cut = crop_logits(ramp, (16, 16), (16, 9))
    assert cut.shape == (1, 1, 16, 9)
    torch.testing.assert_close(cut[0, 0, 0, 2:], torch.arange(2.0, 9.0))  # each pixel gets its own place
    assert crop_logits(ramp, (16, 16), (16, 16)) is ramp


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 16))
def test_the_cells_that_stay_cover_the_image_to_half_a_cell(cells, kept, stride) -> None:
    outer = cells * stride
    side = min(kept * stride - stride // 3, outer)
    cut = crop_features(torch.zeros(1, 1, cells, cells), (outer, outer), (side, outer))
    assert cut.shape[3] == cells
    assert cut.shape[2] >= 1
    assert abs(cut.shape[2] * stride - side) <= stride / 2 or cut.shape[2] == 1
