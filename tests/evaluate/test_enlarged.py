"""Labels from coarse logits, against enlarging all logits first."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.evaluate.protocol import Places, enlarged_argmax
from recoseg.models.bilinear import resize

SIDES = st.integers(1, 12)


def require_equal_but_for_rounding(logits: torch.Tensor, size: tuple[int, int]) -> None:
    """Wherever the best class is ahead by more than rounding."""
    found = enlarged_argmax(logits, size)
    enlarged = resize(logits, size)
    assert found.dtype == torch.uint8
    assert found.shape == (len(logits), *size)
    chosen = enlarged.gather(1, found.long()[:, None])[:, 0]
    assert (enlarged.amax(1) - chosen).max() <= 1e-5 * logits.abs().max()


@given(st.tuples(SIDES, SIDES), st.tuples(SIDES, SIDES), st.integers(1, 6), st.integers(0, 10**6))
def test_it_is_the_argmax_of_enlarged_logits(coarse, size, num_classes, seed) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, num_classes, *coarse, generator=generator)
    require_equal_but_for_rounding(logits, size)


@pytest.mark.parametrize("size", [(64, 96), (61, 97), (16, 24), (7, 5), (33, 33)])
def test_regions_of_one_class_and_their_edges_are_as_in_enlarged_logits(size) -> None:
    generator = torch.Generator().manual_seed(0)
    smooth = resize(torch.randn(3, 5, 4, 6, generator=generator), (16, 24))
    require_equal_but_for_rounding(smooth, size)
    agree = enlarged_argmax(smooth, size) == resize(smooth, size).argmax(1)
    assert agree.double().mean() > 0.9999


def test_a_class_that_leads_at_no_node_can_lead_between_them() -> None:
    logits = torch.tensor([[[[4.0, -4.0]], [[-4.0, 4.0]], [[1.0, 1.0]]]])  # (1, 3, 1, 2)
    assert enlarged_argmax(logits, (1, 2)).tolist() == [[[0, 1]]]
    # Between the nodes class 0 falls from 4 to -4: at the weights 1/8, 3/8, 5/8, 7/8 it is 3, 1, -1, -3.
    assert 2 in enlarged_argmax(logits, (1, 9))[0, 0].tolist()


def test_places_are_those_of_interpolation() -> None:
    ramp = torch.arange(5.0).view(1, 1, 1, 5)
    for length in (2, 5, 7, 20):
        places = Places.along(length, 5, ramp)
        assert places.first.add(places.weight).tolist() == pytest.approx(
            resize(ramp, (1, length))[0, 0, 0].tolist(), abs=1e-5
        )


def test_more_open_pixels_than_are_held_at_once_change_nothing(monkeypatch) -> None:
    logits = torch.randn(2, 4, 6, 7, generator=torch.Generator().manual_seed(1))
    whole = enlarged_argmax(logits, (25, 28))
    monkeypatch.setattr("recoseg.evaluate.protocol.MOST_AT_ONCE", 10)
    assert enlarged_argmax(logits, (25, 28)).equal(whole)
