"""Pixels read out of feature maps, products with them, sums over classes: any layout, same numbers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from recoseg.losses.regional_contrast.pixel_vectors import all_vectors, chosen_vectors
from recoseg.losses.regional_contrast.prototypes import class_prototypes, class_sums, unit_vectors
from recoseg.losses.regional_contrast.sampled_products import (
    csr_products,
    gathered_products,
    gathered_sums,
    sampled_products,
    sampled_sums,
)


def layouts() -> dict[str, Tensor]:
    features = torch.randn(2, 3, 4, 5, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    spread = torch.zeros(2, 6, 8, 5, dtype=torch.double)
    spread[:, ::2, ::2] = features
    return {
        "contiguous": features,
        "channels_last": features.contiguous(memory_format=torch.channels_last),
        "sliced": spread[:, ::2, ::2],
    }


ANY_LAYOUT = pytest.mark.parametrize("layout", layouts())
PIXELS = torch.tensor([[7, 0, 39], [7, 7, 20]])


@ANY_LAYOUT
def test_pixels_are_numbered_image_by_image_and_row_by_row(layout: str) -> None:
    features = layouts()[layout]
    chosen = chosen_vectors(features, PIXELS)
    assert chosen.shape == (2, 3, 3)
    assert chosen[0, 0].equal(features[0, :, 1, 2])
    assert chosen[0, 2].equal(features[1, :, 3, 4])
    assert all_vectors(features)[PIXELS].equal(chosen)


@ANY_LAYOUT
def test_the_gradient_sums_over_repeats(layout: str) -> None:
    features = layouts()[layout].requires_grad_()
    assert torch.autograd.gradcheck(lambda x: chosen_vectors(x, PIXELS), features)
    chosen_vectors(features, PIXELS).sum().backward()
    assert features.grad[0, :, 1, 2].tolist() == [3, 3, 3]
    assert features.grad.sum() == 18


def test_the_gradient_of_many_repeats_is_the_same_in_every_run() -> None:
    features = torch.randn(2, 16, 64, 64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    pixels = torch.randint(0, 50, (20_000,), generator=torch.Generator().manual_seed(1))

    def gradient() -> Tensor:
        loss = chosen_vectors(features, pixels).sin().sum()
        return torch.autograd.grad(loss, features)[0]

    first = gradient()
    assert all(first.equal(gradient()) for _ in range(5))


@ANY_LAYOUT
def test_class_sums_leave_out_ignored_pixels_even_if_they_hold_inf(layout: str) -> None:
    features, labels = layouts()[layout], torch.arange(40).view(2, 4, 5) % 4
    features.masked_fill_((labels == 3)[:, None], float("inf"))
    sums = class_sums(features, labels, 3)
    expected = torch.stack([features.permute(0, 2, 3, 1)[labels == k].sum(0) for k in range(3)])
    torch.testing.assert_close(sums, expected)


def test_the_mean_of_an_absent_class_is_zero() -> None:
    means = class_prototypes(torch.ones(1, 2, 1, 2), torch.tensor([[[0, 0]]]), torch.tensor([2, 0]))
    assert means.vectors.tolist() == [[1, 1], [0, 0]]
    assert means.graph[1].tolist() == [0, 0]


def test_a_zero_vector_has_no_direction_and_no_gradient() -> None:
    vectors = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    units = unit_vectors(vectors)
    assert units.tolist() == [[0, 0], pytest.approx([0.6, 0.8])]
    units.sum().backward()
    assert vectors.grad.isfinite().all()
    assert vectors.grad[0].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_products_with_chosen_pixels_are_the_same_by_any_kernel(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    vectors, queries = torch.randn(50, 8, dtype=dtype), torch.randn(6, 8, dtype=dtype)
    pixels, weights = torch.randint(0, 50, (6, 20)), torch.randn(6, 20, dtype=dtype)  # repeats among 20 of 50
    expected = (queries @ vectors.t()).gather(1, pixels)
    torch.testing.assert_close(csr_products(vectors, queries, pixels), expected)
    torch.testing.assert_close(gathered_products(vectors, queries, pixels), expected)
    expected = (weights[:, :, None] * vectors[pixels]).sum(1)
    torch.testing.assert_close(sampled_sums(vectors, weights, pixels), expected)
    torch.testing.assert_close(gathered_sums(vectors, weights, pixels), expected)


def test_there_may_be_more_keys_than_pixels() -> None:
    vectors, queries, pixels = torch.randn(3, 4), torch.randn(2, 4), torch.randint(0, 3, (2, 50))
    torch.testing.assert_close(
        sampled_products(vectors, queries, pixels), (queries @ vectors.t()).gather(1, pixels)
    )
