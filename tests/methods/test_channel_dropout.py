"""Channels left out: whole ones, of each image its own, complementary in two views."""

from __future__ import annotations

import pytest
import torch

from recoseg.methods.parts.channel_dropout import complementary_channels, without_channels


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_channel_is_left_out_in_all_cells_of_an_image_or_grows_to_make_up() -> None:
    dropped, of_transformer = without_channels(
        [torch.ones(6, 400, 2, 3), torch.ones(6, 5, 400)], generator(), drop=0.25
    )
    for factors in (dropped.flatten(2), of_transformer.transpose(1, 2)):  # (6, 400, cells)
        assert (factors == factors[:, :, :1]).all()
        assert sorted(factors.unique().tolist()) == pytest.approx([0, 4 / 3])
        assert (factors[:, :, 0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.036)
        assert len({tuple(row) for row in factors[:, :, 0].tolist()}) == 6


def test_nothing_is_left_out_with_probability_0() -> None:
    one = torch.randn(2, 4, 3, 3)
    assert torch.equal(without_channels([one], generator(), drop=0)[0], one)


def test_maps_of_one_width_lack_the_same_channels() -> None:
    maps = [torch.ones(4, 6, 2, 2), torch.ones(4, 6, 3, 3), torch.ones(4, 9, 6), torch.ones(4, 5, 2, 2)]
    one, same, tokens, other = complementary_channels(maps, torch.Generator().manual_seed(0))
    assert torch.equal(one[:, :, 0, 0], same[:, :, 0, 0])
    assert torch.equal(one[:, :, 0, 0], tokens[:, 0])
    assert not torch.equal(one[:, :5, 0, 0], other[:, :, 0, 0])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_two_views_have_complementary_channels_and_half_of_the_images_all(count) -> None:
    maps = [torch.ones(2 * count, 64, 3, 3), torch.ones(2 * count, 7, 32)]
    for factors in complementary_channels(maps, generator(count)):
        first, second = factors.chunk(2)
        assert torch.equal(first + second, torch.full_like(first, 2))
        whole = (first == 1).flatten(1).all(1)
        assert whole.sum() == count // 2
        assert set(first[~whole].unique().tolist()) == {0, 2}
    images, of_transformer = complementary_channels(maps, generator(count))
    same = (images[:count] == 1).flatten(1).all(1), (of_transformer[:count] == 1).flatten(1).all(1)
    assert torch.equal(*same)  # the same images on every level
