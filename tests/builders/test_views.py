"""Views that settings ask for."""

from __future__ import annotations

import pytest
import torch

from recoseg.builders.methods import build_weak_to_strong
from recoseg.config.train_settings import AugmentSettings


def test_strong_views_of_fixmatch_and_its_heirs_are_grey_in_a_fifth_of_all_cases() -> None:
    views = build_weak_to_strong(AugmentSettings(jitter=0, blur=0, scale=(1, 1)), cutmix=0)
    images = torch.rand(1500, 3, 2, 2)
    strong = views.strong(images, torch.Generator().manual_seed(0)).images
    is_grey = ((strong - strong[:, :1]).abs() < 1e-6).all((1, 2, 3))
    assert is_grey.float().mean().item() == pytest.approx(0.2, abs=0.042)  # four standard errors
    torch.testing.assert_close(strong[~is_grey], images[~is_grey])
