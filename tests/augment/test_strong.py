"""The strong view: what it does in which order, to a batch with and without known labels."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.augment.mix import MIXES, no_mix
from recoseg.augment.strong import RandomFlip, RandomView, StrongView
from recoseg.errors import UserError
from recoseg.types import IGNORE, Batch, PseudoLabels

NO_JITTER, NO_BLUR = ColourJitter(probability=0), GaussianBlur(probability=0)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(count: int, height: int, width: int, seed: int) -> tuple[torch.Tensor, PseudoLabels]:
    drawn = generator(seed)
    images = torch.rand(count, 3, height, width, generator=drawn)
    labels = torch.randint(0, 5, (count, height, width), generator=drawn)
    confidence = 0.9 * torch.rand(count, height, width, generator=drawn)
    return images, PseudoLabels(labels, confidence)


@pytest.mark.parametrize("name", MIXES)
@given(
    count=st.integers(1, 3), height=st.integers(1, 15), width=st.integers(1, 15), seed=st.integers(0, 1000)
)
def test_any_batch_keeps_its_shape_range_and_labels(name, count, height, width, seed) -> None:
    images, pseudo = random_batch(count, height, width, seed)
    known = torch.where(pseudo.labels == 1, 6, IGNORE)
    view = StrongView(scale=(0.5, 1.5), mix=MIXES[name])
    result, labels = view(images, pseudo, known, generator(seed))
    assert (result.shape, result.dtype) == (images.shape, images.dtype)
    assert (labels.labels.shape, labels.labels.dtype) == (pseudo.labels.shape, torch.int64)
    assert 0 <= result.min() <= result.max() <= 1 + 1e-6
    assert set(labels.labels.flatten().tolist()) <= {0, 1, 2, 3, 4, 6, IGNORE}
    assert (labels.confidence[labels.labels == 6] == 1).all()  # known
    assert (labels.confidence[labels.labels == IGNORE] == 0).all()  # padding or cut out
    assert (labels.confidence[(labels.labels != 6) & (labels.labels != IGNORE)] < 0.9).all()


def test_mixed_precision_leaves_images_in_whole_precision() -> None:
    images, pseudo = random_batch(4, 24, 24, seed=0)
    view = StrongView(scale=(0.5, 1.5), colours=[ColourJitter(probability=1), GaussianBlur(probability=1)])
    expected, _ = view(images, pseudo, None, generator())
    with torch.autocast("cpu", torch.bfloat16):
        result, _ = view(images, pseudo, None, generator())
    assert result.dtype == torch.float32
    assert torch.equal(result, expected)


def test_a_view_in_place_changes_colours_and_moves_nothing() -> None:
    images, pseudo = random_batch(3, 12, 16, seed=1)
    view = StrongView(scale=(0.5, 0.6), mix=MIXES["classmix"], colours=[ColourJitter(probability=1)], flip=1)
    altered, labels = view.in_place()(images, pseudo, None, generator())
    assert torch.equal(altered, ColourJitter(probability=1)(images, generator()))
    assert labels is pseudo


@pytest.mark.parametrize("has_padding", [False, True])
def test_a_view_of_a_batch_moves_known_labels_and_padding_with_the_images(has_padding) -> None:
    images, _ = random_batch(2, 16, 20, seed=2)
    labels = torch.full((2, 16, 20), IGNORE)
    labels[0, 4, 6], labels[1, 10, 2] = 0, 3
    inside = torch.ones(2, 16, 20, dtype=torch.bool)
    inside[1, :, 12:] = False
    unlabelled = Batch(images, labels, ("a", "b"), sparse=True, inside=inside if has_padding else None)
    view = StrongView(scale=(0.5, 0.5), mix=no_mix, colours=[], flip=1)
    seen = view.of_batch(unlabelled, generator())
    # half the size at the top left, then mirrored: column c becomes 19 - c // 2
    expected = torch.full((2, 16, 20), IGNORE)
    expected[0, 2, 16], expected[1, 5, 18] = 0, 3
    assert torch.equal(seen.labels, expected)
    shown = torch.zeros(2, 16, 20, dtype=torch.bool)
    shown[:, :8, 10:] = True
    if has_padding:
        shown[1, :, :14] = False
    assert torch.equal(seen.inside, shown)
    assert seen.images.shape == images.shape
    assert (seen.keys, seen.sparse) == (("a", "b"), True)


def test_the_steps_follow_one_another_as_in_the_paper() -> None:
    """Scale and crop, known labels, mix, jitter, blur, flip, from one generator."""
    images, pseudo = random_batch(4, 24, 24, seed=0)
    known = pseudo.labels.roll(1, 0).where(torch.rand(4, 24, 24, generator=generator(9)) < 0.05, IGNORE)
    drawn = generator(7)
    expected, expected_pseudo, moved = RandomView(scale=(0.5, 1.5))(images, pseudo, known, drawn)
    assert moved is not None
    expected, expected_pseudo = MIXES["cutmix"](expected, expected_pseudo.overridden_by(moved), drawn)
    expected = GaussianBlur()(ColourJitter()(expected, drawn), drawn)
    expected, expected_pseudo = RandomFlip(probability=0.5)(expected, expected_pseudo, drawn)
    result, labels = StrongView(scale=(0.5, 1.5), mix=MIXES["cutmix"])(images, pseudo, known, generator(7))
    assert torch.equal(result, expected)
    assert torch.equal(labels.labels, expected_pseudo.labels)
    assert torch.equal(labels.confidence, expected_pseudo.confidence)


@given(seed=st.integers(0, 1000), mix=st.sampled_from(["none", "cutmix", "classmix"]))
def test_image_labels_and_confidence_stay_together_through_all_steps(seed, mix) -> None:
    """Painted in grey that jitter without brightness and contrast leaves alone, labels can be read off."""
    labels = torch.randint(0, 5, (3, 9, 11), generator=generator(seed))
    images = (labels / 5)[:, None].expand(-1, 3, -1, -1)
    view = StrongView(mix=MIXES[mix], colours=[ColourJitter(brightness=0, contrast=0), NO_BLUR])
    result, seen = view(images, PseudoLabels(labels, labels / 5), None, generator(seed))
    torch.testing.assert_close(result, (seen.labels / 5)[:, None].expand_as(result), atol=1e-2, rtol=0)
    assert torch.equal(seen.confidence, seen.labels / 5)


def test_known_labels_override_the_teacher_and_are_pasted_like_others() -> None:
    """Image 0 is known to be of classes 8 and 9: one of the two is pasted onto image 1, of class 0."""
    labels, known = torch.zeros(2, 2, 4, dtype=torch.int64), torch.full((2, 2, 4), IGNORE)
    known[0] = torch.tensor([8, 8, 9, 9])
    pseudo = PseudoLabels(labels, torch.full((2, 2, 4), 0.5))
    view = StrongView(colours=[NO_JITTER, NO_BLUR], flip=0)
    for seed in range(5):
        _, seen = view(torch.rand(2, 3, 2, 4), pseudo, known, generator(seed))
        assert seen.labels[0, 0].tolist() in ([8, 8, 0, 0], [0, 0, 9, 9])
        assert torch.equal(seen.confidence[0] == 1, seen.labels[0] != 0)
        assert seen.labels[1].tolist() == [[8, 8, 9, 9]] * 2  # of image 1 nothing is pasted onto image 0
        assert (seen.confidence[1] == 1).all()


def test_a_known_pixel_is_found_again_after_shrinking() -> None:
    known = torch.full((64, 8, 8), IGNORE)
    known[torch.arange(64), torch.arange(64) // 8, torch.arange(64) % 8] = 3
    pseudo = PseudoLabels(torch.zeros(64, 8, 8, dtype=torch.int64), torch.full((64, 8, 8), 0.5))
    view = StrongView(scale=(0.5, 0.5), mix=no_mix)
    _, seen = view(torch.rand(64, 3, 8, 8), pseudo, known, generator())
    assert ((seen.labels == 3).sum((1, 2)) == 1).all()
    assert (seen.confidence[seen.labels == 3] == 1).all()


def test_no_known_labels_and_none_at_all_are_the_same() -> None:
    images, pseudo = random_batch(3, 12, 12, seed=0)
    view = StrongView(scale=(0.5, 1.5))
    without = view(images, pseudo, None, generator(1))
    ignored = view(images, pseudo, torch.full_like(pseudo.labels, IGNORE), generator(1))
    assert torch.equal(without[0], ignored[0])
    assert torch.equal(without[1].labels, ignored[1].labels)
    assert torch.equal(without[1].confidence, ignored[1].confidence)


def test_inputs_are_left_alone_and_a_seed_gives_one_result() -> None:
    images, pseudo = random_batch(3, 12, 12, seed=0)
    known = torch.where(pseudo.labels == 1, 2, IGNORE)
    tensors = (images, pseudo.labels, pseudo.confidence, known)
    before = [tensor.clone() for tensor in tensors]
    for scale in ((1.0, 1.0), (0.5, 1.5)):
        view = StrongView(scale=scale, colours=[ColourJitter(probability=1), GaussianBlur(probability=1)])
        first, again, other = (view(images, pseudo, known, generator(seed)) for seed in (1, 1, 2))
        assert torch.equal(first[0], again[0])
        assert torch.equal(first[1].labels, again[1].labels)
        assert not torch.equal(first[0], other[0])
    assert all(torch.equal(after, copy) for after, copy in zip(tensors, before, strict=True))


@pytest.mark.parametrize("name", MIXES)
def test_all_is_done_on_the_images_device_without_looking_at_a_value(name: str) -> None:
    """On `meta`, the device without values, anything else would raise."""
    images, labels = torch.empty(4, 3, 8, 8, device="meta"), torch.empty(4, 8, 8, device="meta").long()
    pseudo = PseudoLabels(labels, torch.empty(4, 8, 8, device="meta"))
    view = StrongView(
        scale=(0.5, 1.5), mix=MIXES[name], colours=[ColourJitter(), GaussianBlur(probability=1)], flip=1
    )
    result, seen = view._altered(images, pseudo, labels, generator())
    assert {result.device.type, seen.labels.device.type, seen.confidence.device.type} == {"meta"}


def test_everything_off_gives_back_the_images_and_labels() -> None:
    images, pseudo = random_batch(2, 6, 6, seed=0)
    view = StrongView(mix=no_mix, colours=[NO_JITTER, NO_BLUR], flip=0)
    result, seen = view(images, pseudo, None, generator())
    torch.testing.assert_close(result, images, atol=1e-5, rtol=0)
    assert seen is pseudo


@pytest.mark.parametrize("settings", [{"scale": (2.0, 1.0)}, {"flip": -0.1}])
def test_settings_that_make_no_sense_are_refused_at_once(settings) -> None:
    with pytest.raises(UserError):
        StrongView(**settings)
