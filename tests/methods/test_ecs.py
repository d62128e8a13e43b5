"""ECS: closed forms with a rigged corrector, its widened network, and who learns from what."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.ecs import ECS
from recoseg.methods.parts.corrector import Corrector
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.types import IGNORE, Batch

SGD = partial(torch.optim.SGD, lr=0.1)
NETWORKS = {"deeplab_v2": DeepLabV2, "deeplab_v3_plus": partial(DeepLabV3Plus, decoder_width=8)}


def widened(name: str = "deeplab_v2", encoder: str = "resnet10_small", num_classes: int = 2) -> Corrector:
    torch.manual_seed(3)
    network = NETWORKS[name](encoder=ENCODERS[encoder](output_stride=16), num_classes=num_classes + 1)
    return Corrector(network, num_classes)


def first_layer(corrector: Corrector) -> nn.Conv2d:
    return next(module for module in corrector.network.encoder.modules() if isinstance(module, nn.Conv2d))


class Rigged(nn.Module):
    """Says the same of every pixel, whatever it sees."""

    def __init__(self, *probabilities: float) -> None:
        super().__init__()
        self.network = nn.Conv2d(1, len(probabilities), 1)
        nn.init.zeros_(self.network.weight)
        self.network.bias.data = torch.tensor(probabilities).log()

    def forward(self, images: Tensor, probabilities: Tensor) -> Tensor:
        return self.network(0 * probabilities.sum(1, keepdim=True))


def ecs(student: nn.Module, corrector: nn.Module | None = None, **settings: float) -> ECS:
    plain = StrongView(mix=no_mix, colours=[], flip=0)
    return ECS(student, plain, corrector or widened(), lambda network: SGD(network.parameters()), **settings)


def flat_batch(count: int = 2, *, label: int = IGNORE) -> Batch:
    labels = torch.full((count, 32, 32), label)
    return Batch(torch.full((count, 3, 32, 32), 0.5), labels, tuple(f"flat {n}" for n in range(count)))


def step(method: ECS, labelled: Batch, unlabelled: Batch | None, iteration: int = 0):
    return method(labelled, unlabelled, iteration=iteration, generator=torch.Generator())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("encoder", ["mobilenet_v2", "efficientnet_lite0", "resnet10_small", "resnet50_deep"])
def test_a_widened_network_starts_as_the_one_it_was(name, encoder) -> None:
    corrector = widened(name, encoder, 3).eval().double()
    torch.manual_seed(3)
    plain = NETWORKS[name](encoder=ENCODERS[encoder](output_stride=16), num_classes=4).eval().double()
    images, probabilities = torch.rand(2, 3, 2, 64, 64, dtype=torch.float64).transpose(1, 2).unbind()
    with torch.no_grad():
        torch.testing.assert_close(corrector(images, probabilities), plain(images).logits)
    corrector.train()(images, probabilities).sum().backward()
    first = first_layer(corrector)
    assert first.weight.shape[1] == 6
    assert all(first.weight.grad[:, channel].any() for channel in range(6))


def test_a_network_that_cannot_be_widened_is_refused(tiny_network) -> None:
    with pytest.raises(UserError, match="to read predictions, and TinyNetwork cannot: set model to"):
        Corrector(tiny_network(), 2)


@pytest.mark.parametrize(
    ("said", "label", "weight"),
    [((0.1, 0.1, 0.1, 0.7), 1, 0.7), ((0.1, 0.1, 0.7, 0.1), 2, 0.7), ((0.6, 0.1, 0.2, 0.1), 0, 0.6)],
    ids=["right: its own", "amended", "amended to the first"],
)
def test_an_unlabelled_pixel_has_the_correctors_class_or_the_students_where_that_is_right(
    tiny_network, said, label, weight
) -> None:
    probabilities = (0.2, 0.5, 0.3)
    method = ecs(tiny_network(probabilities=probabilities), Rigged(*said))
    output = step(method, flat_batch(label=0), flat_batch(3))
    _, pseudo = output.mixed
    assert pseudo.labels.unique().tolist() == [label]
    assert pseudo.confidence.unique().tolist() == pytest.approx([weight])
    expected = -weight * math.log(probabilities[label])
    assert output.parts["correction"].item() == pytest.approx(expected, rel=1e-5)


def test_parts_on_labelled_images_have_closed_forms(tiny_network) -> None:
    method = ecs(tiny_network(probabilities=(0.2, 0.5, 0.3)), Rigged(0.1, 0.2, 0.3, 0.4))
    labelled = flat_batch(label=1)  # there the student is right
    labelled.labels[0, :8] = 2
    labelled.labels[1, :8] = 0
    labelled.labels[1, 8:12] = IGNORE
    output = step(method, labelled, None)
    parts = {name: part.item() for name, part in output.parts.items()}
    assert parts["approval"] == pytest.approx(-math.log(0.4), rel=1e-5)
    right, twos, zeros = 2 * 24 - 4, 8, 8  # rows of labelled pixels
    wrong = twos * math.log(0.3) + zeros * math.log(0.1)
    assert parts["corrector"] == pytest.approx(-(right * math.log(0.4) + wrong) / 60, rel=1e-5)
    total = parts["supervised"] + 0.1 * parts["approval"] + parts["corrector"]
    assert output.loss.item() == pytest.approx(total, rel=1e-6)
    with_others = step(method, labelled, flat_batch())
    total += with_others.parts["correction"].item()
    assert with_others.loss.item() == pytest.approx(total, rel=1e-5)


def test_without_labels_nothing_is_learned(tiny_network) -> None:
    method = ecs(tiny_network(probabilities=(0.2, 0.8)), Rigged(0.3, 0.2, 0.5))
    nothing = step(method, flat_batch(), None)  # no label at all
    assert {name: part.item() for name, part in nothing.parts.items()} == dict.fromkeys(nothing.parts, 0)


def test_padding_is_in_no_mean(tiny_network) -> None:
    method = ecs(tiny_network(probabilities=(0.2, 0.8)), Rigged(0.3, 0.2, 0.5))
    shown = torch.ones(2, 32, 32, dtype=torch.bool)
    shown[:, 5:] = False
    output = step(method, flat_batch(label=1), replace(flat_batch(), inside=shown))
    assert output.parts["correction"].item() == pytest.approx(-0.5 * math.log(0.8), rel=1e-5)
    _, pseudo = output.mixed
    assert torch.equal(pseudo.labels != IGNORE, shown)
    assert pseudo.confidence[~shown].max() == 0
    empty = step(method, flat_batch(), replace(flat_batch(), inside=torch.zeros_like(shown)))
    assert empty.parts["correction"].item() == 0


def looking(corrector: Corrector) -> Corrector:
    """One that has learned to look at the student's answers."""
    first = first_layer(corrector)
    torch.manual_seed(4)
    nn.init.normal_(first.weight, std=0.1)
    return corrector


def gradients(method: ECS, *batches: Batch | None) -> dict[str, Tensor]:
    method.zero_grad()
    step(method, *batches).loss.backward()
    return {name: parameter.grad.clone() for name, parameter in method.named_parameters()}


def of(found: dict[str, Tensor], network: str) -> list[Tensor]:
    return [gradient for name, gradient in found.items() if name.startswith(f"{network}.")]


def test_what_the_student_learns_from_teaches_the_corrector_nothing(tiny_network, toy_batch) -> None:
    method = ecs(tiny_network(norm=False), looking(widened()))
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    plain = gradients(method, labelled, unlabelled)
    assert all(gradient.any() for gradient in of(plain, "corrector"))
    method.approval_weight = 1e4
    heavy = gradients(method, labelled, unlabelled)
    for before, after in zip(of(plain, "corrector"), of(heavy, "corrector"), strict=True):
        assert torch.equal(before, after)
    assert any(
        not torch.equal(*both) for both in zip(of(plain, "student"), of(heavy, "student"), strict=True)
    )
    alone = gradients(method, labelled, None)  # nor do unlabelled images
    for before, after in zip(of(alone, "corrector"), of(heavy, "corrector"), strict=True):
        torch.testing.assert_close(before, after)


def test_what_the_corrector_learns_from_teaches_the_student_nothing(tiny_network, toy_batch) -> None:
    method, labelled = ecs(tiny_network(), looking(widened()), approval_weight=0), toy_batch()
    found = gradients(method, labelled, None)
    loss = method.supervised_step(labelled).loss
    expected = torch.autograd.grad(loss, list(method.student.parameters()))
    for gradient, plain in zip(of(found, "student"), expected, strict=True):
        torch.testing.assert_close(gradient, plain)
    assert all(gradient.any() for gradient in of(found, "corrector"))


def test_statistics_of_a_step_enter_batch_norm_once(tiny_network, toy_batch) -> None:
    method = ecs(tiny_network())
    step(method, toy_batch(), toy_batch(visible=False))
    counters = [b for name, b in method.named_buffers() if name.endswith("num_batches_tracked")]
    assert len(counters) > 5
    assert {counter.item() for counter in counters} == {1}
    assert all(module.training for module in method.modules())  # labels are given in eval mode, and then?


def test_unlabelled_images_join_after_the_start_and_the_corrector_learns_before(
    tiny_network, toy_batch
) -> None:
    method = ecs(tiny_network(), supervised_start=2)
    assert [method.uses_unlabelled(iteration) for iteration in (1, 2)] == [False, True]
    output = step(method, toy_batch(), None, 1)
    output.loss.backward()
    assert output.parts.keys() == {"supervised", "approval", "corrector"}
    assert all(parameter.grad is not None for parameter in method.parameters())


def test_steps_of_its_own_optimiser_move_only_the_corrector(tiny_network, toy_batch) -> None:
    method = ecs(tiny_network())
    assert method.own_optimisers().keys() == {"corrector"}
    before = {name: tensor.clone() for name, tensor in method.named_parameters()}
    gradients(method, toy_batch(), toy_batch(visible=False))
    method.own_optimisers()["corrector"].step()
    for name, parameter in method.named_parameters():
        assert torch.equal(parameter, before[name]) != name.startswith("corrector."), name


def test_a_corrector_learns_to_find_what_a_poor_student_gets_wrong(tiny_network, toy_batch) -> None:
    """The student says class 1 of everything: every pixel of class 0 must be found."""
    torch.manual_seed(0)
    method = ecs(tiny_network(probabilities=(0.1, 0.9)), widened("deeplab_v3_plus"), approval_weight=0)
    optimiser = torch.optim.Adam(method.corrector.parameters(), lr=1e-3)
    for iteration in range(25):
        method.zero_grad()
        step(method, toy_batch(4, seed=iteration % 4), None).loss.backward()
        optimiser.step()
    unseen = toy_batch(4, seed=50)
    output = step(method, unseen, replace(unseen, labels=torch.full_like(unseen.labels, IGNORE)))
    _, pseudo = output.mixed
    wrong = unseen.labels == 0
    assert (pseudo.labels == unseen.labels)[wrong].float().mean() > 0.7
    assert (pseudo.labels == unseen.labels).float().mean() > 0.7


def test_a_corrector_that_cannot_tell_right_from_wrong_leaves_a_student_that_is_mostly_right_alone(
    tiny_network,
) -> None:
    """It sees all pixels alike, of which the student gets a fifth wrong: the best answer is "right"."""
    method = ecs(tiny_network(probabilities=(0.2, 0.8)), Rigged(0.4, 0.3, 0.3))
    labelled = flat_batch(label=1)
    labelled.labels[:, :6] = 0
    optimiser = torch.optim.SGD(method.corrector.parameters(), lr=1)
    for _ in range(100):
        method.zero_grad()
        step(method, labelled, None).loss.backward()
        optimiser.step()
    _, pseudo = step(method, labelled, flat_batch()).mixed
    assert pseudo.labels.unique().tolist() == [1]
    assert pseudo.confidence.unique().tolist() == pytest.approx([26 / 32], abs=0.01)


def test_the_contrast_reads_labels_first_and_then_corrected_ones(tiny_network, toy_batch) -> None:
    method = ecs(tiny_network(features=4), Rigged(0.6, 0.1, 0.3))
    labelled = toy_batch()
    output = step(method, labelled, toy_batch(visible=False))
    (predicted, labels), = output.pixels  # fmt: skip
    assert predicted.features is not None
    assert torch.equal(labels.labels[:2], labelled.labels)
    assert labels.labels[2:].unique().tolist() == [0]
    assert labels.confidence[2:].unique().tolist() == pytest.approx([0.6])


def test_what_the_corrector_says_of_an_image_depends_on_no_other(tiny_network, toy_batch) -> None:
    method = ecs(tiny_network(), looking(widened())).train()
    images = toy_batch(4).images
    said = torch.rand(4, 2, 32, 32, generator=torch.Generator().manual_seed(0)).softmax(1)
    whole, alone = method._corrected(images, said), method._corrected(images[:1], said[:1])
    assert torch.allclose(alone.confidence[0], whole.confidence[0], atol=1e-5)
    assert method.corrector.training


def test_losses_are_float32_where_the_network_answers_in_16_bits(
    tiny_network, toy_batch, needs_16_bits
) -> None:
    needs_16_bits("bfloat16")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = step(ecs(tiny_network()), toy_batch(), toy_batch(visible=False))
    output.loss.backward()
    assert {part.dtype for part in output.parts.values()} == {torch.float32}


def test_single_labelled_pixels_are_refused(tiny_network, toy_batch) -> None:
    with pytest.raises(UserError, match="ecs needs fully labelled images"):
        step(ecs(tiny_network()), replace(toy_batch(), sparse=True), None)
