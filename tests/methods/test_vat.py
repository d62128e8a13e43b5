"""VAT: its loss by hand, how far images are moved, and who gets gradients."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.parts.adversarial_direction import adversarial_direction, unit_length
from recoseg.methods.vat import VAT, own_contrast
from recoseg.types import IGNORE


def with_teacher(method: VAT, probabilities) -> VAT:
    """Its teacher says this of every pixel."""
    method.teacher.network.classifier.bias.data = torch.tensor(probabilities).log()
    return method


def test_own_contrast_of_a_small_image_by_hand() -> None:
    image = torch.tensor([0.0, 1.0, 2.0]).expand(1, 3, 3, 3)  # each row is 0, 1, 2
    inside = torch.ones(1, 3, 3, dtype=torch.bool)
    assert own_contrast(image, inside).tolist() == [3]  # nine differences of 2 across, none down
    assert own_contrast(image.mT, inside).tolist() == [3]
    inside[:, 2] = False
    assert own_contrast(image, inside).item() == pytest.approx(math.sqrt(6 * 4) / 2)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 5)])
def test_own_contrast_of_images_without_neighbours(size) -> None:
    image = torch.arange(float(size[1])).expand(1, 3, *size)
    expected = math.sqrt(9 * 4) / 2 if size[1] == 5 else 0
    assert own_contrast(image, torch.ones(1, *size, dtype=torch.bool)).item() == pytest.approx(expected)


def test_the_loss_by_hand(tiny_network, toy_batch, same_view, generator) -> None:
    method = VAT(tiny_network(probabilities=(0.5, 0.5)), same_view, trust_above=0.7)
    output = with_teacher(method, (0.75, 0.25))(
        toy_batch(), toy_batch(visible=False), iteration=0, generator=generator
    )
    divergence = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert output.parts["unsupervised"].item() == pytest.approx(divergence, rel=1e-5)
    assert output.loss.item() == pytest.approx(math.log(2) + 0.1 * divergence, rel=1e-5)


def test_images_move_to_where_the_teachers_answer_changes_most(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = VAT(tiny_network(), same_view).train()
    nn.init.normal_(method.teacher.network.classifier.weight, generator=generator)  # unlike the student
    images, inside = toy_batch(visible=False).images, torch.ones(2, 32, 32, dtype=torch.bool)
    target = method.teacher.logits(images).softmax(1)
    moved = method.perturbed(images, target, inside, generator)
    assert method.student.body[1].num_batches_tracked == 0  # the student was not asked

    def change(to: Tensor) -> float:
        return F.kl_div(method.teacher.logits(to).log_softmax(1), target, reduction="batchmean").item()

    length = (moved - images).flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    others = [torch.randn(images.shape, generator=generator) for _ in range(5)]
    of_student = adversarial_direction(
        lambda one: method.student.eval()(one).logits, images, target, generator=generator
    )
    for other in (*others, of_student):
        assert change(moved) > 1.5 * change(images + length * unit_length(other))


def test_pixels_are_the_students_of_moved_images_with_the_teachers_labels_of_unmoved_ones(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = VAT(tiny_network(norm=False, features=4), same_view, radius=3)
    nn.init.normal_(method.teacher.network.classifier.weight, generator=generator)  # unlike the student
    labelled, unlabelled = toy_batch(), toy_batch(seed=3, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=generator)
    moved, _ = output.mixed
    (on_labelled, known), (on_moved, pseudo) = output.pixels
    assert torch.equal(on_labelled.logits, method.student(labelled.images).logits)
    assert torch.equal(known.labels, labelled.labels)
    expected = method.student(moved)
    assert torch.equal(on_moved.logits, expected.logits)
    assert torch.equal(on_moved.features, expected.features)

    def answer(images: Tensor) -> Tensor:
        logits = method.teacher.network(images).logits.detach()
        return F.interpolate(logits, (32, 32), mode="bilinear").softmax(1)

    confidence, labels = answer(unlabelled.images).max(1)
    assert 0 < labels.sum() < labels.numel()
    assert (answer(moved).argmax(1) != labels).any()
    assert torch.equal(pseudo.labels, labels)
    torch.testing.assert_close(pseudo.confidence, confidence)


def test_the_share_is_of_the_whole_batch_without_padding(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = VAT(tiny_network(norm=False), same_view).eval()
    with torch.no_grad():
        method.teacher.network.classifier.weight.mul_(20)
    inside = torch.ones(2, 32, 32, dtype=torch.bool)
    inside[0, 8:] = False  # four rows of cells are left
    unlabelled = replace(toy_batch(seed=3, visible=False), inside=inside)
    with torch.no_grad():
        q = method.teacher.network(unlabelled.images).logits.softmax(1)
    method.trust_above = q.amax(1).median().item()
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    moved, _ = output.mixed
    with torch.no_grad():
        p = method.student(moved).logits.softmax(1)
    cells = [(b, r, c) for b in range(2) for r in range(16) for c in range(16) if b == 1 or r < 4]
    sure = sum(q[b, :, r, c].max().item() >= method.trust_above for b, r, c in cells)
    costs = sum(
        (q[b, k, r, c] * (q[b, k, r, c].log() - p[b, k, r, c].log())).item()
        for b, r, c in cells
        for k in range(2)
    )
    assert 0 < sure < len(cells)
    expected = sure / len(cells) * costs / len(cells)
    assert output.parts["unsupervised"].item() == pytest.approx(expected, rel=1e-4)


def test_images_are_moved_by_radius_times_their_contrast_and_padding_is_not(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = VAT(tiny_network(norm=False), same_view, radius=0.5)
    inside = torch.ones(2, 32, 32, dtype=torch.bool)
    inside[1, :, 20:] = False
    unlabelled = replace(toy_batch(visible=False), inside=inside)
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    moved = output.mixed[0] - unlabelled.images
    lengths = moved.flatten(1).norm(dim=1)
    torch.testing.assert_close(lengths, 0.5 * own_contrast(unlabelled.images, inside), rtol=1e-4, atol=1e-4)
    assert not moved[1, :, :, 20:].any()


def test_the_teacher_and_the_student_see_one_view_and_known_labels_move_with_it(
    tiny_network, toy_batch
) -> None:
    view = StrongView(scale=(0.5, 0.5), mix=no_mix, flip=1)
    method = VAT(tiny_network(norm=False), view, trust_above=0)
    seen = []
    method.teacher.network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    unlabelled = replace(toy_batch(visible=False), sparse=True)
    unlabelled.labels[:, 10, 4] = 1
    drawn = torch.Generator().manual_seed(1)
    output = method(toy_batch(), unlabelled, iteration=0, generator=drawn)
    images, pseudo = output.mixed
    inside = pseudo.labels != IGNORE
    lengths = (images - seen[0]).flatten(1).norm(dim=1)
    torch.testing.assert_close(lengths, own_contrast(seen[0], inside), rtol=1e-4, atol=1e-4)
    assert inside.float().mean() == 0.25  # half the size: the rest is padding
    # row 10 becomes 5; column 4 becomes 2, and mirrored 29
    assert pseudo.labels[:, 5, 29].tolist() == [1, 1]
    assert pseudo.confidence[:, 5, 29].tolist() == [1, 1]
    assert (pseudo.confidence == 1).sum() == 2


def test_only_the_student_gets_gradients_and_the_teacher_stays_in_eval_mode(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = VAT(tiny_network(), same_view, trust_above=0).train()
    before = {name: value.clone() for name, value in method.teacher.state_dict().items()}
    hidden = replace(toy_batch(), labels=torch.full((2, 32, 32), IGNORE))
    method(hidden, toy_batch(visible=False), iteration=0, generator=generator).loss.backward()
    assert all(parameter.grad.any() for parameter in method.student.classifier.parameters())
    assert all(parameter.grad is None for parameter in method.teacher.parameters())
    assert not any(module.training for module in method.teacher.network.modules())
    assert all(torch.equal(value, before[name]) for name, value in method.teacher.state_dict().items())
    assert method.evaluation_model is method.teacher.network


def test_it_begins_at_once_or_after_a_supervised_start(tiny_network, toy_batch, same_view, generator) -> None:
    assert VAT(tiny_network(), same_view).uses_unlabelled(0)
    method = VAT(tiny_network(), same_view, trust_above=0, supervised_start=2, ramp=1)
    assert [method.uses_unlabelled(t) for t in range(3)] == [False, False, True]
    assert method(toy_batch(), None, iteration=0, generator=generator).parts.keys() == {"supervised"}
    output = method(toy_batch(), toy_batch(visible=False), iteration=2, generator=generator)
    supervised, unsupervised = (part.item() for part in output.parts.values())
    assert output.loss.item() == pytest.approx(supervised + 0.5 * 0.1 * unsupervised, rel=1e-6)


def test_impossible_settings_are_refused(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match="trust_above: must be at"):
        VAT(tiny_network(), same_view, trust_above=1.5)


def test_with_mixed_precision_the_step_is_the_same_to_that_precision(
    tiny_network, same_view, require_same_in_half_precision
) -> None:
    method = VAT(tiny_network(norm=False), same_view, trust_above=0)
    method.student.classifier.weight.data.mul_(3)
    require_same_in_half_precision(method)
