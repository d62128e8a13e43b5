"""Windows that overlap, and what their blend must be."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.evaluate.sliding_window import Steps, blended

IMAGES = torch.randint(0, 256, (2, 3, 37, 53), generator=torch.Generator().manual_seed(0)).to(torch.uint8)


def pointwise(part: torch.Tensor) -> torch.Tensor:
    """Logits that depend on their pixel alone."""
    return torch.stack((part[:, 0].float(), part[:, 1].float() * 2 - part[:, 2].float()), dim=1)


def by_place(part: torch.Tensor) -> torch.Tensor:
    """Logits that differ between windows: what a pixel holds, plus the mean of its window."""
    return pointwise(part) + part.float().mean((1, 2, 3)).view(-1, 1, 1, 1)


def assembled(look, images: torch.Tensor, **settings) -> torch.Tensor:
    whole = torch.full((len(images), 2, *images.shape[2:]), torch.nan)
    covered = torch.zeros(images.shape[2:], dtype=torch.int64)
    for block in blended(look, images, **settings):
        whole[:, :, block.rows, block.columns] = block.logits
        covered[block.rows, block.columns] += 1
    assert (covered == 1).all(), "each pixel is in one block"
    return whole


def plain_blend(look, images: torch.Tensor, window: tuple[int, int], overlap: float) -> torch.Tensor:
    """All windows added up in an array of the whole image."""
    down, across = (Steps.along(*lengths, overlap) for lengths in zip(images.shape[2:], window, strict=True))
    total = torch.zeros(len(images), 2, *images.shape[2:])
    for row, top in enumerate(down.starts):
        for column, left in enumerate(across.starts):
            area = (..., slice(top, top + down.size), slice(left, left + across.size))
            total[area] += look(images[area]) * down.weights[row][:, None] * across.weights[column]
    return total


@given(st.integers(1, 60), st.integers(1, 70), st.sampled_from([0, 0.2, 1 / 3, 0.5, 0.9]))
def test_windows_cover_a_side_and_their_weights_sum_to_one(length, size, overlap) -> None:
    steps = Steps.along(length, size, overlap)
    total = torch.zeros(length)
    for start, weights in zip(steps.starts, steps.weights, strict=True):
        assert 0 <= start <= length - steps.size
        assert (weights > 0).all()
        total[start : start + steps.size] += weights
    assert total.tolist() == pytest.approx([1] * length)
    shared = [steps.size - (b - a) for a, b in zip(steps.starts, steps.starts[1:], strict=False)]
    assert all(common >= min(overlap * steps.size, steps.size - 1) - 1 for common in shared)


@given(
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.sampled_from([0, 0.25, 0.5, 0.75]),
    st.sampled_from([None, 1, 10, 26, 60]),
)
def test_what_depends_on_its_pixel_alone_is_the_same_through_windows(window, overlap, most_columns) -> None:
    images = IMAGES[:, :, :23, :31]
    found = assembled(pointwise, images, window=window, overlap=overlap, most_columns=most_columns)
    torch.testing.assert_close(found, pointwise(images), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("most_columns", [None, 20, 7])
@pytest.mark.parametrize("window", [(16, 16), (8, 30), (37, 20)])
def test_the_blend_equals_adding_up_all_windows_also_in_strips(window, most_columns) -> None:
    found = assembled(by_place, IMAGES, window=window, overlap=0.4, most_columns=most_columns)
    torch.testing.assert_close(found, plain_blend(by_place, IMAGES, window, 0.4), rtol=1e-5, atol=1e-3)


def test_a_window_larger_than_the_image_is_one_look_at_the_whole() -> None:
    seen = []

    def look(part: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(part.shape))
        return by_place(part)

    found = assembled(look, IMAGES, window=(100, 100), overlap=0.5)
    assert seen == [(2, 3, 37, 53)]
    assert found.equal(by_place(IMAGES))


def test_a_window_counts_most_in_its_middle() -> None:
    weights = Steps.along(100, 40, 0.5).weights[1]
    assert weights[20] > weights[5] > weights[0] > 0
