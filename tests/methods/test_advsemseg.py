"""AdvSemSeg: closed forms with a rigged discriminator, and who learns from what."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.types import IGNORE, Batch

LOG_2 = math.log(2)


class Rigged(nn.Module):
    """Scores are a line over the map of the first class, at every pixel."""

    def __init__(self, *, slope: float = 0.0, offset: float = 0.0) -> None:
        super().__init__()
        self.slope, self.offset = nn.Parameter(torch.tensor(slope)), nn.Parameter(torch.tensor(offset))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return self.slope * maps[:, 0] + self.offset


def advsemseg(student: nn.Module, **settings: float) -> AdvSemSeg:
    """Which sees unlabelled images as they are."""
    return AdvSemSeg(student, StrongView(mix=no_mix, colours=[], flip=0), 2, **settings)


def rig(method: AdvSemSeg, **line: float) -> AdvSemSeg:
    method.discriminator = Rigged(**line)
    return method


def flat_batch(count: int = 2, *, label: int = IGNORE, size: int = 32) -> Batch:
    images, labels = torch.full((count, 3, size, size), 0.5), torch.full((count, size, size), label)
    return Batch(images, labels, tuple(f"flat {n}" for n in range(count)))


def parts_of(method: AdvSemSeg, labelled: Batch, unlabelled: Batch, iteration: int = 0) -> dict[str, float]:
    output = method(labelled, unlabelled, iteration=iteration, generator=torch.Generator())
    return {"loss": output.loss.item(), **{name: part.item() for name, part in output.parts.items()}}


def test_an_undecided_discriminator_has_closed_forms(tiny_network) -> None:
    method = rig(advsemseg(tiny_network(probabilities=(0.7, 0.3))))
    parts = parts_of(method, flat_batch(label=0), flat_batch(3))
    assert parts["adversarial"] == pytest.approx(LOG_2)
    assert parts["unlabelled_adversarial"] == pytest.approx(LOG_2)
    assert parts["discriminator"] == pytest.approx(LOG_2)
    # sigmoid 0.5 is above 0.2: all pixels teach themselves
    assert parts["self_training"] == pytest.approx(-math.log(0.7), rel=1e-5)
    student = -math.log(0.7) + 0.011 * LOG_2 + 0.1 * -math.log(0.7)
    assert parts["loss"] == pytest.approx(student + LOG_2, rel=1e-5)


def test_each_kind_of_map_is_judged_by_itself(tiny_network) -> None:
    # true maps of class 0 score 2 - 1 = 1, of class 1 score -1; predicted ones 2 * 0.7 - 1 = 0.4
    method = rig(advsemseg(tiny_network(probabilities=(0.7, 0.3))), slope=2.0, offset=-1.0)
    labelled = flat_batch(label=0)
    labelled.labels[1] = 1
    parts = parts_of(method, labelled, flat_batch(3))
    fooled = math.log1p(math.exp(-0.4))
    assert parts["adversarial"] == pytest.approx(fooled, rel=1e-5)
    assert parts["unlabelled_adversarial"] == pytest.approx(fooled, rel=1e-5)
    on_true = (math.log1p(math.exp(-1)) + math.log1p(math.exp(1))) / 2
    assert parts["discriminator"] == pytest.approx((on_true + math.log1p(math.exp(0.4))) / 2, rel=1e-5)


def test_pixels_without_a_label_and_padding_are_in_no_mean_and_empty_in_every_map(tiny_network) -> None:
    method = rig(advsemseg(tiny_network(probabilities=(0.7, 0.3))), slope=1.0)
    seen = []
    method.discriminator.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    labelled, shown = flat_batch(label=0), torch.ones(2, 32, 32, dtype=torch.bool)
    labelled.labels[0, :24] = IGNORE
    shown[:, :, 8:] = False
    output = method(labelled, replace(flat_batch(), inside=shown), iteration=0, generator=torch.Generator())
    true, predicted = seen
    assert predicted.shape == (4, 2, 32, 32)  # of labelled images, then of others
    for maps in (true, predicted[:2]):
        assert torch.equal(maps.sum(1) > 0, labelled.labels != IGNORE)
    assert torch.equal(predicted[2:].sum(1) > 0, shown)
    assert output.parts["adversarial"].item() == pytest.approx(math.log1p(math.exp(-0.7)), rel=1e-5)
    assert output.parts["unlabelled_adversarial"].item() == pytest.approx(
        math.log1p(math.exp(-0.7)), rel=1e-5
    )
    discriminator = (math.log1p(math.exp(-1)) + math.log1p(math.exp(0.7))) / 2
    assert output.parts["discriminator"].item() == pytest.approx(discriminator, rel=1e-5)
    assert output.parts["self_training"].item() == pytest.approx(-math.log(0.7), rel=1e-5)
    _, pseudo = output.mixed
    assert torch.equal(pseudo.labels != IGNORE, shown)
    assert pseudo.confidence[~shown].max() == 0


def test_only_pixels_that_the_discriminator_believes_teach_themselves(tiny_network, toy_batch) -> None:
    student, unlabelled = tiny_network().eval(), toy_batch(seed=1, visible=False)
    logits = nn.functional.interpolate(student(unlabelled.images).logits, (32, 32), mode="bilinear")
    probabilities = logits.softmax(1).detach()
    middle = probabilities[:, 0].median().item()
    method = rig(advsemseg(student, self_above=0.6), slope=200.0, offset=-200.0 * middle).eval()
    output = method(toy_batch(), unlabelled, iteration=0, generator=torch.Generator())
    believed = (200 * (probabilities[:, 0] - middle)).sigmoid() >= 0.6  # (B, H, W)
    assert 0.1 < believed.float().mean() < 0.9
    costs = -probabilities.amax(1).log()
    assert output.parts["self_training"].item() == pytest.approx(costs[believed].mean().item(), rel=1e-5)
    _, pseudo = output.mixed
    assert torch.equal(pseudo.labels, probabilities.argmax(1).where(believed, IGNORE))
    torch.testing.assert_close(pseudo.confidence, probabilities.amax(1))
    assert not pseudo.confidence.requires_grad


def test_where_nothing_is_believed_the_student_still_learns_to_fool(tiny_network, toy_batch) -> None:
    method = rig(advsemseg(tiny_network(), self_above=1.0), slope=1.0)
    labelled = toy_batch()
    labelled.labels.fill_(IGNORE)
    output = method(labelled, toy_batch(visible=False), iteration=0, generator=torch.Generator())
    output.loss.backward()
    assert output.parts["self_training"].item() == 0
    assert output.parts["adversarial"].item() == 0  # no labelled pixel, no mean
    assert method.student.classifier.weight.grad.any()


def test_self_training_begins_at_its_start(tiny_network) -> None:
    method = rig(advsemseg(tiny_network(), self_start=3))
    found = [parts_of(method, flat_batch(label=0), flat_batch(), iteration) for iteration in (2, 3)]
    assert ["self_training" in parts for parts in found] == [False, True]
    assert all("unlabelled_adversarial" in parts for parts in found)
    assert method.uses_unlabelled(0)


def gradients(method: AdvSemSeg, which: str, labelled: Batch, unlabelled: Batch) -> list[torch.Tensor]:
    method.zero_grad()
    method(labelled, unlabelled, iteration=0, generator=torch.Generator()).loss.backward()
    return [parameter.grad.clone() for parameter in getattr(method, which).parameters()]


def test_what_the_student_learns_from_teaches_the_discriminator_nothing(tiny_network, toy_batch) -> None:
    method = advsemseg(tiny_network(), self_above=0.0)
    batches = toy_batch(), toy_batch(seed=1, visible=False)
    before = gradients(method, "discriminator", *batches)
    assert all(gradient.any() for gradient in before)
    method.adversarial_weight, method.unlabelled_weight, method.self_weight = 100.0, 100.0, 100.0
    for plain, heavy in zip(before, gradients(method, "discriminator", *batches), strict=True):
        assert torch.equal(plain, heavy)


def test_what_the_discriminator_learns_from_teaches_the_student_nothing(tiny_network, toy_batch) -> None:
    method = advsemseg(tiny_network(), adversarial_weight=0, unlabelled_weight=0, self_weight=0)
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    labelled.labels.fill_(IGNORE)
    assert not any(g.any() for g in gradients(method, "student", labelled, unlabelled))
    assert all(g.any() for g in gradients(method, "discriminator", labelled, unlabelled))


@pytest.mark.parametrize("weight", ["adversarial_weight", "unlabelled_weight", "self_weight"])
def test_each_part_reaches_the_student(tiny_network, toy_batch, weight: str) -> None:
    weights = {"adversarial_weight": 0.0, "unlabelled_weight": 0.0, "self_weight": 0.0}
    batches = toy_batch(), toy_batch(seed=1, visible=False)
    plain = gradients(advsemseg(tiny_network(), **weights), "student", *batches)
    torch.manual_seed(0)
    found = gradients(advsemseg(tiny_network(), **{**weights, weight: 1.0}), "student", *batches)
    assert any((a - b).abs().max() > 1e-6 for a, b in zip(found, plain, strict=True))


def test_fooling_pulls_predictions_towards_what_scores_high(tiny_network) -> None:
    settings = {"unlabelled_weight": 1.0, "adversarial_weight": 0.0, "self_weight": 0.0}
    method = rig(advsemseg(tiny_network(probabilities=(0.5, 0.5)), **settings), slope=1.0, offset=-0.5)
    labelled = flat_batch()  # without any label
    gradient = gradients(method, "student", labelled, flat_batch())[-1]  # the classifier's bias
    # d softplus(-s) / ds = -1/2 at s = 0, ds / dp = 1, dp / dlogit = 1/4
    assert gradient.tolist() == pytest.approx([-0.125, 0.125], rel=1e-4)


def test_steps_of_its_own_optimiser_move_only_the_discriminator(tiny_network, toy_batch) -> None:
    method = advsemseg(tiny_network(), discriminator_lr=3e-4)
    (name, optimiser), = method.own_optimisers().items()  # fmt: skip
    assert name == "discriminator"
    assert isinstance(optimiser, torch.optim.Adam)
    assert (optimiser.defaults["lr"], optimiser.defaults["betas"]) == (3e-4, (0.9, 0.99))
    before = {name: tensor.clone() for name, tensor in method.state_dict().items()}
    gradients(method, "student", toy_batch(), toy_batch(visible=False))
    optimiser.step()
    for name, parameter in method.named_parameters():
        moved = not torch.equal(parameter, before[name])
        assert moved == name.startswith("discriminator."), name


def test_the_contrast_reads_labels_first_and_then_what_is_believed(tiny_network, toy_batch) -> None:
    method = rig(advsemseg(tiny_network(probabilities=(0.25, 0.75), features=4)))
    labelled = toy_batch()
    output = method(labelled, toy_batch(visible=False), iteration=0, generator=torch.Generator())
    (predicted, labels), = output.pixels  # fmt: skip
    assert predicted.features is not None
    assert len(predicted.features) == 4
    assert torch.equal(labels.labels[:2], labelled.labels)
    assert labels.confidence[:2].unique().tolist() == [1]
    assert labels.labels[2:].unique().tolist() == [1]
    assert labels.confidence[2:].mean().item() == pytest.approx(0.75, rel=1e-5)


def test_losses_and_confidence_are_float32_where_the_network_answers_in_16_bits(
    tiny_network, toy_batch, needs_16_bits
) -> None:
    needs_16_bits("bfloat16")
    method = advsemseg(tiny_network())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=torch.Generator())
    output.loss.backward()
    assert {part.dtype for part in output.parts.values()} == {torch.float32}
    assert output.mixed[1].confidence.dtype == torch.float32


@pytest.mark.parametrize(("num_labelled", "num_unlabelled"), [(1, 1), (1, 3), (3, 1)])
def test_batches_may_differ_in_size_and_be_of_one(
    tiny_network, toy_batch, num_labelled, num_unlabelled
) -> None:
    method = advsemseg(tiny_network())
    unlabelled = toy_batch(num_unlabelled, size=(33, 47), visible=False)
    parts = parts_of(method, toy_batch(num_labelled, size=(33, 47)), unlabelled)
    assert math.isfinite(parts["loss"])


def test_an_average_is_evaluated_when_asked_for(tiny_network) -> None:
    assert (plain := advsemseg(tiny_network())).evaluation_model is plain.student
    method = advsemseg(tiny_network())
    method.evaluate_average(0.99)
    assert method.evaluation_model is method.teacher.network


def test_what_cannot_be_done_is_refused(tiny_network, toy_batch) -> None:
    with pytest.raises(UserError, match="self_above: must be at"):
        advsemseg(tiny_network(), self_above=20)
    method = advsemseg(tiny_network())
    with pytest.raises(UserError, match="advsemseg needs fully labelled images"):
        parts_of(method, replace(toy_batch(), sparse=True), toy_batch(visible=False))
    with pytest.raises(UserError, match="advsemseg needs images of at least 32x32 pixels, got 16x40"):
        parts_of(method, toy_batch(size=(16, 40)), toy_batch(size=(16, 40), visible=False))
