"""FixMatch: its loss by hand and against a slow plain reading, who labels what, and who gets gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.errors import UserError
from recoseg.methods.fixmatch import FixMatch
from recoseg.methods.parts.matching import view_loss, views_loss
from recoseg.methods.prevmatch import PrevMatch
from recoseg.methods.unimatch import UniMatch
from recoseg.methods.unimatch_v2 import UniMatchV2
from recoseg.types import IGNORE, PseudoLabels

MATCHING = [FixMatch, UniMatch, UniMatchV2, partial(PrevMatch, iterations=10, store_every=1)]
PLAIN = {"flip": 0, "colours": (), "cutmix": 0}


def test_pixels_below_the_threshold_count_and_padding_does_not() -> None:
    """Confidences 0.96, 0.5, 0.96, and a fourth pixel of padding: (l1 + l3) / 3."""
    logits = torch.randn(1, 2, 1, 4)
    pseudo = PseudoLabels(torch.tensor([[[0, 1, 1, IGNORE]]]), torch.tensor([[[0.96, 0.5, 0.96, 0]]]))
    losses = F.cross_entropy(logits, pseudo.labels.where(pseudo.labels != IGNORE, 0), reduction="none")[0, 0]
    expected = (losses[0] + losses[2]) / 3
    assert view_loss(logits, pseudo, 0.95).item() == pytest.approx(expected.item(), rel=1e-5)
    assert view_loss(logits, pseudo, torch.tensor(0.95)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_threshold_includes_its_value() -> None:
    pseudo = PseudoLabels(torch.zeros(1, 1, 1).long(), torch.full((1, 1, 1), 0.95))
    assert view_loss(torch.zeros(1, 2, 1, 1), pseudo, torch.tensor(0.95)).item() == pytest.approx(math.log(2))


def test_two_views_weigh_alike_however_much_of_them_is_shown() -> None:
    """The first shows one pixel of two, which costs ln 2; the second two, of which one costs ln 4."""
    logits = torch.zeros(2, 2, 1, 2)
    logits[1, 0, 0, 0] = math.log(1 / 3)  # class 0 has a probability of a quarter
    pseudo = PseudoLabels(torch.tensor([[[0, IGNORE]], [[0, 0]]]), torch.tensor([[[1.0, 0]], [[1.0, 0.1]]]))
    expected = (math.log(2) + math.log(4) / 2) / 2
    assert views_loss(logits, pseudo, 0.95).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("sure", "pixel_above", "learned"), [(0.97, 0.95, 1), (0.8, 0.95, 0), (0.8, 0.8, 1)])
def test_a_network_that_says_the_same_everywhere_has_a_closed_form(
    tiny_network, toy_batch, generator, sure, pixel_above, learned
) -> None:
    network = tiny_network(probabilities=(sure, 1 - sure))
    method = FixMatch(network, WeakToStrong(), 2, pixel_above=pixel_above - 1e-6)
    labelled = toy_batch()
    zeros = (labelled.labels == 0).float().mean().item()
    output = method(labelled, toy_batch(visible=False), iteration=0, generator=generator)
    supervised = -zeros * math.log(sure) - (1 - zeros) * math.log(1 - sure)
    strong = -learned * math.log(sure)
    assert output.parts["supervised"].item() == pytest.approx(supervised, rel=1e-4)
    assert output.parts["strong"].item() == pytest.approx(strong, rel=1e-4)
    assert output.loss.item() == pytest.approx((supervised + strong) / 2, rel=1e-4)


def test_padding_is_outside_of_the_mean(tiny_network, toy_batch, generator) -> None:
    method = FixMatch(tiny_network(probabilities=(0.97, 0.03)), WeakToStrong(**PLAIN), 2)
    inside = torch.ones(2, 32, 32, dtype=torch.bool)
    inside[1, 8:] = False
    output = method(
        toy_batch(), replace(toy_batch(visible=False), inside=inside), iteration=0, generator=generator
    )
    assert output.parts["strong"].item() == pytest.approx(-math.log(0.97), rel=1e-4)
    _, (_, pseudo) = output.pixels
    assert torch.equal(pseudo.labels != IGNORE, inside)
    assert pseudo.confidence[~inside].max() == 0


def test_known_labels_override_the_students(tiny_network, toy_batch, generator) -> None:
    method = FixMatch(tiny_network(probabilities=(0.8, 0.2)), WeakToStrong(**PLAIN), 2)
    unlabelled = replace(toy_batch(visible=False), sparse=True)
    unlabelled.labels[1, 4, 5] = 1
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    # of all 2 * 32 * 32 pixels that one alone is sure
    assert output.parts["strong"].item() == pytest.approx(-math.log(0.2) / 2048, rel=1e-4)


class Moody(torch.nn.Module):
    """Around a network: class 0 everywhere while it trains, class 1 in eval mode."""

    def __init__(self, network) -> None:
        super().__init__()
        self.network = network

    def forward(self, images):
        output = self.network(images)
        says = torch.tensor([0.0, -9.0] if self.training else [-9.0, 0.0]).view(1, 2, 1, 1)
        return replace(output, logits=0 * output.logits + says)


def test_own_pixels_are_labelled_in_train_mode_and_pasted_ones_in_eval_mode(tiny_network, toy_batch) -> None:
    student = Moody(tiny_network())
    student.network.body[0].eval()  # a part that stays in eval mode, as one that is frozen does
    method = FixMatch(student, WeakToStrong(cutmix=1), 2)
    unlabelled = toy_batch(visible=False)
    output = method(toy_batch(), unlabelled, iteration=0, generator=torch.Generator().manual_seed(1))
    weak = method.views.weak(unlabelled, generator := torch.Generator().manual_seed(1))
    pasted = method.views.strong(weak.images, generator).pasted
    _, (_, pseudo) = output.pixels
    assert pasted.any()
    assert torch.equal(pseudo.labels, pasted.long())
    assert student.training
    assert student.network.training
    assert not student.network.body[0].training
    # running statistics have seen two passes in train mode, and not the one in eval mode
    assert student.network.body[1].num_batches_tracked == 2


def test_the_pass_in_eval_mode_leaves_no_weights_of_16_bits_behind(
    tiny_network, toy_batch, generator
) -> None:
    """In older versions of torch the passes that learn would take these for constants."""
    method, found = FixMatch(tiny_network(), WeakToStrong(), 2), []

    def note(network, _) -> None:
        found.append((network.training, torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()))

    method.student.register_forward_pre_hook(note)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weak = method.views.weak(toy_batch(visible=False), generator)
        method.labels_to_paste(weak)
        method.student.eval()(weak.images)
    assert found == [(False, True, False), (False, True, True)]


def plain_losses(method, labelled, unlabelled, seed):
    """Both parts, by the words of the paper, with the student in eval mode: (supervised, strong)."""
    generator = torch.Generator().manual_seed(seed)
    weak = method.views.weak(unlabelled, generator)
    view = method.views.strong(weak.images, generator)

    def logits(images):
        return F.interpolate(method.student(images).logits, images.shape[2:], mode="bilinear")

    with torch.no_grad():
        confidence, label = logits(weak.images).softmax(1).max(1)
    total, shown = torch.zeros(()), 0
    costs = -logits(view.images).log_softmax(1)
    for image, row, column in torch.ones_like(label).nonzero().tolist():
        source = (image + 1) % len(label) if view.pasted[image, row, column] else image
        if not weak.inside[source, row, column]:
            continue
        shown += 1
        if confidence[source, row, column] >= method.threshold.value:
            total = total + costs[image, label[source, row, column], row, column]
    supervised = F.cross_entropy(logits(labelled.images), labelled.labels, ignore_index=IGNORE)
    return supervised, total / shown


def test_losses_and_gradients_are_those_of_a_slow_plain_reading(tiny_network, toy_batch) -> None:
    """Also: labels are constants, or the gradients would differ."""
    views = WeakToStrong(scale=(0.7, 1.5), cutmix=1)
    method = FixMatch(tiny_network(), views, 2, pixel_above=0.55).eval()
    labelled = toy_batch(2, size=(10, 12), seed=1)
    labelled.labels[:, :3] = IGNORE
    unlabelled = toy_batch(3, size=(10, 12), seed=2, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=torch.Generator().manual_seed(3))
    supervised, strong = plain_losses(method, labelled, unlabelled, 3)
    assert 0.05 < strong.item() < 2
    assert output.parts["supervised"].item() == pytest.approx(supervised.item(), rel=1e-4)
    assert output.parts["strong"].item() == pytest.approx(strong.item(), rel=1e-4)
    parameters = list(method.student.parameters())
    expected = torch.autograd.grad((supervised + strong) / 2, parameters)
    for found, gradient in zip(torch.autograd.grad(output.loss, parameters), expected, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", MATCHING)
def test_a_fitted_threshold_learns_in_every_step_and_is_saved(
    kind, tiny_network, toy_batch, generator
) -> None:
    method = kind(tiny_network(), WeakToStrong(), num_classes=2, threshold="daw")
    before = method.threshold.means.clone()
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert (method.threshold.means != before).all()  # right and wrong ones
    value = output.stats["threshold"].item()
    assert 0.5 <= value < 0.9
    saved = method.state_dict()
    assert saved["threshold.value"].item() == value
    assert {"threshold.means", "threshold.variances"} <= saved.keys()


@pytest.mark.parametrize("kind", [FixMatch, UniMatch, UniMatchV2])
def test_confidence_and_losses_are_float32_where_the_network_answers_in_16_bits(
    tiny_network, toy_batch, generator, kind
) -> None:
    method = kind(tiny_network(answers_in=torch.bfloat16), WeakToStrong(), 2, threshold="daw")
    output = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    output.loss.backward()
    _, (on_strong, pseudo) = output.pixels
    assert on_strong.logits.dtype == torch.bfloat16
    assert pseudo.confidence.dtype == torch.float32
    assert {part.dtype for part in output.parts.values()} == {torch.float32}


@pytest.mark.parametrize("kind", [FixMatch, UniMatch, UniMatchV2])
@pytest.mark.parametrize(("num_labelled", "num_unlabelled"), [(1, 1), (1, 3), (3, 1)])
def test_batches_may_differ_in_size_and_be_of_one(
    tiny_network, toy_batch, generator, kind, num_labelled, num_unlabelled
) -> None:
    method = kind(tiny_network(), WeakToStrong(scale=(0.5, 1.5)), 2)
    unlabelled = toy_batch(num_unlabelled, visible=False)
    output = method(toy_batch(num_labelled), unlabelled, iteration=0, generator=generator)
    output.loss.backward()
    assert output.loss.isfinite()


@pytest.mark.parametrize("kind", [FixMatch, UniMatch, UniMatchV2])
def test_unlabelled_crops_that_are_all_padding_cost_nothing(tiny_network, toy_batch, generator, kind) -> None:
    method = kind(tiny_network(), WeakToStrong(), 2, pixel_above=0)
    unlabelled = replace(toy_batch(visible=False), inside=torch.zeros(2, 32, 32, dtype=torch.bool))
    output = method(toy_batch(), unlabelled, iteration=0, generator=generator)
    assert output.parts["strong"] == 0
    assert output.loss.item() == pytest.approx(output.parts["supervised"].item() / 2, rel=1e-6)


def test_labelled_images_alone_make_a_supervised_step(tiny_network, toy_batch, generator) -> None:
    output = FixMatch(tiny_network(), WeakToStrong(), 2)(toy_batch(), None, iteration=0, generator=generator)
    assert list(output.parts) == ["supervised"]


def test_an_unknown_threshold_is_refused(tiny_network) -> None:
    with pytest.raises(UserError, match="threshold"):
        FixMatch(tiny_network(), WeakToStrong(), 2, threshold="dow")
    with pytest.raises(UserError, match="pixel_above: must be at"):
        FixMatch(tiny_network(), WeakToStrong(), 2, pixel_above=1.5)


@pytest.mark.parametrize("kind", MATCHING)
def test_statistics_see_what_learns_and_nothing_twice(kind, tiny_network, toy_batch, generator) -> None:
    method = kind(tiny_network(), WeakToStrong(), num_classes=2)
    method(toy_batch(), toy_batch(visible=False), iteration=0, generator=generator)
    assert method.student.body[1].num_batches_tracked == 2
