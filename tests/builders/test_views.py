"""Views that settings ask for."""

from __future__ import annotations

import pytest
import torch

from recoseg.augment.colour import as_often
from recoseg.augment.weak_to_strong import STRONG_COLOURS
from recoseg.builders.methods import build_strong_view, build_weak_to_strong
from recoseg.config.train_settings import AugmentSettings
from recoseg.errors import UserError
from recoseg.types import PseudoLabels

PLAIN = AugmentSettings(jitter=0, blur=0, scale=(1, 1))


def strong_views(images: torch.Tensor, *, colours: float) -> torch.Tensor:
    views = build_weak_to_strong(PLAIN, 0, colours=as_often(STRONG_COLOURS, colours))
    return views.strong(images, torch.Generator().manual_seed(0)).images


@pytest.mark.parametrize("colours", [1.0, 0.5])
def test_strong_views_of_fixmatch_and_its_heirs_have_the_authors_colours_whatever_others_have(
    colours,
) -> None:
    images = torch.rand(1500, 3, 2, 2)
    strong = strong_views(images, colours=colours)
    is_grey = ((strong - strong[:, :1]).abs() < 1e-6).all((1, 2, 3))
    assert is_grey.float().mean().item() == pytest.approx(0.2 * colours, abs=0.042)  # four standard errors
    is_changed = ((strong - images).abs() > 1e-6).any((1, 2, 3))
    unchanged = (1 - 0.8 * colours) * (1 - 0.2 * colours) * (1 - 0.5 * colours)
    assert is_changed.float().mean().item() == pytest.approx(1 - unchanged, abs=0.052)


def test_strong_views_can_keep_their_colours() -> None:
    images = torch.rand(50, 3, 2, 2)
    torch.testing.assert_close(strong_views(images, colours=0), images)


def test_a_share_of_colours_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="colours is a share of how often colours change, between 0 and 1"):
        as_often(STRONG_COLOURS, 1.5)


@pytest.mark.parametrize("same_scale", [False, True])
def test_with_the_same_scale_the_student_sees_what_the_teacher_saw(same_scale) -> None:
    augment = AugmentSettings(jitter=0, blur=0, flip=0, scale=(0.5, 0.5), same_scale=same_scale)
    images, labels = torch.rand(2, 3, 8, 8), torch.arange(64).view(1, 8, 8).repeat(2, 1, 1)
    pseudo = PseudoLabels(labels, torch.ones(2, 8, 8))
    seen, moved = build_strong_view(augment, "none")(images, pseudo, None, torch.Generator().manual_seed(0))
    assert torch.allclose(seen, images, atol=1e-6) == same_scale
    assert torch.equal(moved.labels, labels) == same_scale
