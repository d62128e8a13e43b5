"""Weak and strong views: labels stay with their pixels, whatever is moved, cut and pasted."""

from __future__ import annotations

import pytest
import torch

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.errors import UserError
from recoseg.types import IGNORE, Batch, PseudoLabels


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(count: int = 3, *, size: tuple[int, int] = (20, 24)) -> Batch:
    """Images of one colour each, without labels."""
    colours = torch.arange(1, count + 1).view(count, 1, 1, 1) / 10
    labels = torch.full((count, *size), IGNORE)
    return Batch(colours.expand(count, 3, *size).clone(), labels, tuple("abcdef")[:count])


def test_a_weak_view_moves_images_known_labels_and_padding_together() -> None:
    unlabelled = batch(size=(20, 24))
    unlabelled.images[:, :, 4, 5], unlabelled.labels[:, 4, 5] = 1, 2
    inside = torch.ones(3, 20, 24, dtype=torch.bool)
    inside[1, :, 12:] = False
    unlabelled = Batch(unlabelled.images, unlabelled.labels, unlabelled.keys, inside=inside)
    weak = WeakToStrong(flip=1).weak(unlabelled, generator())
    assert torch.equal(weak.images, unlabelled.images.flip(3))
    assert torch.equal(weak.labels, unlabelled.labels.flip(2))
    assert torch.equal(weak.inside, inside.flip(2))


def test_a_weak_view_that_is_shrunk_has_padding_without_labels() -> None:
    unlabelled = batch()
    unlabelled.labels[:, 0, 0] = 1
    weak = WeakToStrong(scale=(0.5, 0.5), flip=0).weak(unlabelled, generator())
    expected = torch.zeros(3, 20, 24, dtype=torch.bool)
    expected[:, :10, :12] = True
    assert torch.equal(weak.inside, expected)
    assert (weak.labels == 1).sum((1, 2)).tolist() == [1, 1, 1]
    assert set(weak.labels.unique().tolist()) == {1, IGNORE}


def test_pixels_of_every_view_have_the_labels_of_the_image_that_they_show() -> None:
    images = batch(count=3).images
    own = PseudoLabels(torch.arange(3).view(3, 1, 1).expand(3, 20, 24), torch.full((3, 20, 24), 0.9))
    pasted = PseudoLabels(own.labels + 10, torch.full((3, 20, 24), 0.8))
    views = WeakToStrong(colours=(), cutmix=1).strong(images, generator(1), views=2)
    labels = views.labels(own, pasted)
    assert views.images.shape == (6, 3, 20, 24)
    assert all(0.02 < share < 0.45 for share in views.pasted.float().mean((1, 2)).tolist())
    assert not torch.equal(views.pasted[:3], views.pasted[3:])
    for view in range(6):
        number, following = view % 3, (view + 1) % 3
        box = views.pasted[view]
        assert (views.images[view, 0][~box] == images[number, 0, 0, 0]).all()
        assert (views.images[view, 0][box] == images[following, 0, 0, 0]).all()
        assert (labels.labels[view] == torch.where(box, 10 + following, number)).all()
        assert torch.equal(labels.confidence[view], torch.where(box, 0.8, 0.9))


def test_one_giver_labels_what_is_pasted_too() -> None:
    own = PseudoLabels(torch.arange(2).view(2, 1, 1).expand(2, 20, 24), torch.ones(2, 20, 24))
    views = WeakToStrong(cutmix=1).strong(batch(2).images, generator())
    assert torch.equal(views.labels(own).labels, own.labels ^ views.pasted.long())


def test_without_cutmix_nothing_is_pasted_and_one_image_is_enough() -> None:
    views = WeakToStrong(colours=(), cutmix=0)
    strong = views.strong(batch().images, generator(), views=2)
    assert not strong.pasted.any()
    assert torch.equal(strong.images, batch().images.repeat(2, 1, 1, 1))
    assert (views.least_images, WeakToStrong().least_images) == (1, 2)


def test_strong_views_differ_in_their_colours_and_a_seed_gives_the_same() -> None:
    images = torch.rand(2, 3, 16, 16)
    first, second = WeakToStrong(cutmix=0).strong(images, generator(2), views=2).images.chunk(2)
    assert not torch.equal(first, second)
    again = WeakToStrong(cutmix=0).strong(images, generator(2), views=2).images
    assert torch.equal(again, torch.cat([first, second]))


@pytest.mark.parametrize("cutmix", [-0.1, 1.1])
def test_a_probability_outside_0_to_1_is_refused(cutmix: float) -> None:
    with pytest.raises(UserError, match="cutmix is a probability, got"):
        WeakToStrong(cutmix=cutmix)
