"""UniMatch V2: the teacher labels, two views with complementary channels learn."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.methods.parts.channel_dropout import complementary_channels
from recoseg.methods.unimatch_v2 import UniMatchV2


def test_a_network_that_says_the_same_everywhere_has_a_closed_form(
    tiny_network, toy_batch, generator
) -> None:
    method = UniMatchV2(tiny_network(probabilities=(0.97, 0.03)), WeakToStrong(), 2)
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert output.parts["strong"].item() == pytest.approx(-math.log(0.97), rel=1e-4)
    total = output.parts["supervised"] + output.parts["strong"]
    assert output.loss.item() == pytest.approx(total.item() / 2, rel=1e-5)


def test_loss_and_gradients_are_those_of_a_plain_reading(tiny_network, toy_batch) -> None:
    method = UniMatchV2(tiny_network(), WeakToStrong(cutmix=1), 2, pixel_above=0.55).eval()
    with torch.no_grad():  # a teacher that differs from its student
        method.teacher.network.classifier.weight.mul_(3)
    labelled, unlabelled = toy_batch(2, seed=1), toy_batch(3, seed=2, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=torch.Generator().manual_seed(3))

    generator, student, size = torch.Generator().manual_seed(3), method.student, (32, 32)
    weak = method.views.weak(unlabelled, generator)
    strong = method.views.strong(weak.images, generator, views=2)
    logits = method.teacher.network(weak.images).logits
    confidence, labels = F.interpolate(logits, size, mode="bilinear").softmax(1).max(1)
    encoded = student.encode(strong.images)
    dropped = encoded.with_maps(complementary_channels(encoded.maps, generator))
    losses = []
    for view, logits in zip((slice(3), slice(3, 6)), student.decode(dropped).logits.chunk(2), strict=True):
        box, following = strong.pasted[view], [1, 2, 0]
        mixed = torch.where(box, labels[following], labels)
        sure = torch.where(box, confidence[following], confidence) >= method.threshold.value
        costs = F.cross_entropy(F.interpolate(logits, size, mode="bilinear"), mixed, reduction="none")
        losses.append(costs[sure].sum() / costs.numel())
    supervised = F.cross_entropy(
        F.interpolate(student(labelled.images).logits, size, mode="bilinear"), labelled.labels
    )
    expected = (supervised + (losses[0] + losses[1]) / 2) / 2
    assert output.parts["strong"] > 0.05
    assert output.loss.item() == pytest.approx(expected.item(), rel=1e-4)
    parameters = list(student.parameters())
    for found, gradient in zip(
        torch.autograd.grad(output.loss, parameters), torch.autograd.grad(expected, parameters), strict=True
    ):
        torch.testing.assert_close(found, gradient, rtol=1e-3, atol=1e-6)


def test_the_teacher_is_a_moving_average_that_is_evaluated_and_learns_nothing(
    tiny_network, toy_batch, generator
) -> None:
    method = UniMatchV2(tiny_network(), WeakToStrong(), 2)
    method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator).loss.backward()
    assert all(parameter.grad is None for parameter in method.teacher.parameters())
    assert all(parameter.grad is not None for parameter in method.student.parameters())
    assert method.evaluation_model is method.teacher.network
    teacher, student = method.teacher.network.classifier.weight, method.student.classifier.weight
    before = teacher.clone()
    with torch.no_grad():
        student.add_(1)
    method.after_update(999)  # decay 0.996: 1 - 1 / 1000 is more
    torch.testing.assert_close(teacher, before + 0.004)
    method.after_update(1)  # one half
    torch.testing.assert_close(teacher, (before + 0.004 + student) / 2)


def test_labels_do_not_depend_on_the_student(tiny_network, toy_batch) -> None:
    found = []
    for _ in range(2):
        method = UniMatchV2(tiny_network(), WeakToStrong(), 2)
        if found:
            with torch.no_grad():
                method.student.classifier.weight.mul_(-1)
        generator = torch.Generator().manual_seed(0)
        _, (_, pseudo) = method(
            toy_batch(), toy_batch(visible=False), iteration=0, generator=generator
        ).pixels
        found.append(pseudo)
    assert torch.equal(found[0].labels, found[1].labels)
    assert torch.equal(found[0].confidence, found[1].confidence)
