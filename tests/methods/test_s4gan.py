"""S4GAN: closed forms with a rigged discriminator, and who learns from what."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.s4gan import S4GAN
from recoseg.types import IGNORE, Batch


def rig(method: S4GAN, *, slope: float = 0.0, offset: float = 0.0) -> S4GAN:
    """Features become the means of the colours and of the map; the score is a line over the mean red."""
    method.discriminator.layers = nn.Sequential()
    method.discriminator.score = nn.Linear(3 + method.num_classes, 1)
    nn.init.zeros_(method.discriminator.score.weight)
    method.discriminator.score.weight.data[0, 0] = slope
    method.discriminator.score.bias.data.fill_(offset)
    return method


def flat_batch(*colours: float, label: int = IGNORE, size: int = 16) -> Batch:
    """Grey images of these brightnesses, with one label everywhere."""
    images = torch.tensor(colours)[:, None, None, None].expand(-1, 3, size, size).clone()
    labels = torch.full((len(colours), size, size), label)
    return Batch(images, labels, tuple(f"grey {colour}" for colour in colours))


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_parts_have_closed_forms(tiny_network, same_view, generator) -> None:
    method = rig(S4GAN(tiny_network(probabilities=(0.7, 0.3)), same_view, 2), offset=log_odds(0.8))
    labelled, unlabelled = flat_batch(0.5, 0.7, label=0), flat_batch(0.2, 0.4)
    output = method(labelled, unlabelled, iteration=0, generator=generator)
    parts = {name: part.item() for name, part in output.parts.items()}
    # features: colours 0.6 against 0.3 three times, the map (1, 0) against (0.7, 0.3)
    assert parts["matching"] == pytest.approx((3 * 0.3 + 0.3 + 0.3) / 5, rel=1e-5)
    assert parts["supervised"] == pytest.approx(-math.log(0.7), rel=1e-5)
    assert parts["self_training"] == pytest.approx(-math.log(0.7), rel=1e-5)  # both score 0.8: trusted
    assert parts["discriminator"] == pytest.approx(-(math.log(0.8) + math.log(0.2)) / 2, rel=1e-5)
    total = parts["supervised"] + 0.1 * parts["matching"] + parts["self_training"] + parts["discriminator"]
    assert output.loss.item() == pytest.approx(total, rel=1e-6)
    assert not any(part.requires_grad for part in output.parts.values())


def test_pixels_without_a_label_leave_the_true_map_empty(tiny_network, same_view, generator) -> None:
    method = rig(S4GAN(tiny_network(probabilities=(0.5, 0.5)), same_view, 2))
    labelled = flat_batch(0.4, 0.4, label=1)
    labelled.labels[:, :4] = IGNORE  # a quarter
    output = method(labelled, flat_batch(0.4, 0.4), iteration=0, generator=generator)
    # the true map's means are (0, 0.75), the predicted one's (0.5, 0.5)
    assert output.parts["matching"].item() == pytest.approx((0.5 + 0.25) / 5, rel=1e-5)


def test_padding_of_a_crop_is_empty_in_the_predicted_map_and_teaches_nothing(
    tiny_network, same_view, generator
) -> None:
    method = rig(S4GAN(tiny_network(probabilities=(0.6, 0.4)), same_view, 2), offset=log_odds(0.8))
    shown = torch.ones(2, 16, 16, dtype=torch.bool)
    shown[:, 4:] = False  # a quarter is left
    unlabelled = replace(flat_batch(0.4, 0.4), inside=shown)
    output = method(flat_batch(0.4, 0.4, label=1), unlabelled, iteration=0, generator=generator)
    # the true map's means are (0, 1), the predicted one's a quarter of (0.6, 0.4)
    assert output.parts["matching"].item() == pytest.approx((0.15 + 0.9) / 5, rel=1e-5)
    assert output.parts["self_training"].item() == pytest.approx(-math.log(0.6), rel=1e-5)
    _, (_, own) = output.pixels
    assert torch.equal(own.labels, torch.zeros(2, 16, 16).long().where(shown, IGNORE))
    assert own.confidence[~shown].max() == 0


def test_padding_that_the_view_makes_is_padding_too(tiny_network, generator) -> None:
    method = S4GAN(tiny_network(), StrongView(scale=(0.5, 0.5), mix=no_mix, flip=0), 2, self_above=0)
    output = method(flat_batch(0.4, 0.4, label=1), flat_batch(0.4, 0.4), iteration=0, generator=generator)
    _, (_, own) = output.pixels
    assert (own.labels != IGNORE)[:, :8, :8].all()
    assert (own.labels != IGNORE).float().mean() == 0.25


def test_matching_compares_means_of_batches_not_images(tiny_network, same_view, generator) -> None:
    method = rig(S4GAN(tiny_network(probabilities=(0.5, 0.5)), same_view, 2))
    labelled = flat_batch(0.1, 0.9, label=0)
    labelled.labels[1] = 1
    output = method(labelled, flat_batch(0.5), iteration=0, generator=generator)
    assert output.parts["matching"].item() == pytest.approx(0, abs=1e-6)


def test_only_images_that_score_above_the_threshold_train_themselves(
    tiny_network, same_view, generator
) -> None:
    # scores: sigmoid(10 * (red - 0.5)), so 0.6 lies at red 0.5405
    unlabelled = flat_batch(0.2, 0.53, 0.55, 0.9)
    method = rig(S4GAN(tiny_network(), same_view, 2), slope=10.0, offset=-5.0).eval()
    method.student.body[1] = nn.Identity()  # so that greys differ
    output = method(flat_batch(0.5, label=0), unlabelled, iteration=0, generator=generator)
    logits = method.student(unlabelled.images).logits
    logits = nn.functional.interpolate(logits, (16, 16), mode="bilinear")
    costs = -logits.softmax(1).amax(1).log().mean((1, 2))
    assert len(set(costs.tolist())) == 4
    assert output.parts["self_training"].item() == pytest.approx(costs[2:].mean().item(), rel=1e-5)


@pytest.mark.parametrize("size", [(16, 16), (33, 47)])
def test_where_no_image_looks_true_self_training_is_a_connected_zero(
    tiny_network, toy_batch, same_view, generator, size
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, match_weight=0, self_above=1.0)
    labelled = toy_batch(size=size)
    labelled.labels.fill_(IGNORE)
    output = method(labelled, toy_batch(size=size, visible=False), iteration=0, generator=generator)
    output.loss.backward()
    assert output.parts["self_training"].item() == 0
    assert output.loss.item() == output.parts["discriminator"].item() > 0
    for parameter in method.student.parameters():
        assert parameter.grad is not None
        assert not parameter.grad.any()


def gradients(method: S4GAN, which: str, labelled: Batch, unlabelled: Batch) -> list[torch.Tensor]:
    """Of one network, after a backward pass through the whole loss; dropout falls the same each time."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    method.zero_grad()
    method(labelled, unlabelled, iteration=0, generator=generator).loss.backward()
    return [parameter.grad.clone() for parameter in getattr(method, which).parameters()]


def test_what_the_student_learns_from_teaches_the_discriminator_nothing(
    tiny_network, toy_batch, same_view
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, self_above=0.0)
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    before = gradients(method, "discriminator", labelled, unlabelled)
    assert all(gradient.any() for gradient in before)
    method.match_weight, method.self_weight = 100.0, 100.0
    for plain, heavy in zip(before, gradients(method, "discriminator", labelled, unlabelled), strict=True):
        assert torch.equal(plain, heavy)


def test_what_the_discriminator_learns_from_teaches_the_student_nothing(
    tiny_network, toy_batch, same_view
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, match_weight=0, self_weight=0)
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    labelled.labels.fill_(IGNORE)  # what is left for the student is nothing
    assert not any(g.any() for g in gradients(method, "student", labelled, unlabelled))
    assert all(g.any() for g in gradients(method, "discriminator", labelled, unlabelled))


def test_matching_alone_reaches_the_student_through_its_maps(tiny_network, toy_batch, same_view) -> None:
    method = S4GAN(tiny_network(), same_view, 2, match_weight=1.0, self_weight=0)
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    labelled.labels[:] = IGNORE
    labelled.labels[0, 0, 0] = 1  # nearly no map, nearly no supervision
    found = gradients(method, "student", labelled, unlabelled)
    method.match_weight = 0.0
    without = gradients(method, "student", labelled, unlabelled)
    assert all((a - b).abs().max() > 1e-6 for a, b in zip(found[-2:], without[-2:], strict=True))


def test_steps_of_its_own_optimiser_move_only_the_discriminator(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, discriminator_lr=3e-4)
    (name, optimiser), = method.own_optimisers().items()  # fmt: skip
    assert name == "discriminator"
    assert method.own_optimisers()[name] is optimiser  # its state is kept from step to step
    assert isinstance(optimiser, torch.optim.Adam)
    assert (optimiser.defaults["lr"], optimiser.defaults["betas"]) == (3e-4, (0.9, 0.99))
    before = {name: tensor.clone() for name, tensor in method.state_dict().items()}
    method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator).loss.backward()
    optimiser.step()
    for name, parameter in method.named_parameters():
        moved = not torch.equal(parameter, before[name])
        assert moved == name.startswith("discriminator."), name


def test_the_discriminator_learns_to_score_true_maps_higher(tiny_network, same_view, generator) -> None:
    method = rig(S4GAN(tiny_network(), same_view, 2))
    method(flat_batch(0.9, label=0), flat_batch(0.1), iteration=0, generator=generator).loss.backward()
    # undecided, each kind pulls with half of (1 - 1/2): the slope over red by (0.9 - 0.1) / 4
    assert method.discriminator.score.weight.grad[0, 0].item() == pytest.approx(-0.2)
    assert method.discriminator.score.bias.grad.item() == pytest.approx(0, abs=1e-7)


def test_a_supervised_start_leaves_the_discriminator_as_it_is_with_gradients_of_zero(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, supervised_start=1)
    assert [method.uses_unlabelled(t) for t in range(2)] == [False, True]
    before = [parameter.detach().clone() for parameter in method.discriminator.parameters()]
    output = method(toy_batch(), None, iteration=0, generator=generator)
    output.loss.backward()
    method.optimiser.step()
    assert output.loss.item() == output.parts["supervised"].item()
    assert output.parts.keys() == {"supervised"}
    for parameter, old in zip(method.discriminator.parameters(), before, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter, old)


def test_the_ramp_scales_what_the_student_learns_from_unlabelled_images(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = S4GAN(tiny_network(), same_view, 2, self_above=0.0, supervised_start=4, ramp=1)
    for iteration, scale in ((4, 0.5), (5, 1.0)):
        output = method(toy_batch(), toy_batch(visible=False), iteration=iteration, generator=generator)
        parts = {name: part.item() for name, part in output.parts.items()}
        unlabelled = scale * (0.1 * parts["matching"] + parts["self_training"])
        expected = parts["supervised"] + unlabelled + parts["discriminator"]
        assert output.loss.item() == pytest.approx(expected, rel=1e-6)


def test_the_contrast_reads_labels_and_the_students_own_with_its_confidence(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = S4GAN(tiny_network(probabilities=(0.25, 0.75), features=4), same_view, 2)
    labelled = toy_batch()
    output = method(labelled, toy_batch(visible=False), iteration=0, generator=generator)
    (_, certain), (predicted, own) = output.pixels
    assert torch.equal(certain.labels, labelled.labels)
    assert certain.confidence.unique().tolist() == [1]
    assert predicted.features is not None
    assert own.labels.unique().tolist() == [1]
    assert own.confidence.shape == (2, 32, 32)
    assert own.confidence.mean().item() == pytest.approx(0.75, rel=1e-5)
    assert not own.confidence.requires_grad


@pytest.mark.parametrize("computes", ["in 16 bits", "in float32, and answers in 16 bits"])
def test_confidence_and_losses_are_float32_also_where_the_network_answers_in_16_bits(
    tiny_network, toy_batch, same_view, generator, needs_16_bits, computes
) -> None:
    autocast = computes == "in 16 bits"
    if autocast:
        needs_16_bits("bfloat16")
    network = tiny_network(answers_in=None if autocast else torch.bfloat16)
    method = S4GAN(network, same_view, 2, self_above=0.0)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    output.loss.backward()
    assert output.pixels[1][0].logits.dtype == torch.bfloat16
    assert output.pixels[1][1].confidence.dtype == torch.float32
    assert {part.dtype for part in output.parts.values()} == {torch.float32}


def test_the_student_sees_unlabelled_images_through_the_view(tiny_network, toy_batch, generator) -> None:
    method = S4GAN(tiny_network(), lambda images, pseudo, *_: (images / 2, pseudo), 2)
    unlabelled = toy_batch(visible=False)
    seen = []
    method.student.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    assert torch.equal(seen[1], unlabelled.images / 2)
    assert output.mixed is not None
    assert torch.equal(output.mixed[0], unlabelled.images / 2)


@pytest.mark.parametrize(("num_labelled", "num_unlabelled"), [(1, 1), (1, 3), (3, 1)])
def test_batches_may_differ_in_size_and_be_of_one(
    tiny_network, toy_batch, generator, num_labelled, num_unlabelled
) -> None:
    method = S4GAN(tiny_network(), StrongView(scale=(0.5, 1.5)), 2)
    unlabelled = toy_batch(num_unlabelled, size=(33, 47), visible=False)
    output = method(toy_batch(num_labelled, size=(33, 47)), unlabelled, iteration=0, generator=generator)
    output.loss.backward()
    assert output.loss.isfinite()


def test_an_average_is_evaluated_when_asked_for(tiny_network, same_view) -> None:
    assert (plain := S4GAN(tiny_network(), same_view, 2)).evaluation_model is plain.student
    method = S4GAN(tiny_network(), same_view, 2)
    method.evaluate_average(0.99)
    for iteration, value in enumerate([3.0, 5.0]):
        method.student.classifier.bias.data.fill_(value)
        method.after_update(iteration)
    assert method.evaluation_model.classifier.bias.tolist() == [4, 4]


def test_single_labelled_pixels_are_refused(tiny_network, toy_batch, same_view, generator) -> None:
    method = S4GAN(tiny_network(), same_view, 2)
    with pytest.raises(UserError, match="s4gan needs fully labelled images"):
        method(replace(toy_batch(), sparse=True), toy_batch(), iteration=0, generator=generator)


def test_an_impossible_threshold_is_refused(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match="self_above: must be at"):
        S4GAN(tiny_network(), same_view, 2, self_above=60)
