"""PseudoSeg: each part of its loss by hand, and which part teaches what."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg import RegionalContrast
from recoseg.augment.colour import ColourJitter
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.config.model_settings import DeepLabV2Model, DeepLabV3PlusModel
from recoseg.errors import UserError
from recoseg.methods.parts.activation_maps import ActivationMaps, map_channels
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.pseudoseg import STRONG_JITTER, PseudoSeg, sharpened_mean
from recoseg.models.build import build_model
from recoseg.types import IGNORE, Batch, StepOutput


def column(*values: float) -> Tensor:
    """(1, K, 1, 1)."""
    return torch.tensor(values, dtype=torch.float)[None, :, None, None]


def test_the_target_of_two_answers_is_their_sharpened_mean() -> None:
    target = sharpened_mean(column(2, 0), column(0, 0), None, temperature=0.5)
    assert target.flatten().tolist() == pytest.approx([0.832, 0.168], abs=1e-3)
    unsharpened = sharpened_mean(column(2, 0), column(0, 0), None, temperature=1)
    assert unsharpened.flatten().tolist() == pytest.approx([0.690, 0.310], abs=1e-3)


def test_a_low_temperature_leaves_the_likeliest_class_alone() -> None:
    """Of 16 classes, of which none has more than a tenth: the power of 100 of each is 0 as a float."""
    first = torch.zeros(1, 16, 1, 1)
    first[0, 3] = 0.1
    target = sharpened_mean(first, torch.zeros_like(first), None, temperature=0.01)
    assert target.sum().item() == pytest.approx(1)
    assert target.argmax(1).item() == 3
    assert target[0, 3].item() > 0.99


def test_the_scale_of_the_logits_is_that_of_the_image_without_its_padding() -> None:
    first = torch.tensor([[[[2.0, 9.0]], [[0.0, 0.0]]]])  # (1, 2, 1, 2)
    inside = torch.tensor([[[True, False]]])
    found = sharpened_mean(first, torch.zeros_like(first), inside, temperature=0.5)[..., 0]
    assert found.flatten().tolist() == pytest.approx([0.832, 0.168], abs=1e-3)
    larger = sharpened_mean(7 * first, torch.zeros_like(first), inside, temperature=0.5)[..., 0]
    torch.testing.assert_close(larger, found)


def even(maps: ActivationMaps) -> ActivationMaps:
    """Attends to all cells alike; its last layer leaves all as it is."""
    for layer in (maps.query, maps.key):
        nn.init.zeros_(layer.weight)
    convolution = maps.refine[0]
    assert isinstance(convolution, nn.Conv2d)
    assert convolution.bias is not None
    nn.init.zeros_(convolution.bias)
    convolution.weight.data = torch.eye(convolution.out_channels)[:, :, None, None]
    maps.refine[1] = nn.Identity()  # type: ignore[assignment]
    return maps


def by_hand(background: int | None) -> tuple[ActivationMaps, Tensor]:
    """Two cells of two channels; class a reads channel 0, class b channel 1."""
    num_classes = 2 if background is None else 3
    maps = even(ActivationMaps([2], num_classes, background=background))
    maps.classifier.weight.data = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    nn.init.zeros_(maps.classifier.bias)
    return maps, torch.tensor([[[[4.0, 1.0]], [[-3.0, 2.0]]]])  # (1, 2, 1, 2)


def test_activations_are_scaled_and_each_cell_adds_what_it_attends_to() -> None:
    maps, deepest = by_hand(background=None)
    found = maps([deepest], None, torch.tensor([[True, True]]))[0, :, 0]  # (K, 2)
    # a: (4, 1) / 4 = (1, .25), mean .625; b: relu(3, -2) / 3 = (1, 0), mean .5
    torch.testing.assert_close(found, torch.tensor([[1.625, 0.875], [1.5, 0.5]]))
    absent = maps([deepest], None, torch.tensor([[True, False]]))[0, :, 0]
    torch.testing.assert_close(absent, torch.tensor([[1.625, 0.875], [0.0, 0.0]]))


@pytest.mark.parametrize("background", [0, 1, 2])
def test_the_background_is_what_the_other_classes_leave(background: int) -> None:
    maps, deepest = by_hand(background)
    found = maps([deepest], None, torch.tensor([[True, True]]))[0, :, 0]
    torch.testing.assert_close(found[background], torch.tensor([0.375, 1.125]))  # 2 - 1.625, 2 - .875
    others = [k for k in range(3) if k != background]
    torch.testing.assert_close(found[others], torch.tensor([[1.625, 0.875], [1.5, 0.5]]))
    labels = torch.full((1, 2, 2), others[1])
    assert maps.present_in(labels).tolist() == [[False, True]]


def test_padding_is_neither_attended_to_nor_activated_nor_averaged() -> None:
    maps, deepest = by_hand(background=None)
    inside = torch.tensor([[[True, False]]])
    found = maps([deepest], inside, torch.tensor([[True, True]]))[0, :, 0, 0]
    torch.testing.assert_close(found, torch.tensor([2.0, 2.0]))
    torch.testing.assert_close(maps.scores(deepest, inside), torch.tensor([[4.0, 3.0]]))
    torch.testing.assert_close(maps.scores(deepest, None), torch.tensor([[2.5, 0.5]]))


def test_attention_is_the_softmax_of_products_over_the_root_of_their_length() -> None:
    torch.manual_seed(0)
    maps = even(ActivationMaps([3, 4], 2))
    nn.init.normal_(maps.query.weight)
    nn.init.normal_(maps.key.weight)
    fine, deep = torch.rand(1, 3, 2, 3), torch.rand(1, 4, 2, 3)
    found = maps([torch.rand(1, 9, 4, 6), fine, deep], None, torch.ones(1, 2, dtype=torch.bool))
    read = torch.cat([fine, deep], 1).flatten(2)[0]  # (7, 6): the last two maps
    queries, keys = (layer.weight[:, :, 0, 0] @ read for layer in (maps.query, maps.key))  # (128, 6)
    attention = (queries.t() @ keys / math.sqrt(128)).softmax(1)
    raw = (maps.classifier.weight @ deep.flatten(2)[0]).relu()  # (2, 6)
    activation = raw / raw.amax(1, keepdim=True).clamp(min=1e-12)
    torch.testing.assert_close(
        found[0].flatten(1), activation + activation @ attention.t(), rtol=1e-4, atol=1e-5
    )


def method_of(student: nn.Module, **settings: float) -> PseudoSeg:
    torch.manual_seed(1)
    maps = ActivationMaps([8], 2)
    view = WeakToStrong(flip=0, colours=[STRONG_JITTER], cutmix=0)
    return PseudoSeg(student, maps, torch.optim.SGD(maps.parameters(), lr=0.1), view, **settings)  # type: ignore[arg-type]


def test_the_loss_is_the_sum_of_its_parts_and_each_is_what_it_says(
    tiny_network, toy_batch, generator
) -> None:
    method = method_of(tiny_network(norm=False), cut=0).eval()
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=generator)
    parts = {name: part.item() for name, part in output.parts.items()}
    assert list(parts) == ["supervised", "attention", "classification", "consistency"]
    assert output.loss.item() == pytest.approx(sum(parts.values()), rel=1e-6)
    deepest = method.student.encode(labelled.images).maps[-1]
    scores = method.activation_maps.classifier(deepest.mean((2, 3)))
    assert parts["classification"] == pytest.approx(  # both classes are in both images
        F.binary_cross_entropy_with_logits(scores, torch.ones(2, 2)).item(), rel=1e-5
    )
    on_strong, pseudo = output.pixels[1]
    target = method._target(unlabelled)
    expected = F.cross_entropy(on_strong.logits, target)  # soft labels
    assert parts["consistency"] == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(
        pseudo.confidence, target.amax(1).repeat_interleave(2, 1).repeat_interleave(2, 2)
    )
    assert torch.equal(pseudo.labels, target.argmax(1).repeat_interleave(2, 1).repeat_interleave(2, 2))


def test_what_is_cut_out_or_padding_is_neither_learned_from_nor_a_pseudo_label(
    tiny_network, toy_batch, generator
) -> None:
    method = method_of(tiny_network(norm=False), cut=0.5)
    unlabelled = toy_batch(seed=1, visible=False)
    inside = torch.ones_like(unlabelled.labels, dtype=torch.bool)
    inside[:, :, 20:] = False
    output = method(toy_batch(), replace(unlabelled, inside=inside), iteration=0, generator=generator)
    strong, pseudo = output.mixed
    learned = pseudo.labels != IGNORE
    assert not learned[~inside].any()
    holes = (strong == torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)).all(1)
    assert holes.sum((1, 2)).tolist() == [256, 256]  # 16 x 16
    assert torch.equal(learned, inside & ~holes)
    # what lies in padding changes nothing, but for BatchNorm's statistics
    method.activation_maps.refine[1] = nn.Identity()
    poisoned = replace(unlabelled, inside=inside, images=unlabelled.images.where(inside[:, None], 0.7))
    with torch.no_grad():
        found = [method._target(batch) for batch in (replace(unlabelled, inside=inside), poisoned)]
    torch.testing.assert_close(found[0][:, :, :, :9], found[1][:, :, :, :9])


@pytest.mark.parametrize("present_above", [0.0, 1.0])
def test_targets_by_hand(tiny_network, toy_batch, present_above) -> None:
    """Of two images, each scaled by itself; with no class present, activation maps say nothing."""
    method = method_of(tiny_network(norm=False), present_above=present_above)
    even(method.activation_maps)
    weights = torch.rand(2, 8, generator=torch.Generator().manual_seed(2))
    method.activation_maps.classifier.weight.data = weights
    images = torch.cat([toy_batch(1).images, 3 * toy_batch(1, seed=1).images])
    target = method._target(Batch(images, torch.full((2, 32, 32), IGNORE), ("a", "b")))
    for number in range(2):
        encoded = method.student.encode(images[number : number + 1])
        deepest, logits = encoded.maps[-1], method.student.decode(encoded).logits
        activation = torch.einsum("kc,bchw->bkhw", weights, deepest).relu()
        activation = activation / activation.amax((2, 3), keepdim=True)
        activation = activation + activation.mean((2, 3), keepdim=True)  # what an even attention adds
        if present_above == 1:
            activation = torch.zeros_like(activation)
        scale = torch.cat([logits, activation]).square().mean().sqrt()
        mean = sum((one / scale).softmax(1) for one in (logits, activation)) / 2
        expected = mean.square() / mean.square().sum(1, keepdim=True)  # a temperature of 0.5
        torch.testing.assert_close(target[number], expected[0], rtol=1e-3, atol=1e-4)


def test_targets_take_the_statistics_of_the_batch(tiny_network, toy_batch) -> None:
    method = method_of(tiny_network())
    unlabelled = toy_batch(visible=False)
    expected = method._target(unlabelled)
    method.student.body[1].running_mean.fill_(3)
    method.activation_maps.refine[1].running_var.fill_(9)
    torch.testing.assert_close(method._target(unlabelled), expected)


def test_attention_is_the_cross_entropy_of_activation_maps_of_the_classes_in_the_mask(
    tiny_network, toy_batch, generator
) -> None:
    method = method_of(tiny_network(norm=False)).eval()
    labelled = toy_batch()
    labelled.labels[1] = 0  # the second image shows one class alone
    output = method(labelled, toy_batch(seed=1, visible=False), iteration=0, generator=generator)
    present = torch.tensor([[True, True], [True, False]])
    logits = method.activation_maps(method.student.encode(labelled.images).maps, None, present)
    logits = F.interpolate(logits, (32, 32), mode="bilinear")
    expected = F.cross_entropy(logits, labelled.labels).item()
    assert output.parts["attention"].item() == pytest.approx(expected, rel=1e-4)
    method.class_weights = weights = torch.tensor([1.0, 3.0])
    output = method(labelled, toy_batch(seed=1, visible=False), iteration=0, generator=generator)
    expected = F.cross_entropy(logits, labelled.labels, weights).item()
    assert output.parts["attention"].item() == pytest.approx(expected, rel=1e-4)


def test_known_pixels_of_partly_labelled_images_are_their_own_target(tiny_network, toy_batch) -> None:
    unlabelled = toy_batch(seed=1, visible=False)
    unlabelled.labels[0, 6, 9] = 1
    target = method_of(tiny_network())._target(replace(unlabelled, sparse=True))
    assert target[0, :, 3, 4].tolist() == [0, 1]
    assert 0 < target[1, 0, 3, 4] < 1


def test_both_views_are_of_the_image_as_it_was_scaled_and_flipped(tiny_network, toy_batch, generator) -> None:
    method = method_of(tiny_network(norm=False), cut=0)
    method.views = WeakToStrong(scale=(0.5, 0.5), flip=1, colours=(), cutmix=0)
    unlabelled = toy_batch(seed=1, visible=False)
    unlabelled.labels[0, 8, 4] = 1
    seen = method.views.weak(replace(unlabelled, sparse=True), generator)
    assert seen.inside is not None
    assert seen.inside[:, :16, 16:].all()  # half the size, at the top right since it is flipped
    assert seen.inside.sum() == 2 * 16 * 16
    assert (seen.labels != IGNORE).nonzero().tolist() == [[0, 4, 29]]
    strong, uncut = method._strongly_seen(seen, generator)
    assert torch.equal(strong, seen.images)
    assert torch.equal(uncut, seen.inside)
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    assert (output.mixed[1].labels != IGNORE).sum() == 2 * 16 * 16


def gradients(method: PseudoSeg, loss: Tensor) -> set[str]:
    """Names of parameters that a loss reaches."""
    method.zero_grad()
    loss.backward(retain_graph=True)
    return {name for name, p in method.named_parameters() if p.grad is not None and p.grad.any()}


def test_each_part_teaches_what_it_should(tiny_network, toy_batch, generator, monkeypatch) -> None:
    parts, plus = {}, StepOutput.plus

    def kept(output, name, part, *, weight=1.0):
        parts[name] = part
        return plus(output, name, part, weight=weight)

    monkeypatch.setattr(StepOutput, "plus", kept)
    method = method_of(tiny_network())
    method(toy_batch(), toy_batch(seed=1, visible=False), iteration=0, generator=generator)
    body = {"student.body.0.weight", "student.body.1.weight", "student.body.1.bias"}
    found = {name: gradients(method, part) - {"student.body.0.bias"} for name, part in parts.items()}
    attention = {"query.weight", "key.weight", "refine.0.weight", "refine.1.weight", "refine.1.bias"}
    assert found["attention"] - {"activation_maps.refine.0.bias"} == {
        f"activation_maps.{name}" for name in attention
    }
    assert found["classification"] == body | {
        "activation_maps.classifier.weight", "activation_maps.classifier.bias"
    }  # fmt: skip
    assert found["consistency"] == body | {"student.classifier.weight", "student.classifier.bias"}


def test_targets_leave_the_networks_as_they_are(tiny_network, toy_batch) -> None:
    method = method_of(tiny_network()).train()
    before = {name: value.clone() for name, value in method.state_dict().items()}
    target = method._target(toy_batch(visible=False))
    assert not target.requires_grad
    assert all(torch.equal(before[name], value) for name, value in method.state_dict().items())
    assert all(module.training for module in method.modules())


def test_the_contrast_takes_the_students_answer_to_the_strong_view(
    tiny_network, toy_batch, generator
) -> None:
    method = method_of(tiny_network(features=6))
    method.contrast = ContrastTerm(contrast=RegionalContrast(num_queries=8, num_keys=16), trust_above=0.5)
    batches = toy_batch(), toy_batch(seed=1, visible=False)
    output = method(*batches, iteration=0, generator=generator, draws=generator)
    assert output.parts["contrast"] > 0
    assert [len(predicted.logits) for predicted, _ in output.pixels] == [2, 2]
    assert output.pixels[1][0].logits.requires_grad


@pytest.mark.parametrize(
    "model", [DeepLabV2Model(), DeepLabV3PlusModel(decoder_width=8, separable=True, rates="6,12,18")]
)
def test_both_deeplabs_serve(model, toy_batch, generator) -> None:
    student = build_model(model, 2, seed=0)
    parts = SimpleNamespace(
        num_classes=2,
        background=0,
        weak_to_strong=lambda cutmix, colours: WeakToStrong(colours=colours, cutmix=cutmix),
        optimiser=lambda network: torch.optim.SGD(network.parameters(), lr=0.1),
    )
    method = PseudoSeg.build(student, parts, colours=0.5)  # type: ignore[arg-type]
    jitter = ColourJitter(probability=0.5, brightness=0.5, contrast=0.5, saturation=0.5, hue=0.25)
    assert method.views.colours == (jitter,)  # the authors', in half of the images
    output = method(toy_batch(), toy_batch(seed=1, visible=False), iteration=0, generator=generator)
    output.loss.backward()
    assert all(parameter.grad is not None for parameter in method.parameters())
    assert set(method.own_optimisers()) == {"activation_maps"}
    assert method.evaluation_model is student


def test_networks_that_cannot_serve_are_named_before_anything_is_trained(tiny_network, monkeypatch) -> None:
    with pytest.raises(UserError, match="Conv2d tells no encoder"):
        map_channels(nn.Conv2d(3, 2, 1))
    network = tiny_network()
    monkeypatch.setattr(network, "encode", lambda images: SimpleNamespace(maps=(torch.zeros(1, 16, 8),)))
    with pytest.raises(UserError, match=r"needs an encoder of maps \(B, C, h, w\), and that of TinyNetwork"):
        map_channels(network)
    monkeypatch.undo()
    assert map_channels(network) == [8]


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("present_above", 1.5, "present_above: must be"),
        ("cut", 1.0, "cut: must be"),
        ("temperature", 0.0, "temperature: must be"),
    ],
)
def test_impossible_settings_are_refused(tiny_network, setting, value, says) -> None:
    with pytest.raises(UserError, match=says):
        method_of(tiny_network(), **{setting: value})
