"""Jitter and blur against slow, plain versions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter1d

from recoseg.augment.colour import (
    ColourJitter,
    GaussianBlur,
    Greyscale,
    gaussian_kernels,
    hue_matrices,
    saturation_matrices,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(count=st.integers(1, 4), height=st.integers(1, 12), width=st.integers(1, 12), seed=st.integers(0, 100))
def test_images_stay_in_range_and_shape(count, height, width, seed) -> None:
    images = torch.rand(count, 3, height, width, generator=generator(seed))
    result = GaussianBlur(probability=1)(
        ColourJitter(probability=1)(images, generator(seed)), generator(seed)
    )
    assert result.shape == images.shape
    assert result.min() >= 0
    assert result.max() <= 1 + 1e-6


def test_probability_zero_changes_nothing() -> None:
    images = torch.rand(4, 3, 8, 8)
    torch.testing.assert_close(ColourJitter(probability=0)(images, generator()), images, atol=1e-5, rtol=0)
    assert torch.equal(GaussianBlur(probability=0)(images, generator()), images)


def test_about_the_given_share_of_images_is_changed_and_each_in_its_own_way() -> None:
    images = torch.rand(1, 3, 6, 6).expand(400, 3, 6, 6).clone()
    change = (ColourJitter()(images, generator()) - images).abs().mean((1, 2, 3))
    assert 0.74 < (change > 1e-3).float().mean() < 0.86
    assert change[change > 1e-3].unique().numel() > 300
    change = (GaussianBlur()(images, generator()) - images).abs().amax((1, 2, 3))
    # Below a sigma of about 0.25 a blur cannot be seen, so a little less than half are changed.
    assert 0.35 < (change > 1e-3).float().mean() < 0.55


def test_brightness_and_contrast_follow_the_textbook() -> None:
    """With hue and saturation off: x -> b x, then c x + (1 - c) mean grey."""
    images = torch.rand(3, 3, 8, 8, generator=generator(1)) * 0.5 + 0.2
    jitter = ColourJitter(probability=1, saturation=0, hue=0)
    result = jitter(images, generator(2))
    uniform = torch.rand(5, 3, generator=generator(2))
    brightness, contrast = 1 + 0.25 * (2 * uniform[0] - 1), 1 + 0.25 * (2 * uniform[1] - 1)
    for image, out, b, c in zip(images, result, brightness, contrast, strict=True):
        bright = image * b
        grey = (bright * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0).mean()
        torch.testing.assert_close(out, (c * bright + (1 - c) * grey).clamp(0, 1), atol=1e-5, rtol=0)


def test_saturation_and_hue_leave_grey_alone_and_keep_luma() -> None:
    matrices = torch.cat(
        [saturation_matrices(torch.tensor([0.5, 1.5])), hue_matrices(torch.tensor([0.7, -1.2]))]
    )
    torch.testing.assert_close(matrices @ torch.ones(3), torch.ones(4, 3), atol=5e-3, rtol=0)
    luma = torch.tensor([0.299, 0.587, 0.114])
    torch.testing.assert_close(luma @ matrices, luma.expand(4, 3), atol=5e-3, rtol=0)
    full_turn = hue_matrices(torch.tensor([2 * torch.pi]))[0]
    torch.testing.assert_close(full_turn, torch.eye(3), atol=1e-5, rtol=0)


def test_a_turn_of_the_hue_by_a_third_takes_red_towards_another_primary() -> None:
    red = torch.tensor([1.0, 0.0, 0.0])
    turned = hue_matrices(torch.tensor([2 * torch.pi / 3, -2 * torch.pi / 3])) @ red
    assert {int(colour.argmax()) for colour in turned} == {1, 2}


def test_blur_equals_scipys() -> None:
    images = torch.rand(1, 3, 12, 15, generator=generator(3))
    blur = GaussianBlur(probability=1, sigma=(0.9, 0.9))
    expected = gaussian_filter1d(images.double().numpy(), 0.9, axis=2, mode="nearest", radius=4)
    expected = gaussian_filter1d(expected, 0.9, axis=3, mode="nearest", radius=4)
    torch.testing.assert_close(
        blur(images, generator()).double(), torch.from_numpy(expected), atol=1e-5, rtol=0
    )


def test_each_image_is_blurred_by_its_own_width_and_the_others_stay() -> None:
    images = torch.rand(6, 3, 10, 9, generator=generator(4))
    result = GaussianBlur(probability=0.6, sigma=(0.3, 1.1))(images, generator(5))
    sigmas, chances = torch.rand(2, 6, generator=generator(5))
    chosen = chances < 0.6
    assert 2 <= chosen.sum() <= 5
    assert torch.equal(result[~chosen], images[~chosen])
    for image, out, sigma in zip(images[chosen], result[chosen], 0.3 + 0.8 * sigmas[chosen], strict=True):
        expected = gaussian_filter1d(image.numpy(), float(sigma), axis=1, mode="nearest", radius=4)
        expected = gaussian_filter1d(expected, float(sigma), axis=2, mode="nearest", radius=4)
        torch.testing.assert_close(out, torch.from_numpy(expected), atol=1e-5, rtol=0)


def test_kernels_sum_to_one() -> None:
    assert gaussian_kernels(torch.tensor([0.15, 1.15]), 4).sum(1).tolist() == pytest.approx([1, 1])


def test_the_same_generator_gives_the_same_images() -> None:
    images = torch.rand(4, 3, 8, 8)
    assert torch.equal(ColourJitter()(images, generator(5)), ColourJitter()(images, generator(5)))
    assert torch.equal(GaussianBlur()(images, generator(5)), GaussianBlur()(images, generator(5)))


def test_greyscale_takes_the_colour_of_about_a_fifth_of_all_images() -> None:
    images = torch.rand(1, 3, 2, 2).expand(2000, -1, -1, -1)
    changed = Greyscale()(images, generator(1))
    is_grey = (changed == changed[:, :1]).all((1, 2, 3))
    assert torch.equal(changed[~is_grey], images[~is_grey])
    assert is_grey.float().mean().item() == pytest.approx(0.2, abs=0.04)  # four standard errors
    luma = 0.299 * images[0, 0] + 0.587 * images[0, 1] + 0.114 * images[0, 2]
    torch.testing.assert_close(changed[is_grey][0, 2], luma)


def test_a_stronger_blur_reaches_further() -> None:
    images = torch.rand(2, 3, 20, 20)
    blurred = GaussianBlur(probability=1, sigma=(2.0, 2.0))(images, generator(0))
    expected = gaussian_filter1d(images.numpy(), 2.0, axis=2, mode="nearest", radius=7)
    expected = gaussian_filter1d(expected, 2.0, axis=3, mode="nearest", radius=7)
    torch.testing.assert_close(blurred, torch.from_numpy(expected), atol=1e-5, rtol=0)
