"""GCT: closed forms with a rigged detector, who teaches whom, and who learns from what."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.methods.gct import GCT, targets_of
from recoseg.methods.parts.flaw_maps import true_flaws
from recoseg.types import IGNORE, Batch

SIZE = (96, 96)
SGD = partial(torch.optim.SGD, lr=0.1)


@pytest.fixture
def gct(tiny_network, same_view):
    """`gct(student, second, ...)`, with a detector that takes less time; both students are tiny networks."""

    def build(student=None, second=None, detector_width=2, **settings) -> GCT:
        student = student or tiny_network()
        if second is None:
            second = tiny_network()
            torch.manual_seed(5)
            second.classifier.reset_parameters()
        return GCT(
            student,
            second,
            same_view,
            2,
            lambda network: SGD(network.parameters()),
            detector_width=detector_width,
            **settings,
        )

    return build


class ByBrightness(nn.Module):
    """Says what is told of each student: `left` and `right` (H, W), told apart by what they answer."""

    def __init__(self, left: Tensor, right: Tensor) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))
        self.left, self.right = left, right

    def forward(self, seen: Tensor) -> Tensor:
        is_left = seen[:, 3, :1, :1] < 0.5  # (B, 1, 1): the left student's first class is the less likely one
        return self.factor * torch.where(is_left, self.left, self.right) + 0 * seen[:, 3]


def flat_batch(count: int = 2, *, label: int = IGNORE) -> Batch:
    labels = torch.full((count, *SIZE), label)
    return Batch(torch.full((count, 3, *SIZE), 0.5), labels, tuple(f"flat {n}" for n in range(count)))


def halves(top: float, bottom: float) -> Tensor:
    """One number above, another below."""
    return torch.tensor([top, bottom]).repeat_interleave(48)[:, None].expand(SIZE)


def step(method: GCT, labelled: Batch, unlabelled: Batch, iteration: int = 0):
    return method(labelled, unlabelled, iteration=iteration, generator=torch.Generator())


def test_the_student_with_the_lesser_flaw_teaches_the_other() -> None:
    answers = torch.tensor([[[0.9, 0.1]], [[0.3, 0.7]]])[..., None, None].expand(2, 1, 2, 1, 3)
    flaws = torch.tensor([[0.2, 1.0, 0.3], [1.0, 1.0, 0.3]]).view(2, 1, 1, 3)
    targets, both_err = targets_of(answers, flaws)
    assert targets[0, 0, 0, 0].tolist() == pytest.approx([0.9, 0.9, 0.9])  # the left one keeps its own
    assert targets[1, 0, 0, 0].tolist() == pytest.approx([0.9, 0.3, 0.3])  # and teaches the first pixel
    assert both_err.tolist() == [[[False, True, False]]]


def test_parts_have_closed_forms(gct, tiny_network) -> None:
    students = tiny_network(probabilities=(0.2, 0.8)), tiny_network(probabilities=(0.6, 0.4))
    method = gct(*students)
    # above the left student has no flaw and the right one a whole one; below it is the other way round
    method.detector = ByBrightness(halves(0.0, 0.8), halves(0.8, 0.0))
    output = step(method, flat_batch(label=1), flat_batch(3))
    parts = {name: part.item() for name, part in output.parts.items()}
    assert parts["supervised"] == pytest.approx(-math.log(0.8), rel=1e-5)
    assert parts["second_supervised"] == pytest.approx(-math.log(0.4), rel=1e-5)
    # at each pixel one of the two learns from the other: 0.4 away in both classes, half of the pixels each
    assert parts["consistency"] == pytest.approx(0.16, rel=1e-4)
    assert parts["correction"] == 0
    # all answers are equally wrong, so the truth is flat: no flaw anywhere
    assert parts["detector"] == pytest.approx(0.32, rel=1e-5)
    total = parts["supervised"] + parts["second_supervised"] + 100 * parts["consistency"]
    assert output.loss.item() == pytest.approx(total + 10 * parts["detector"], rel=1e-5)


def test_where_both_err_there_is_no_consistency_and_the_detectors_answer_is_the_loss(
    gct, tiny_network
) -> None:
    method = gct(tiny_network(probabilities=(0.2, 0.8)), tiny_network(probabilities=(0.6, 0.4)))
    method.detector = ByBrightness(halves(0.0, 0.5), halves(0.0, 0.5))
    output = step(method, flat_batch(label=1), flat_batch())
    assert output.parts["consistency"].item() == 0
    assert output.parts["correction"].item() == pytest.approx(2 * 0.5**2 / 2, rel=1e-5)  # half of the pixels
    _, pseudo = output.mixed
    assert pseudo.confidence[:, :48].unique().tolist() == pytest.approx([0.8])
    assert pseudo.confidence[:, 48:].unique().tolist() == [0]


def test_the_ramp_is_slow_first_and_scales_consistency_alone(gct, toy_batch) -> None:
    method = gct(ramp=10)
    batches = toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False)
    for iteration, scale in ((0, math.exp(-5)), (5, math.exp(-1.25)), (10, 1.0), (99, 1.0)):
        output = step(method, *batches, iteration)
        parts = {name: part.item() for name, part in output.parts.items()}
        total = parts["supervised"] + parts["second_supervised"] + scale * 100 * parts["consistency"]
        total += parts["correction"] + 10 * parts["detector"]
        assert output.loss.item() == pytest.approx(total, rel=1e-5)
        assert parts["consistency"] > 0


def test_the_detector_learns_the_true_flaws_of_both_students(gct, toy_batch) -> None:
    method = gct().eval()
    labelled = toy_batch(size=SIZE)
    labelled.labels[0, :20] = IGNORE
    known, errors, counts = labelled.labels != IGNORE, 0.0, 0
    for student in (method.student, method.second):
        logits = nn.functional.interpolate(student(labelled.images).logits, SIZE, mode="bilinear")
        said = method.detector(torch.cat([labelled.images, logits.softmax(1)], 1))
        truth = true_flaws(logits.softmax(1), labelled.labels)
        errors += (said - truth).square()[known].sum().item()
        counts += known.sum().item()
    output = step(method, labelled, toy_batch(size=SIZE, seed=1, visible=False))
    assert output.parts["detector"].item() == pytest.approx(errors / counts, rel=1e-4)


def test_the_detector_is_asked_and_taught_in_one_pass_over_all_images(gct, toy_batch) -> None:
    """In train mode: its BatchNorm has the same statistics for both, and counts them once."""
    method, found = gct().train(), []
    method.detector.register_forward_pre_hook(lambda network, seen: found.append((network.training, *seen)))
    step(method, toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False))
    ((mode, seen),) = found
    assert mode
    assert len(seen) == 8  # two students, two labelled and two unlabelled images


def gradients(method: GCT, *batches: Batch) -> dict[str, Tensor]:
    method.zero_grad()
    step(method, *batches).loss.backward()
    return {name: parameter.grad.clone() for name, parameter in method.named_parameters()}


def of(found: dict[str, Tensor], network: str) -> list[Tensor]:
    return [gradient for name, gradient in found.items() if name.startswith(f"{network}.")]


def test_what_the_students_learn_from_teaches_the_detector_nothing(gct, toy_batch) -> None:
    method = gct(bad_above=0.1)
    batches = toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False)
    plain = gradients(method, *batches)
    assert all(gradient.any() for gradient in of(plain, "detector")[-2:])
    method.consistency_weight, method.correction_weight = 1e4, 1e4
    heavy = gradients(method, *batches)
    for before, after in zip(of(plain, "detector"), of(heavy, "detector"), strict=True):
        assert torch.equal(before, after)
    for network in ("student", "second"):
        pairs = zip(of(plain, network), of(heavy, network), strict=True)
        assert any(not torch.equal(before, after) for before, after in pairs)


def test_what_the_detector_learns_from_teaches_no_student(gct, toy_batch) -> None:
    method = gct(consistency_weight=0, correction_weight=0)
    batches = toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False)
    plain = gradients(method, *batches)
    method.detector_weight = 1e4
    heavy = gradients(method, *batches)
    for network in ("student", "second"):
        for before, after in zip(of(plain, network), of(heavy, network), strict=True):
            assert torch.equal(before, after)


def test_correction_reaches_both_students_through_the_detector(gct, toy_batch) -> None:
    batches = toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False)
    batches[0].labels.fill_(IGNORE)
    method = gct(consistency_weight=0, correction_weight=1.0, bad_above=0.0)
    with torch.no_grad():
        method.detector.layers[-1].bias.fill_(1.0)  # it finds flaws
    found = gradients(method, *batches)
    for network in ("student", "second"):
        assert any(gradient.any() for gradient in of(found, network))
    method.correction_weight = 0.0
    found = gradients(method, *batches)
    for network in ("student", "second"):
        assert not any(gradient.any() for gradient in of(found, network))


def test_a_students_target_is_a_constant(gct, tiny_network) -> None:
    """Where the right one learns from the left one, the left one does not move towards it."""
    method = gct(tiny_network(probabilities=(0.2, 0.8)), tiny_network(probabilities=(0.6, 0.4)))
    method.correction_weight = 0.0
    method.detector = ByBrightness(halves(0.0, 0.0), halves(0.0, 0.8))  # the left one has no flaw
    found = gradients(method, flat_batch(), flat_batch())
    assert not any(gradient.any() for gradient in of(found, "student"))
    # the squares of 0.4 in two classes, a mean over both; the blur, 7 wide, adds 3 rows to the lower half
    slope = 2 * 0.4 * 0.6 * 0.4 * (48 + 3) / 96
    assert found["second.classifier.bias"].tolist() == pytest.approx([100 * slope, -100 * slope], rel=1e-4)


def test_statistics_of_a_step_enter_batch_norm_once(gct, toy_batch) -> None:
    method = gct()
    step(method, toy_batch(size=SIZE), toy_batch(size=SIZE, visible=False))
    counters = [b for name, b in method.named_buffers() if name.endswith("num_batches_tracked")]
    assert len(counters) == 2 + 7
    assert {counter.item() for counter in counters} == {1}


def test_padding_is_in_no_mean(gct, toy_batch) -> None:
    method = gct().eval()
    method.student.body[0] = nn.Conv2d(3, 8, 2, stride=2)  # each cell sees its own pixels alone
    labelled, unlabelled = toy_batch(size=SIZE), toy_batch(size=SIZE, seed=1, visible=False)
    shown = torch.ones(2, *SIZE, dtype=torch.bool)
    shown[:, 60:] = False
    output = step(method, labelled, replace(unlabelled, inside=shown))
    _, pseudo = output.mixed
    assert torch.equal(pseudo.labels != IGNORE, shown)
    assert pseudo.confidence[~shown].max() == 0
    nothing = torch.zeros_like(shown)
    empty = replace(labelled, labels=torch.full_like(labelled.labels, IGNORE), inside=nothing)
    output = step(method, empty, replace(unlabelled, inside=nothing))
    assert {name: part.item() for name, part in output.parts.items()} == dict.fromkeys(output.parts, 0.0)
    output.loss.backward()
    assert all(parameter.grad is not None for parameter in method.parameters())


def test_optimisers_move_the_second_student_and_the_detector(gct, toy_batch) -> None:
    method = gct(detector_lr=3e-4)
    assert method.own_optimisers().keys() == {"second", "detector"}
    adam = method.own_optimisers()["detector"]
    assert isinstance(adam, torch.optim.Adam)
    assert (adam.defaults["lr"], adam.defaults["betas"]) == (3e-4, (0.9, 0.99))
    before = {name: tensor.clone() for name, tensor in method.named_parameters()}
    gradients(method, toy_batch(size=SIZE), toy_batch(size=SIZE, visible=False))
    for optimiser in method.own_optimisers().values():
        optimiser.step()
    moved = {name.split(".")[0] for name, p in method.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"second", "detector"}


def test_the_first_student_is_evaluated_and_has_the_contrast(gct, tiny_network, toy_batch) -> None:
    method = gct(tiny_network(features=4))
    assert method.evaluation_model is method.student
    labelled = toy_batch(size=SIZE)
    output = step(method, labelled, toy_batch(size=SIZE, visible=False))
    (predicted, labels), = output.pixels  # fmt: skip
    assert predicted.features is not None
    assert torch.equal(labels.labels[:2], labelled.labels)
    assert labels.confidence[:2].unique().tolist() == [1]
    assert not labels.confidence.requires_grad


def test_losses_are_float32_where_the_network_answers_in_16_bits(gct, toy_batch, needs_16_bits) -> None:
    needs_16_bits("bfloat16")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = step(gct(), toy_batch(size=SIZE), toy_batch(size=SIZE, visible=False))
    output.loss.backward()
    assert {part.dtype for part in output.parts.values()} == {torch.float32}


def test_what_cannot_be_done_is_refused(gct, toy_batch) -> None:
    with pytest.raises(UserError, match="bad_above: must be at"):
        gct(bad_above=6)
    with pytest.raises(UserError, match="gct needs fully labelled images"):
        step(gct(), replace(toy_batch(), sparse=True), toy_batch(visible=False))
    with pytest.raises(UserError, match="gct needs images of at least 92x92 pixels, got 32x32"):
        step(gct(), toy_batch(), toy_batch(visible=False))


@pytest.mark.parametrize(
    ("width", "widths"), [(64, (64, 128, 128, 256, 256, 512, 512)), (4, (4, 8, 8, 16, 16, 32, 32))]
)
def test_the_detector_is_as_wide_as_asked(gct, width, widths) -> None:
    detector = gct(detector_width=width).detector
    convolutions = [layer for layer in detector.modules() if isinstance(layer, nn.Conv2d)]
    assert tuple(layer.out_channels for layer in convolutions) == (*widths, 1)
    with pytest.raises(UserError, match="detector_width: must be at"):
        gct(detector_width=1)
