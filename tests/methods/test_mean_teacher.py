"""Mean Teacher: its loss against a slow plain reading, its settings, and who gets gradients."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.supervised import Supervised
from recoseg.types import IGNORE, PseudoLabels


def slow_loss(method, labelled, unlabelled, seed) -> tuple[float, float]:
    """Supervised and unsupervised parts, pixel by pixel, in eval mode."""

    def probabilities(network, images):
        logits = network(images).logits
        return F.interpolate(logits, images.shape[2:], mode="bilinear").softmax(1)

    def cost(student, image, row, column, label):
        return -math.log(student[image, label, row, column].item())

    with torch.no_grad():
        confidence, labels = probabilities(method.teacher.network, unlabelled.images).max(1)
        images, pseudo = method.view(
            unlabelled.images,
            PseudoLabels(labels, confidence),
            unlabelled.labels,
            torch.Generator().manual_seed(seed),
        )
        on_labelled = probabilities(method.student, labelled.images)
        on_mixed = probabilities(method.student, images)
    known = [
        cost(on_labelled, *place, labelled.labels[tuple(place)])
        for place in (labelled.labels != IGNORE).nonzero().tolist()
    ]
    total, count = 0.0, 0
    for image in range(len(images)):
        places = (pseudo.labels[image] != IGNORE).nonzero().tolist()
        sure = sum(pseudo.confidence[image, r, c].item() >= method.trust_above for r, c in places)
        eta = sure / len(places)
        total += eta * sum(cost(on_mixed, image, r, c, pseudo.labels[image, r, c]) for r, c in places)
        count += len(places)
    return sum(known) / len(known), total / count


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("student_pass", ["separate", "together"])
def test_the_loss_is_that_of_a_slow_plain_reading(tiny_network, toy_batch, mix, student_pass) -> None:
    method = MeanTeacher(
        tiny_network(),
        StrongView(scale=(0.7, 1.5), mix=MIXES[mix]),
        trust_above=0.6,
        student_pass=student_pass,
    ).eval()
    with torch.no_grad():  # a teacher that differs from its student, and is sure of some pixels only
        method.student.classifier.weight.mul_(2)
        method.teacher.network.classifier.weight.mul_(3)
    labelled = toy_batch(2, size=(14, 18), seed=1)
    labelled.labels[:, :3] = IGNORE
    unlabelled = toy_batch(3 if student_pass == "separate" else 2, size=(14, 18), seed=2, visible=False)
    unlabelled.labels[0, 6, 7:9] = 1
    output = method(labelled, unlabelled, iteration=0, generator=torch.Generator().manual_seed(3))
    supervised, unsupervised = slow_loss(method, labelled, unlabelled, 3)
    assert 0 < unsupervised < 10
    assert output.parts["supervised"].item() == pytest.approx(supervised, rel=1e-4)
    assert output.parts["unsupervised"].item() == pytest.approx(unsupervised, rel=1e-4)
    assert output.loss.item() == pytest.approx(supervised + unsupervised, rel=1e-4)


@pytest.mark.parametrize(("trust_above", "eta"), [(0.7, 1), (0.9, 0)])
def test_a_teacher_that_is_equally_sure_of_all_pixels_has_eta_one_or_zero(
    tiny_network, toy_batch, same_view, generator, trust_above, eta
) -> None:
    method = MeanTeacher(tiny_network(probabilities=(0.8, 0.2)), same_view, trust_above=trust_above)
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert output.parts["unsupervised"].item() == pytest.approx(-eta * math.log(0.8), rel=1e-5)


def test_eta_is_the_share_of_each_image_on_its_own(tiny_network, toy_batch, same_view, generator) -> None:
    method = MeanTeacher(tiny_network(probabilities=(0.8, 0.2)), same_view, trust_above=0.9)
    unlabelled = toy_batch(visible=False)
    unlabelled.labels[0, :16] = 0  # known: half of the first image becomes certain, nothing of the second
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    assert output.parts["unsupervised"].item() == pytest.approx(-math.log(0.8) * (0.5 + 0) / 2, rel=1e-5)


@pytest.mark.parametrize(("pixel_above", "share"), [(0.0, 1), (0.79, 1), (0.81, 0.25)])
def test_pixels_below_their_own_threshold_teach_nothing(
    tiny_network, toy_batch, same_view, generator, pixel_above, share
) -> None:
    """A quarter of the pixels have a known label, and with it a confidence of 1."""
    method = MeanTeacher(
        tiny_network(probabilities=(0.8, 0.2)), same_view, trust_above=0.1, pixel_above=pixel_above
    )
    unlabelled = toy_batch(visible=False)
    unlabelled.labels[:, :8] = 0
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    assert output.parts["unsupervised"].item() == pytest.approx(-math.log(0.8) * share, rel=1e-5)


def test_padding_of_a_crop_gets_no_pseudo_label(tiny_network, toy_batch, same_view, generator) -> None:
    method = MeanTeacher(tiny_network(probabilities=(0.8, 0.2)), same_view, trust_above=0.7)
    shown = torch.ones(2, 32, 32, dtype=torch.bool)
    shown[1, 8:] = False
    unlabelled = replace(toy_batch(visible=False), inside=shown)
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    (_, _), (_, pseudo) = output.pixels
    assert torch.equal(pseudo.labels, torch.zeros(2, 32, 32).long().where(shown, IGNORE))
    assert pseudo.confidence[~shown].max() == 0
    assert output.parts["unsupervised"].item() == pytest.approx(-math.log(0.8), rel=1e-5)  # eta is 1


def test_known_labels_override_the_teachers_with_certainty(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = MeanTeacher(tiny_network(probabilities=(0.8, 0.2)), same_view)
    unlabelled = replace(toy_batch(visible=False), sparse=True)
    unlabelled.labels[1, 4, 5] = 1
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    (_, _), (_, pseudo) = output.pixels
    expected_labels, expected_confidence = torch.zeros(2, 32, 32).long(), torch.full((2, 32, 32), 0.8)
    expected_labels[1, 4, 5], expected_confidence[1, 4, 5] = 1, 1.0
    assert torch.equal(pseudo.labels, expected_labels)
    torch.testing.assert_close(pseudo.confidence, expected_confidence)
    assert output.mixed is not None
    assert output.mixed[1] is pseudo


def test_together_and_separate_agree_where_batch_norm_is_frozen(tiny_network, toy_batch) -> None:
    labelled, unlabelled = toy_batch(seed=1), toy_batch(seed=2, visible=False)
    found = {}
    for student_pass in ("separate", "together"):
        method = MeanTeacher(tiny_network(), StrongView(), trust_above=0.5, student_pass=student_pass).eval()
        output = method(labelled, unlabelled, iteration=0, generator=torch.Generator().manual_seed(1))
        output.loss.backward()
        gradients = [parameter.grad for parameter in method.student.parameters()]
        found[student_pass] = [output.loss.detach(), *output.parts.values(), *gradients]
    assert found["together"][2] > 0
    for separate, together in zip(*found.values(), strict=True):
        torch.testing.assert_close(separate, together)


def test_together_and_separate_differ_in_what_batch_norm_sees(tiny_network, toy_batch, same_view) -> None:
    labelled, unlabelled = toy_batch(seed=1), toy_batch(seed=2, visible=False)
    unlabelled.images.mul_(0.3)
    found = {}
    for student_pass in ("separate", "together"):
        method = MeanTeacher(tiny_network(), same_view, student_pass=student_pass)
        method(labelled, unlabelled, iteration=0, generator=torch.Generator())
        found[student_pass] = method.student.body[1].num_batches_tracked.item()
    assert found == {"separate": 2, "together": 1}


def test_crops_without_any_label_cost_nothing_and_stay_connected(tiny_network, toy_batch, generator) -> None:
    def all_ignored(images, pseudo, known, generator):
        return images, replace(pseudo, labels=torch.full_like(pseudo.labels, IGNORE))

    method = MeanTeacher(tiny_network(), all_ignored)
    output = method(toy_batch(visible=False), toy_batch(visible=False), iteration=0, generator=generator)
    output.loss.backward()
    assert output.loss.item() == 0
    for parameter in method.student.parameters():
        assert parameter.grad is not None
        assert not parameter.grad.any()


def test_only_the_student_gets_gradients(tiny_network, toy_batch, generator) -> None:
    method = MeanTeacher(tiny_network(), StrongView(), trust_above=0.5)
    method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator).loss.backward()
    assert all(parameter.grad is not None for parameter in method.student.parameters())
    assert all(parameter.grad is None for parameter in method.teacher.parameters())


def test_the_teacher_labels_plain_images_and_the_student_sees_the_view(tiny_network, toy_batch, generator):
    seen = {}
    method = MeanTeacher(tiny_network(), lambda images, pseudo, *_: (images / 2, pseudo))
    method.teacher.network.register_forward_pre_hook(lambda _, inputs: seen.update(teacher=inputs[0]))
    method.student.register_forward_pre_hook(lambda _, inputs: seen.update(student=inputs[0]))
    unlabelled = toy_batch(visible=False)
    method(toy_batch(seed=5), unlabelled, iteration=0, generator=generator)
    assert torch.equal(seen["teacher"], unlabelled.images)
    assert torch.equal(seen["student"], unlabelled.images / 2)


@pytest.mark.parametrize("mix", MIXES)
def test_a_batch_of_one_works(tiny_network, toy_batch, generator, mix) -> None:
    method = MeanTeacher(tiny_network(), StrongView(scale=(0.5, 1.5), mix=MIXES[mix]), trust_above=0.5)
    unlabelled = toy_batch(1, size=(17, 23), visible=False)
    output = method(toy_batch(1, size=(17, 23)), unlabelled, iteration=0, generator=generator)
    output.loss.backward()
    assert output.loss.isfinite()
    assert output.parts["unsupervised"] > 0


def test_the_ramp_scales_the_unsupervised_part_only(tiny_network, toy_batch, same_view, generator) -> None:
    method = MeanTeacher(tiny_network(), same_view, trust_above=0.5, supervised_start=2, ramp=3).eval()
    assert [method.uses_unlabelled(t) for t in range(4)] == [False, False, True, True]
    for iteration, weight in ((2, 0.25), (3, 0.5), (5, 1.0), (50, 1.0)):
        output = method(toy_batch(), toy_batch(visible=False), iteration=iteration, generator=generator)
        supervised, unsupervised = (part.item() for part in output.parts.values())
        assert unsupervised > 0.1
        assert output.loss.item() == pytest.approx(supervised + weight * unsupervised, rel=1e-6)


def test_a_step_without_unlabelled_images_is_a_supervised_one(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = MeanTeacher(tiny_network(), same_view, supervised_start=2)
    alone = Supervised(tiny_network())(toy_batch(), None, iteration=0, generator=generator)
    output = method(toy_batch(), None, iteration=0, generator=generator)
    assert output.loss.item() == alone.loss.item()
    assert output.parts.keys() == {"supervised"}
    assert len(output.pixels) == 1


def test_the_teacher_follows_after_each_update_and_is_what_is_evaluated(tiny_network, same_view) -> None:
    method = MeanTeacher(tiny_network(), same_view)
    for iteration, value in enumerate([3.0, 5.0]):
        method.student.classifier.bias.data.fill_(value)
        method.after_update(iteration)
    assert method.evaluation_model is method.teacher.network
    assert method.evaluation_model.classifier.bias.tolist() == [4, 4]


def test_impossible_settings_are_refused(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match="trust_above: must be at"):
        MeanTeacher(tiny_network(), same_view, trust_above=1.5)
    with pytest.raises(UserError, match=r"student_pass: unknown value 'both'; known: separate, together"):
        MeanTeacher(tiny_network(), same_view, student_pass="both")
    with pytest.raises(UserError, match=r"consistency: unknown value 'logits'; known: labels, probabilities"):
        MeanTeacher(tiny_network(), same_view, consistency="logits")


def original(student, view, **settings) -> MeanTeacher:
    return MeanTeacher(student, view, consistency="probabilities", consistency_weight=100.0, **settings)


def with_teacher(method: MeanTeacher, probabilities) -> MeanTeacher:
    """Its teacher says this of every pixel."""
    method.teacher.network.classifier.bias.data = torch.tensor(probabilities).log()
    return method


def test_squared_differences_of_probabilities_have_a_closed_form(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = original(tiny_network(probabilities=(0.5, 0.5)), same_view)
    method = with_teacher(method, (0.75, 0.25))
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert output.parts["unsupervised"].item() == pytest.approx(0.0625, rel=1e-5)  # 0.25 ** 2 in both classes
    assert output.loss.item() == pytest.approx(math.log(2) + 6.25, rel=1e-5)
    _, (_, pseudo) = output.pixels
    assert not pseudo.labels.any()
    torch.testing.assert_close(pseudo.confidence, torch.full((2, 32, 32), 0.75))


def test_soft_consistency_is_that_of_a_slow_plain_reading_without_padding(tiny_network, toy_batch) -> None:
    method = original(tiny_network(), StrongView(mix=MIXES["none"]).in_place()).eval()
    with torch.no_grad():
        method.teacher.network.classifier.weight.mul_(3)
    inside = torch.ones(2, 32, 32, dtype=torch.bool)
    inside[0, :, 20:] = False  # ten columns of cells are left
    unlabelled = replace(toy_batch(seed=2, visible=False), inside=inside)
    output = method(toy_batch(), unlabelled, iteration=0, generator=torch.Generator().manual_seed(1))
    images, _ = output.mixed
    assert not torch.equal(images, unlabelled.images)  # colours differ
    with torch.no_grad():
        p = method.student(images).logits.softmax(1)
        q = method.teacher.network(unlabelled.images).logits.softmax(1)
    cells = [(b, r, c) for b in range(2) for r in range(16) for c in range(16) if b == 1 or c < 10]
    total = sum((p[b, k, r, c] - q[b, k, r, c]).item() ** 2 for b, r, c in cells for k in range(2))
    assert output.parts["unsupervised"].item() == pytest.approx(total / (2 * len(cells)), rel=1e-4)


def test_soft_consistency_teaches_the_student_alone_and_grows_as_a_sigmoid(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = with_teacher(original(tiny_network(), same_view, ramp=4), (0.9, 0.1))
    hidden = replace(toy_batch(), labels=torch.full((2, 32, 32), IGNORE))
    for iteration, weight in ((0, math.exp(-5)), (2, math.exp(-1.25)), (4, 1.0), (9, 1.0)):
        output = method(hidden, toy_batch(visible=False), iteration=iteration, generator=generator)
        expected = 100 * weight * output.parts["unsupervised"].item()
        assert output.loss.item() == pytest.approx(expected, rel=1e-5)
    output.loss.backward()
    assert all(parameter.grad.any() for parameter in method.student.classifier.parameters())
    assert all(parameter.grad is None for parameter in method.teacher.parameters())


def test_a_threshold_has_no_effect_on_soft_consistency_and_is_refused(tiny_network, same_view) -> None:
    for setting in ({"trust_above": 0.9}, {"pixel_above": 0.5}):
        with pytest.raises(UserError, match=r"method.trust_above and method.pixel_above have no effect with"):
            original(tiny_network(), same_view, **setting)


def test_keywords_that_the_view_has_already_are_refused(tiny_network) -> None:
    with pytest.raises(TypeError, match="mix is set by another argument"):
        MeanTeacher(tiny_network(), StrongView(mix=MIXES["cutmix"]), mix="classmix")
