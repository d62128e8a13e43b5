"""UniMatch: its three views by hand and against a plain reading, and what each of them teaches."""

from __future__ import annotations

import math
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.errors import UserError
from recoseg.methods.parts.channel_dropout import without_channels
from recoseg.methods.unimatch import UniMatch
from recoseg.methods.unimatch_v2 import UniMatchV2
from recoseg.models.network import SegmentationNetwork
from recoseg.types import ModelOutput, PseudoLabels


def test_a_network_that_says_the_same_everywhere_has_a_closed_form(
    tiny_network, toy_batch, generator
) -> None:
    method = UniMatch(tiny_network(probabilities=(0.97, 0.03)), WeakToStrong(), 2)
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    cost = -math.log(0.97)
    assert output.parts["strong"].item() == pytest.approx(cost, rel=1e-4)
    assert output.parts["features"].item() == pytest.approx(cost, rel=1e-4)
    supervised = output.parts["supervised"].item()
    assert output.loss.item() == pytest.approx((supervised + cost / 4 + cost / 4 + cost / 2) / 2, rel=1e-4)


def plain_loss(method, labelled, unlabelled, seed):
    """(CE(x) + L(s1) / 4 + L(s2) / 4 + L(fp) / 2) / 2 in eval mode, one pass after the other."""
    generator = torch.Generator().manual_seed(seed)
    weak = method.views.weak(unlabelled, generator)
    strong = method.views.strong(weak.images, generator, views=2)
    student, size = method.student, weak.images.shape[2:]
    encoded = student.encode(weak.images)
    disturbed = encoded.with_maps(without_channels(encoded.maps, generator, drop=method.drop))
    with torch.no_grad():
        confidence, labels = (
            F.interpolate(student(weak.images).logits, size, mode="bilinear").softmax(1).max(1)
        )

    def cost(logits, labels, confidence):
        losses = F.cross_entropy(F.interpolate(logits, size, mode="bilinear"), labels, reduction="none")
        return losses[confidence >= method.threshold.value].sum() / losses.numel()

    following = [1, 2, 0]
    losses = [cost(student.decode(disturbed).logits, labels, confidence) / 2]
    for view in (slice(3), slice(3, 6)):
        box = strong.pasted[view]
        mixed = (
            torch.where(box, labels[following], labels),
            torch.where(box, confidence[following], confidence),
        )
        losses.append(cost(student(strong.images[view]).logits, *mixed) / 4)
    logits = F.interpolate(student(labelled.images).logits, size, mode="bilinear")
    return (F.cross_entropy(logits, labelled.labels) + sum(losses)) / 2


def test_loss_and_gradients_are_those_of_a_plain_reading(tiny_network, toy_batch) -> None:
    method = UniMatch(tiny_network(), WeakToStrong(cutmix=1), 2, pixel_above=0.55).eval()
    labelled, unlabelled = toy_batch(2, seed=1), toy_batch(3, seed=2, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=torch.Generator().manual_seed(3))
    assert output.parts["features"] > 0.05
    expected = plain_loss(method, labelled, unlabelled, 3)
    assert output.loss.item() == pytest.approx(expected.item(), rel=1e-4)
    parameters = list(method.student.parameters())
    for found, gradient in zip(
        torch.autograd.grad(output.loss, parameters), torch.autograd.grad(expected, parameters), strict=True
    ):
        torch.testing.assert_close(found, gradient, rtol=1e-3, atol=1e-6)


def test_the_student_labels_as_it_trains_and_what_is_pasted_in_eval_mode(tiny_network, toy_batch) -> None:
    """With BatchNorm of the joint batch, labelled images and all; pasted boxes with running statistics."""
    method = UniMatch(tiny_network(), WeakToStrong(cutmix=1), 2).train()
    labelled, unlabelled = toy_batch(2, seed=1), toy_batch(3, seed=2, visible=False)
    weak = method.views.weak(unlabelled, torch.Generator().manual_seed(0))
    before, by_itself = deepcopy(method.student), deepcopy(method.student).eval()
    seen = method.see(labelled, weak, torch.Generator().manual_seed(1))
    for found, logits in (
        (seen.own, before(torch.cat([labelled.images, weak.images])).logits[2:]),
        (seen.to_paste, by_itself(weak.images).logits),
    ):
        probabilities = F.interpolate(logits, weak.images.shape[2:], mode="bilinear").softmax(1)
        torch.testing.assert_close(found.confidence, probabilities.max(1).values, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(seen.own.confidence, seen.to_paste.confidence, atol=1e-3)


def test_each_view_teaches_the_encoder_and_labels_teach_nothing(tiny_network, toy_batch, generator) -> None:
    """Of what the student says of the weak images as they are, no loss has a gradient."""
    method = UniMatch(tiny_network(), WeakToStrong(), 2, pixel_above=0.5).eval()
    weak = method.views.weak(toy_batch(visible=False), generator)
    seen = method.see(toy_batch(), weak, generator)
    losses = seen.losses(seen.own, seen.to_paste, method.threshold.value)
    assert not seen.own.confidence.requires_grad
    for loss in (losses.strong, losses.features):
        gradients = torch.autograd.grad(loss, list(method.student.parameters()), retain_graph=True)
        assert all(gradient.any() for gradient in gradients)


def test_the_contrast_gets_labelled_images_first_and_both_strong_views(
    tiny_network, toy_batch, generator
) -> None:
    method = UniMatch(tiny_network(features=4), WeakToStrong(), 2)
    output = method(toy_batch(2), toy_batch(3, visible=False), iteration=0, generator=generator)
    (on_labelled, labels), (on_strong, pseudo) = output.pixels
    assert (len(on_labelled.features), len(on_strong.features)) == (2, 6)
    assert torch.equal(labels.labels, toy_batch(2).labels)
    assert len(pseudo.labels) == len(pseudo.confidence) == 6
    assert isinstance(pseudo, PseudoLabels)


class Undivided(SegmentationNetwork):
    representation = None

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 2, 1)

    def forward(self, images: torch.Tensor) -> ModelOutput:
        return ModelOutput(self.layer(images))


@pytest.mark.parametrize("method", [UniMatch, UniMatchV2])
def test_a_network_without_encoder_and_decoder_is_refused(method) -> None:
    with pytest.raises(UserError, match="Undivided does not tell its encoder from its decoder"):
        method(Undivided(), WeakToStrong(), 2)
    with pytest.raises(UserError, match="Conv2d is no SegmentationNetwork"):
        method(torch.nn.Conv2d(3, 2, 1), WeakToStrong(), 2)


@pytest.mark.parametrize("drop", [-0.1, 1.0])
def test_a_probability_that_leaves_no_channel_is_refused(tiny_network, drop) -> None:
    with pytest.raises(UserError, match="drop: must be at"):
        UniMatch(tiny_network(), WeakToStrong(), 2, drop=drop)
