"""CCT: every perturbation against a plain reading on the map itself, the loss, and who learns from it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.cct import CCT
from recoseg.methods.parts import auxiliary_decoders
from recoseg.methods.parts.auxiliary_decoders import AuxiliaryDecoders
from recoseg.training.optimisers import parameter_groups
from recoseg.types import IGNORE

KINDS = {
    "dropout": 3, "feature_drop": 3, "feature_noise": 2, "guided_cutout": 2, "vat": 2, "context_masking": 1,
    "object_masking": 1,
}  # fmt: skip
NO_DECODERS = {f"num_{kind}": 0 for kind in KINDS}


def sgd(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=0.1)


def new_cct(student, view, *, background: int | None = 0, **settings) -> CCT:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return CCT(student, view, 2, background, sgd, **settings)


def decoders_of(**counts: int) -> AuxiliaryDecoders:
    """For maps of 5 channels and three classes, of which the last is the background; answers that differ."""
    torch.manual_seed(0)
    decoders = AuxiliaryDecoders(5, 3, counts=counts, background=2)
    nn.init.normal_(decoders.weight)
    nn.init.normal_(decoders.bias)
    return decoders


def a_map(count: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(B, 5, 6, 7), what the main decoder says of it, and cells that are all inside."""
    drawn = torch.Generator().manual_seed(3)
    decoded = torch.rand(count, 5, 6, 7, generator=drawn)
    probabilities = torch.randn(count, 3, 6, 7, generator=drawn).softmax(1)
    return decoded, probabilities, torch.ones(count, 6, 7, dtype=torch.bool)


def plain_answers(decoders: AuxiliaryDecoders, maps: torch.Tensor) -> torch.Tensor:
    """Perturbed maps (B, N, C, h, w), a convolution each -> (B, N, K, h, w)."""
    biases = decoders.bias.view(len(decoders.weight), -1)
    convolved = [
        F.conv2d(maps[:, n], decoders.weight[n][:, :, None, None], biases[n]) for n in range(maps.shape[1])
    ]
    return torch.stack(convolved, 1)


def implied_maps(decoders: AuxiliaryDecoders, answers: torch.Tensor) -> torch.Tensor:
    """The maps (B, N, C, h, w) that decoders with the identity for weights must have seen."""
    return answers - decoders.bias.view(1, len(decoders.weight), -1, 1, 1)


def seen_by(kind: str, count: int = 4, **more) -> tuple[torch.Tensor, torch.Tensor]:
    """The map, and what `count` decoders of a kind see of it: their weights show it as it is."""
    torch.manual_seed(0)
    decoders = AuxiliaryDecoders(5, 5, counts={kind: count}, background=2, **more)
    decoders.weight.data.copy_(torch.eye(5))
    decoded, probabilities, inside = a_map()
    probabilities = F.pad(probabilities, (0, 0, 0, 0, 0, 2))  # five classes, as many as channels
    drawn = torch.Generator().manual_seed(5)
    return decoded, implied_maps(decoders, decoders(decoded, probabilities, inside, drawn)).detach()


def test_dropout_hides_whole_channels_and_doubles_the_others() -> None:
    decoded, seen = seen_by("dropout", 40)
    ratio = (seen / decoded[:, None]).round(decimals=4)
    assert set(ratio.unique().tolist()) == {0, 2}
    assert torch.equal(ratio, ratio[..., :1, :1].expand_as(ratio))  # a whole channel of one image
    assert 0.4 < (ratio[..., 0, 0] == 2).float().mean() < 0.6
    assert not torch.equal(ratio[0], ratio[1])
    assert not torch.equal(ratio[:, 0], ratio[:, 1])


def test_feature_drop_by_hand(monkeypatch) -> None:
    monkeypatch.setattr(auxiliary_decoders, "_PEAKS", (0.8, 0.8))
    decoders = AuxiliaryDecoders(1, 1, counts={"feature_drop": 1})
    nn.init.ones_(decoders.weight)
    means = torch.tensor([[[[1.0, 2.0], [3.0, 10.0]]]])
    inside = torch.ones(1, 2, 2, dtype=torch.bool)
    drawn = torch.Generator()
    assert decoders(means, means, inside, drawn).tolist() == [[[[[1, 2], [3, 0]]]]]
    inside[0, 1, 1] = False  # padding: the highest of the image is 3
    assert decoders(means, means, inside, drawn).tolist() == [[[[[1, 2], [0, 0]]]]]


def test_feature_drop_hides_cells_above_its_share_of_the_highest_mean() -> None:
    decoded, seen = seen_by("feature_drop", 50)
    hidden = (seen == 0).all(2)  # (B, N, h, w)
    means = decoded.mean(1)[:, None].expand_as(hidden) / decoded.mean(1).amax((1, 2))[:, None, None, None]
    assert hidden[means >= 0.9].all()
    assert not hidden[means < 0.7].any()
    torch.testing.assert_close(seen, decoded[:, None] * ~hidden[:, :, None])
    assert len({tuple(one.flatten().tolist()) for one in hidden[0]}) > 1


def test_feature_noise_is_of_thirty_percent_and_shared_by_the_images() -> None:
    decoded, seen = seen_by("feature_noise")
    noise = seen / decoded[:, None] - 1
    assert -0.3 - 1e-4 <= noise.min() < -0.28
    assert 0.28 < noise.max() <= 0.3 + 1e-4
    torch.testing.assert_close(noise[0], noise[1], rtol=1e-3, atol=1e-4)
    assert (noise[0, 0] - noise[0, 1]).abs().max() > 0.1


def test_objects_and_their_surroundings_are_what_the_main_decoder_sees() -> None:
    _, probabilities, _ = a_map()
    is_object = (probabilities.argmax(1) != 2)[:, None, None]
    assert 0.1 < is_object.float().mean() < 0.9
    decoded, seen = seen_by("context_masking", 1)
    torch.testing.assert_close(seen, decoded[:, None] * is_object)
    decoded, seen = seen_by("object_masking", 1)
    torch.testing.assert_close(seen, decoded[:, None] * ~is_object)


def test_guided_cutout_cuts_boxes_from_objects() -> None:
    decoders = AuxiliaryDecoders(1, 1, counts={"guided_cutout": 5}, background=1)
    nn.init.ones_(decoders.weight)
    decoded = torch.ones(2, 1, 12, 12)
    objects = torch.zeros(2, 12, 12)
    objects[0, 1:11, 2:7] = 1
    inside = torch.ones(2, 12, 12, dtype=torch.bool)
    probabilities = torch.stack([objects, 0.5 * torch.ones_like(objects)], 1)[:, :, :, :]
    decoders.weight.data = torch.ones(5, 2, 1)
    decoders.bias.data = torch.zeros(10)
    answers = decoders(decoded, probabilities, inside, torch.Generator().manual_seed(0))
    hidden = (answers == 0).all(2)
    assert hidden[0].sum((1, 2)).tolist() == [4 * 2] * 5
    assert not hidden[0, :, :, 7:].any()
    assert not hidden[1].any()


def test_vat_moves_the_map_by_its_radius_to_where_the_decoders_own_answer_changes_most() -> None:
    decoded, seen = seen_by("vat", 3, radius=0.7)
    moved = seen - decoded[:, None]
    torch.testing.assert_close(moved.flatten(2).norm(dim=2), torch.full((2, 3), 0.7), rtol=1e-4, atol=1e-4)
    decoders = AuxiliaryDecoders(4, 2, counts={"vat": 1}, radius=2.0)
    # Two classes in one cell: the answer depends on the difference of their weights alone.
    nn.init.normal_(decoders.weight, generator=torch.Generator().manual_seed(0))
    cell = torch.rand(3, 4, 1, 1, generator=torch.Generator().manual_seed(1))
    chances, inside = torch.full((3, 2, 1, 1), 0.5), torch.ones(3, 1, 1, dtype=torch.bool)
    answers = decoders(cell, chances, inside, torch.Generator().manual_seed(2))
    along = F.normalize((decoders.weight[0, 0] - decoders.weight[0, 1]).detach(), dim=0)
    plain = plain_answers(decoders, cell[:, None])
    for image in range(3):
        change = (answers - plain)[image, 0, :, 0, 0]
        expected = 2 * decoders.weight[0] @ along
        torch.testing.assert_close(change.abs(), expected.abs(), rtol=1e-2, atol=1e-2)


def test_all_kinds_together_answer_like_convolutions_of_perturbed_maps() -> None:
    """Hidden cells and channels are read back with weights that show them, then convolved plainly."""
    decoders = decoders_of(**KINDS)
    decoded, probabilities, inside = a_map()
    answers = decoders(decoded, probabilities, inside, torch.Generator().manual_seed(9))
    showing = AuxiliaryDecoders(5, 5, counts=KINDS, background=2)
    showing.weight.data.copy_(torch.eye(5))
    wide = F.pad(probabilities, (0, 0, 0, 0, 0, 2))
    maps = showing(decoded, wide, inside, torch.Generator().manual_seed(9)).detach()
    plain = plain_answers(decoders, maps)
    is_vat = torch.tensor([kind == "vat" for kind, count in decoders.counts.items() for _ in range(count)])
    torch.testing.assert_close(answers[:, ~is_vat], plain[:, ~is_vat], rtol=1e-4, atol=1e-4)
    assert answers.shape == (2, sum(KINDS.values()), 3, 6, 7)


def test_decoders_that_are_equal_to_the_main_one_and_see_all_cost_nothing(
    tiny_network, toy_batch, same_view, generator, monkeypatch
) -> None:
    monkeypatch.setattr(auxiliary_decoders, "_NOISE", 0.0)
    method = new_cct(tiny_network(), same_view, **(NO_DECODERS | {"num_feature_noise": 3}))
    method.decoders.weight.data.copy_(method.student.classifier.weight[:, :, 0, 0])
    method.decoders.bias.data.copy_(method.student.classifier.bias.repeat(3))
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert output.parts["unsupervised"].item() == pytest.approx(0, abs=1e-10)
    assert output.loss.item() == pytest.approx(output.parts["supervised"].item())


def test_the_loss_by_hand_without_padding(tiny_network, toy_batch, same_view, generator) -> None:
    student = tiny_network(probabilities=(0.75, 0.25))
    method = new_cct(student, same_view, background=1, **(NO_DECODERS | {"num_context_masking": 2}))
    nn.init.zeros_(method.decoders.weight)
    method.decoders.bias.data = torch.tensor([0.5, 0.5, 0.25, 0.75]).log()
    inside = torch.ones(2, 32, 32, dtype=torch.bool)
    inside[1] = False
    unlabelled = replace(toy_batch(visible=False), inside=inside)
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    # squared differences of both classes: 0.25 ** 2 of one decoder, 0.5 ** 2 of the other
    assert output.parts["unsupervised"].item() == pytest.approx((0.0625 + 0.25) / 2, rel=1e-5)
    supervised = output.parts["supervised"].item()
    assert output.loss.item() == pytest.approx(supervised + 30 * 0.15625, rel=1e-5)
    _, (on_unlabelled, own) = output.pixels
    assert on_unlabelled.logits.requires_grad
    assert not own.labels[0].any()
    assert (own.labels[1] == IGNORE).all()
    torch.testing.assert_close(own.confidence[0], torch.full((32, 32), 0.75))


@pytest.mark.parametrize("student_pass", ["separate", "together"])
def test_disagreement_teaches_decoders_and_encoder_and_not_the_main_classifier(
    tiny_network, toy_batch, same_view, generator, student_pass
) -> None:
    method = new_cct(tiny_network(), same_view, student_pass=student_pass)
    nn.init.normal_(method.decoders.weight)
    hidden = toy_batch(visible=False)
    method(hidden, toy_batch(seed=1, visible=False), iteration=0, generator=generator).loss.backward()
    assert all(parameter.grad.any() for parameter in method.decoders.parameters())
    assert all(per_decoder.any() for per_decoder in method.decoders.weight.grad)
    assert method.student.body[0].weight.grad.any()
    assert not any(parameter.grad.any() for parameter in method.student.classifier.parameters())


def test_both_passes_read_the_map_of_the_unlabelled_images(tiny_network, toy_batch, same_view) -> None:
    found = {}
    for student_pass in ("separate", "together"):
        method = new_cct(tiny_network(), same_view, student_pass=student_pass).eval()
        nn.init.normal_(method.decoders.weight, generator=torch.Generator().manual_seed(0))
        drawn = torch.Generator().manual_seed(1)
        output = method(toy_batch(seed=1), toy_batch(seed=2, visible=False), iteration=0, generator=drawn)
        found[student_pass] = output.parts["unsupervised"]
    assert found["separate"] > 0
    torch.testing.assert_close(found["separate"], found["together"])


def test_the_ramp_is_a_sigmoid_and_decoders_rest_before_it(
    tiny_network, toy_batch, same_view, generator
) -> None:
    method = new_cct(tiny_network(), same_view, supervised_start=2, ramp=4)
    assert [method.uses_unlabelled(t) for t in range(4)] == [False, False, True, True]
    resting = method(toy_batch(), None, iteration=0, generator=generator)
    resting.loss.backward()
    assert resting.parts.keys() == {"supervised"}
    assert all(p.grad is not None and not p.grad.any() for p in method.decoders.parameters())
    for iteration, weight in ((2, math.exp(-5)), (4, math.exp(-1.25)), (6, 1.0)):
        output = method(toy_batch(), toy_batch(visible=False), iteration=iteration, generator=generator)
        supervised, unsupervised = (part.item() for part in output.parts.values())
        assert output.loss.item() == pytest.approx(supervised + 30 * weight * unsupervised, rel=1e-5)


def test_adam_counts_no_step_in_which_the_decoders_rest(
    tiny_network, toy_batch, same_view, generator
) -> None:
    student = tiny_network()
    method = CCT(
        student, same_view, 2, 0, lambda network: torch.optim.Adam(network.parameters()), supervised_start=2
    )
    for iteration in range(3):
        unlabelled = toy_batch(visible=False) if method.uses_unlabelled(iteration) else None
        method(toy_batch(), unlabelled, iteration=iteration, generator=generator).loss.backward()
        method.optimiser.step()
        method.after_update(iteration)
    assert {state["step"].item() for state in method.optimiser.state.values()} == {1}


def test_the_main_decoder_is_evaluated_and_an_optimiser_like_the_students_moves_the_others(
    tiny_network, same_view
) -> None:
    method = new_cct(tiny_network(), same_view)
    assert method.evaluation_model is method.student
    (optimiser,) = method.own_optimisers().values()
    moved = {id(parameter) for group in optimiser.param_groups for parameter in group["params"]}
    assert moved == {id(parameter) for parameter in method.decoders.parameters()}
    assert sum(method.decoders.counts.values()) == 30


def test_decoders_learn_at_the_rate_of_heads(tiny_network, same_view) -> None:
    method = new_cct(tiny_network(), same_view)
    (group,) = parameter_groups(method.decoders, lr=0.1, weight_decay=0.01, head_lr_factor=10)
    assert group["lr"] == pytest.approx(1)
    groups = parameter_groups(method.decoders, lr=0.1, weight_decay=0.01, decay_norms_and_biases=False)
    assert [one["weight_decay"] for one in groups] == [0.01, 0]


def test_known_labels_and_padding_move_with_the_view(tiny_network, toy_batch, generator) -> None:
    method = new_cct(tiny_network(norm=False), StrongView(scale=(0.5, 0.5), mix=no_mix, flip=0))
    unlabelled = replace(toy_batch(visible=False), sparse=True)
    unlabelled.labels[:, 10, 4] = 1
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    _, own = output.mixed
    assert (own.labels != IGNORE).float().mean() == 0.25
    assert own.labels[:, 5, 2].tolist() == [1, 1]
    assert own.confidence[:, 5, 2].tolist() == [1, 1]


def test_without_a_background_kinds_that_look_at_objects_are_left_out_and_said(
    tiny_network, same_view
) -> None:
    method = new_cct(tiny_network(), same_view, background=None)
    assert method.decoders.counts == {"dropout": 6, "feature_drop": 6, "feature_noise": 6, "vat": 2}
    (note,) = method.notes
    assert note == (
        "cct leaves out context_masking, guided_cutout, object_masking, which look at objects: no class is "
        "named background"
    )
    assert not new_cct(tiny_network(), same_view).notes


def test_what_cannot_serve_is_refused(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match=r"all their numbers are 0: raise method.num_dropout"):
        new_cct(tiny_network(), same_view, **NO_DECODERS)
    guided = NO_DECODERS | {"num_object_masking": 2}
    with pytest.raises(UserError, match=r"are 0 but those that need a class named background"):
        new_cct(tiny_network(), same_view, background=None, **guided)
    with pytest.raises(UserError, match=r"Conv2d does not show it: wrap it with recoseg.with_representation"):
        new_cct(nn.Conv2d(3, 2, 1), same_view)


def test_with_mixed_precision_the_step_is_the_same_to_that_precision(
    tiny_network, same_view, require_same_in_half_precision
) -> None:
    method = new_cct(tiny_network(norm=False), same_view)
    nn.init.normal_(method.decoders.weight)
    require_same_in_half_precision(method)
