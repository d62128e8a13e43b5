"""Distribution alignment: shares by hand, what moves them, and what becomes of labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from recoseg.errors import UserError
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.parts.alignment import Alignment
from recoseg.types import IGNORE, Batch


def batch(labels: list[int], **more: object) -> Batch:
    """One image of a single row."""
    row = torch.tensor(labels)[None, None]
    return Batch(torch.zeros(1, 3, *row.shape[1:]), row, ("a",), **more)


def saying(*probabilities: float) -> torch.Tensor:
    """(1, 2, 1, P): logits that give class 1 these probabilities."""
    likely = torch.tensor(probabilities)
    return torch.stack([(1 - likely).log(), likely.log()])[None, :, None]


NOTHING = batch([IGNORE] * 4)


def test_probabilities_are_multiplied_by_the_ratio_of_shares() -> None:
    """Half of the labelled pixels are of class 1, and the teacher gives it 0.2 and 0.3, a quarter."""
    alignment = Alignment(2)
    aligned = alignment(saying(0.2, 0.3), batch([0, 1, 1, 0, IGNORE]), batch([IGNORE] * 2)).softmax(1)
    wanted, found = 0.5001 / 0.2501, 0.5001 / 0.7501
    expected = [p * wanted / (p * wanted + (1 - p) * found) for p in (0.2, 0.3)]
    assert aligned[0, 1, 0].tolist() == pytest.approx(expected, rel=1e-4)


def test_a_teacher_with_the_right_shares_is_left_alone() -> None:
    logits = saying(0.9, 0.1, 0.5, 0.5)
    torch.testing.assert_close(Alignment(2)(logits, batch([0, 1]), NOTHING), logits)


def test_shares_are_plain_means_at_first_and_then_remember_a_hundred_steps() -> None:
    alignment = Alignment(2)
    for labels in ([0, 0], [0, 1], [1, 1]):
        alignment(saying(0.5), batch(labels), batch([IGNORE]))
    assert alignment.shares[0].tolist() == pytest.approx([0.5, 0.5])
    alignment.steps.fill_(500)
    alignment(saying(0.5), batch([1, 1]), batch([IGNORE]))
    assert alignment.shares[0].tolist() == pytest.approx([0.495, 0.505])


def test_padding_of_unlabelled_images_is_not_counted() -> None:
    alignment = Alignment(2)
    inside = torch.tensor([[[True, True, False, False]]])
    alignment(saying(0.2, 0.4, 0.9, 0.9), batch([0, 1]), replace(NOTHING, inside=inside))
    assert alignment.shares[1, 1].item() == pytest.approx(0.3)


def test_a_step_without_labels_moves_the_share_of_predictions_alone() -> None:
    alignment = Alignment(2)
    alignment(saying(0.9, 0.9), batch([IGNORE]), batch([IGNORE] * 2))
    assert alignment.shares[0].tolist() == [0.5, 0.5]
    assert alignment.shares[1, 1].item() == pytest.approx(0.9)


def test_a_class_that_nobody_labelled_becomes_rare_but_not_impossible() -> None:
    aligned = Alignment(2)(saying(0.5), batch([0, 0]), batch([IGNORE]))
    assert 0 < aligned.softmax(1)[0, 1].item() < 1e-3
    assert aligned.isfinite().all()


def test_single_labelled_pixels_are_refused() -> None:
    with pytest.raises(UserError, match=r"method\.align needs fully labelled images"):
        Alignment(2)(saying(0.5), batch([0], sparse=True), batch([IGNORE]))


def test_the_student_learns_aligned_labels_and_the_contrast_gets_them(
    tiny_network, toy_batch, same_view, generator
) -> None:
    """The teacher says class 0 everywhere, with 0.6; a third of the labelled pixels are of it."""
    labelled = toy_batch()
    labelled.labels.fill_(1)
    labelled.labels[:, :, :11] = 0
    share = (labelled.labels == 0).float().mean().item()
    losses = {}
    for alignment in (None, Alignment(2)):
        method = MeanTeacher(tiny_network(probabilities=(0.6, 0.4)), same_view, alignment=alignment)
        output = method(labelled, toy_batch(visible=False), iteration=0, generator=generator)
        _, (_, pseudo) = output.pixels
        losses[alignment is not None] = (pseudo.labels.unique().tolist(), pseudo.confidence.max().item())
    assert losses[False] == ([0], pytest.approx(0.6))
    zero, one = 0.6 * (share + 1e-4) / 0.6001, 0.4 * (1 - share + 1e-4) / 0.4001
    assert losses[True] == ([1], pytest.approx(one / (zero + one), rel=1e-4))


def test_what_is_aligned_teaches_nothing_by_itself(tiny_network, toy_batch, same_view, generator) -> None:
    method = MeanTeacher(tiny_network(), same_view, alignment=Alignment(2), trust_above=0)
    method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator).loss.backward()
    assert all(parameter.grad is None for parameter in method.teacher.parameters())
    assert not any(buffer.requires_grad for buffer in method.alignment.buffers())


def test_shares_are_saved_with_the_method(tiny_network, toy_batch, same_view, generator) -> None:
    first, second = (MeanTeacher(tiny_network(), same_view, alignment=Alignment(2)) for _ in range(2))
    first(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.alignment.shares, second.alignment.shares)
    assert second.alignment.steps.item() == 1


def test_probabilities_as_they_are_cannot_be_aligned(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match=r"method\.align has no effect with method\.consistency prob"):
        MeanTeacher(tiny_network(), same_view, alignment=Alignment(2), consistency="probabilities")
