"""Flaw maps: numbers by hand, and a plain loop over pixels."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from recoseg.methods.parts.flaw_maps import blurred, read_flaws, stretched, true_flaws
from recoseg.types import IGNORE


def plain_blur(values: Tensor, inside: Tensor, width: int) -> Tensor:
    """Pixel by pixel: a weighted mean of those around it that are inside."""
    size = width if width % 2 else width + 1
    deviation = 0.3 * ((size - 1) / 2 - 1) + 0.8
    height, breadth = values.shape
    result = torch.zeros_like(values)
    for row in range(height):
        for column in range(breadth):
            total = weight = 0.0
            for down in range(-(size // 2), size // 2 + 1):
                for across in range(-(size // 2), size // 2 + 1):
                    r, c = mirrored(row + down, height), mirrored(column + across, breadth)
                    share = math.exp(-(down**2 + across**2) / (2 * deviation**2)) * bool(inside[r, c])
                    total, weight = total + share * values[r, c].item(), weight + share
            result[row, column] = total / weight if inside[row, column] else 0
    return result


def mirrored(place: int, size: int) -> int:
    return abs(place) if place < size else 2 * (size - 1) - place


@pytest.mark.parametrize("width", [1, 2, 4, 5])
def test_the_blur_equals_a_loop_over_pixels(width) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(2, 7, 9, generator=generator)
    inside = torch.rand(2, 7, 9, generator=generator) > 0.3
    expected = [plain_blur(*one, width) for one in zip(values, inside, strict=True)]
    torch.testing.assert_close(blurred(values, inside, width=width), torch.stack(expected))


def test_the_blur_of_a_flat_map_is_flat_whatever_is_padding() -> None:
    inside = torch.zeros(1, 16, 16, dtype=torch.bool)
    inside[:, :5, :9] = True
    assert torch.allclose(blurred(torch.full((1, 16, 16), 0.3), inside, width=7), 0.3 * inside)


def test_maps_are_stretched_over_what_is_inside() -> None:
    maps = torch.tensor([[[2.0, 3.0, 9.0]], [[5.0, 5.0, 5.0]], [[1.0, 2.0, 3.0]]])
    inside = torch.tensor([[[True, True, False]], [[True, True, True]], [[False, False, False]]])
    assert stretched(maps, inside).tolist() == [[[0, 1, 0]], [[0, 0, 0]], [[0, 0, 0]]]


def test_the_true_flaw_is_half_of_the_summed_difference() -> None:
    """So small that no blur reaches a neighbour: what is left is the difference, grown and stretched."""
    probabilities = torch.zeros(1, 3, 3, 5)
    probabilities[:, 0] = 1
    probabilities[0, :, 1, 1] = torch.tensor([0.5, 0.3, 0.2])
    probabilities[0, :, 1, 4] = torch.tensor([0.0, 1.0, 0.0])
    labels = torch.zeros(1, 3, 5, dtype=torch.int64)
    # 0.5 at (1, 1) and 1 at (1, 4), grown by a pixel
    expected = torch.tensor([0.5, 0.5, 0.5, 1, 1]).expand(1, 3, 5)
    assert torch.equal(true_flaws(probabilities, labels), stretched(expected, labels == 0))
    labels[0, :, 3:] = IGNORE  # now 0.5 is the largest, and what has no label has no flaw
    probabilities[0, :, 1, 0] = torch.tensor([1.0, 0.0, 0.0])
    found = true_flaws(probabilities[:, :, :, :3], labels[:, :, :3])
    assert found.unique().tolist() == [0]  # all of it within a pixel of the flaw: flat
    assert true_flaws(probabilities, labels)[0, :, 3:].unique().tolist() == [0]


def test_the_true_flaw_equals_a_plain_reading() -> None:
    generator = torch.Generator().manual_seed(0)
    probabilities = torch.randn(1, 3, 24, 32, generator=generator).mul(3).softmax(1)
    labels = torch.randint(3, (1, 24, 32), generator=generator)
    known = torch.ones(24, 32, dtype=torch.bool)
    one_hot = torch.nn.functional.one_hot(labels[0], 3).permute(2, 0, 1)
    flaws = plain_blur((one_hot - probabilities[0]).abs().sum(0) / 2, known, 3)
    grown = torch.stack(
        [
            torch.stack(
                [flaws[max(0, r - 1) : r + 2, max(0, c - 1) : c + 2].max() for c in range(flaws.shape[1])]
            )
            for r in range(flaws.shape[0])
        ]
    )
    soft = plain_blur(grown, known, 6)
    expected = (soft - soft.min()) / (soft.max() - soft.min())
    torch.testing.assert_close(true_flaws(probabilities, labels)[0], expected, atol=1e-5, rtol=1e-4)


def test_what_a_detector_says_is_read_without_changing_it() -> None:
    scores = torch.tensor([[[-1.0, 0.2, 0.5, 1.0]], [[0.0, 0.02, 0.05, 0.1]]])
    before, inside = scores.clone(), torch.ones(2, 1, 4, dtype=torch.bool)
    flaws = read_flaws(scores, inside, bad_above=0.4)
    assert flaws[0].tolist() == [pytest.approx([0, 0.2, 1, 1])]  # 0.5 is above 0.4: whole
    assert flaws[1].tolist() == [[0, 0, 0, 0]]  # it never says more than 0.1
    assert torch.equal(scores, before)


def test_what_is_said_of_padding_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(1, 40, 40, generator=generator)
    inside = torch.zeros(1, 40, 40, dtype=torch.bool)
    inside[:, :30] = True
    louder = scores.where(inside, 50.0)
    found = read_flaws(scores, inside, bad_above=0.6)
    assert torch.equal(found, read_flaws(louder, inside, bad_above=0.6))
    assert found[:, 30:].max() == 0
    assert found.max() == 1
