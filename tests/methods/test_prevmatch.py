"""PrevMatch: when earlier networks are stored, how they label, and what their labels weigh."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.augment.colour import GaussianBlur
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.errors import UserError
from recoseg.methods.prevmatch import PrevMatch
from recoseg.methods.unimatch import UniMatch
from recoseg.types import IGNORE

PIXEL_ABOVE, PREVIOUS_ABOVE = 0.7, 0.6


def build(student, *, iterations: int = 80, store_every: int = 10, **settings) -> PrevMatch:
    return PrevMatch(student, WeakToStrong(), 2, iterations, store_every=store_every, **settings)


def say(network, probability: float) -> None:
    """Class 0 with that probability, whatever it sees."""
    with torch.no_grad():
        network.classifier.weight.zero_()
        network.classifier.bias.copy_(torch.tensor([probability, 1 - probability]).log())


def test_lambda_rises_to_the_middle_of_training_and_falls_again(tiny_network) -> None:
    method = build(tiny_network(), iterations=80)
    weights = [method.previous_weight(iteration) for iteration in (0, 20, 40, 60)]
    assert weights == pytest.approx([0, 0.5, 1, 0.5])


def test_before_anything_is_stored_a_step_is_that_of_unimatch(tiny_network, toy_batch) -> None:
    losses = []
    for method in (build(tiny_network()), UniMatch(tiny_network(), WeakToStrong(), 2)):
        generator = torch.Generator().manual_seed(1)
        output = method(toy_batch(), toy_batch(visible=False), iteration=9, generator=generator)
        losses.append(output.loss)
    assert torch.equal(*losses)


def test_earlier_networks_have_a_closed_form(tiny_network, toy_batch, generator) -> None:
    """The student says 0.97 everywhere, the one before it said 0.92: enough for 0.9, and for class 0."""
    method = build(tiny_network(probabilities=(0.97, 0.03)))
    say(method.previous[0].network, 0.92)
    output = method(toy_batch(), toy_batch(visible=False), iteration=10, generator=generator)
    cost, weight = -math.log(0.97), 0.25
    assert output.parts["previous"].item() == pytest.approx(cost, rel=1e-4)
    expected = (output.parts["supervised"].item() + cost + weight * cost) / (2 + weight)
    assert output.loss.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("said", "cost"), [(0.85, 0), (0.05, -math.log(0.03))])
def test_labels_of_earlier_networks_have_a_threshold_and_classes_of_their_own(
    tiny_network, toy_batch, generator, said, cost
) -> None:
    method = build(tiny_network(probabilities=(0.97, 0.03)))
    say(method.previous[0].network, said)
    output = method(toy_batch(), toy_batch(visible=False), iteration=10, generator=generator)
    assert output.parts["previous"].item() == pytest.approx(cost, rel=1e-4)
    assert output.parts["strong"].item() == pytest.approx(-math.log(0.97), rel=1e-4)


def without_the_first_channel(maps, generator, *, drop):
    return [torch.cat([torch.zeros_like(one[:, :1]), one[:, 1:]], 1) for one in maps]


def slow_match(answers, labels, confidence, above) -> Tensor:
    """Cross-entropy of sure pixels over the number of shown ones, pixel by pixel; IGNORE is not shown."""
    total, shown = torch.zeros(()), 0
    for image in range(len(labels)):
        for row in range(labels.shape[1]):
            for column in range(labels.shape[2]):
                label = labels[image, row, column].item()
                shown += label != IGNORE
                if label != IGNORE and confidence[image, row, column] >= above:
                    total = total - answers[image, :, row, column].log_softmax(0)[label]
    return total / shown


def slow_loss(student, earlier, labelled, unlabelled, strong, weight: float) -> Tensor:
    """A whole step for B images: two strong views and the disturbed one, with two kinds of labels."""

    def answers(of: Tensor) -> Tensor:
        return F.interpolate(of, labelled.labels.shape[1:], mode="bilinear")

    count = len(unlabelled)
    encoded = student.encode(unlabelled.images)
    disturbed = answers(
        student.decode(encoded.with_maps(without_the_first_channel(encoded.maps, None, drop=0))).logits
    )
    on_strong = answers(student(strong.images).logits)
    certain = torch.ones(labelled.labels.shape)
    supervised = slow_match(answers(student(labelled.images).logits), labelled.labels, certain, 0)

    matched = []
    for labeller, above in ((student, PIXEL_ABOVE), (earlier, PREVIOUS_ABOVE)):
        with torch.no_grad():
            confidence, own = answers(labeller(unlabelled.images).logits).softmax(1).max(1)
        own = own.where(unlabelled.inside, IGNORE)
        views = []
        for view in range(2):
            labels, sure = own.clone(), confidence.clone()
            for image in range(count):
                pasted, other = strong.pasted[view * count + image], (image + 1) % count
                labels[image][pasted] = own[other][pasted]
                sure[image][pasted] = confidence[other][pasted]
            views.append(slow_match(on_strong[view * count :][:count], labels, sure, above))
        matched.append(views[0] / 4 + views[1] / 4 + slow_match(disturbed, own, confidence, above) / 2)
    return (supervised + matched[0] + weight * matched[1]) / (2 + weight)


@pytest.mark.parametrize("stored", [1, 2])
def test_a_step_is_that_of_a_slow_one(tiny_network, toy_batch, generator, monkeypatch, stored) -> None:
    """One earlier network labels, of one or two that are stored: it is one of their losses."""
    monkeypatch.setattr("recoseg.methods.unimatch.without_channels", without_the_first_channel)
    views = WeakToStrong(flip=0, colours=[GaussianBlur(probability=1)], cutmix=1)
    seen, paste = [], views.strong
    monkeypatch.setattr(views, "strong", lambda *some, **more: seen.append(paste(*some, **more)) or seen[-1])
    method = PrevMatch(
        tiny_network(norm=False),
        views,
        2,
        80,
        store_every=10,
        most_at_once=1,
        pixel_above=PIXEL_ABOVE,
        previous_above=PREVIOUS_ABOVE,
    )
    for network in (method.student, *(one.network for one in method.previous)):
        torch.nn.init.normal_(network.classifier.weight, generator=generator)
    size = (8, 8)
    labelled = toy_batch(size=size)
    labelled.labels[0, :3] = IGNORE
    inside = torch.ones(3, *size, dtype=torch.bool)
    inside[1, :, 6:] = False
    unlabelled = replace(toy_batch(3, size=size, seed=1, visible=False), inside=inside)

    output = method(labelled, unlabelled, iteration=10 * stored, generator=generator)
    parameters = list(method.student.parameters())
    found = [output.loss, *torch.autograd.grad(output.loss, parameters)]
    (strong,) = seen
    assert 0 < strong.pasted.float().mean() < 1
    expected = []
    for earlier in list(method.previous)[:stored]:
        loss = slow_loss(method.student, earlier.network, labelled, unlabelled, strong, weight=0.25 * stored)
        expected.append([loss, *torch.autograd.grad(loss, parameters)])
    if stored == 2:
        assert expected[0][0].item() != pytest.approx(expected[1][0].item(), rel=0.01)
    closest = min(expected, key=lambda one: abs((one[0] - found[0]).item()))
    torch.testing.assert_close(found, closest)


def test_networks_are_stored_at_fixed_intervals_and_the_oldest_makes_room(tiny_network) -> None:
    method = build(tiny_network(), store_every=3, num_previous=2)
    kept = {}
    for iteration in range(10):
        kept[iteration] = method.num_stored(iteration)
        with torch.no_grad():
            method.student.classifier.bias.fill_(iteration)
        method.after_update(iteration)
    assert list(kept.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    # stored after iterations 2, 5 and 8: the third in the place of the first
    assert [one.network.classifier.bias[0].item() for one in method.previous] == [8, 5]


def test_a_stored_network_is_a_copy_with_its_buffers_and_stays_in_eval_mode(tiny_network, toy_batch) -> None:
    method = build(tiny_network(), store_every=1).train()
    method.student(toy_batch().images)  # moves the running statistics
    method.after_update(0)
    stored = method.previous[0].network
    for name, tensor in method.student.state_dict().items():
        assert torch.equal(tensor, stored.state_dict()[name]), name
    assert not stored.training
    assert not any(parameter.requires_grad for parameter in stored.parameters())
    assert stored.classifier.weight.data_ptr() != method.student.classifier.weight.data_ptr()


def test_a_few_are_drawn_anew_each_time_and_their_logits_averaged(tiny_network, toy_batch) -> None:
    """Networks that say nothing but their number: a mean lies between the least and the most of them."""
    method = build(tiny_network(), store_every=1, num_previous=5, most_at_once=2)
    for number, one in enumerate(method.previous):
        with torch.no_grad():
            one.network.classifier.weight.zero_()
            one.network.classifier.bias.copy_(torch.tensor([10.0**number, 0]))
    images, generator = toy_batch(1).images, torch.Generator().manual_seed(0)
    singles, pairs = set(), 0
    for _ in range(200):
        logits = method.previous_logits(images, 4, generator)  # the first four are stored
        assert (logits == logits[:, :, :1, :1]).all()
        value = logits[0, 0, 0, 0].item()
        assert 1 - 1e-4 <= value <= 1000 + 1e-1
        power = math.log10(value)
        if abs(power - round(power)) < 1e-6:
            singles.add(round(power))
        else:
            pairs += 1
    assert singles == {0, 1, 2, 3}
    assert pairs == pytest.approx(100, abs=28)  # one or two, equally often: four standard deviations


def shares_of_the_second(method: PrevMatch, images: torch.Tensor, times: int) -> torch.Tensor:
    """(times,): how much the second of two stored networks weighs, drawn anew each time."""
    for one, value in zip(method.previous, (0.0, 1.0), strict=False):
        with torch.no_grad():
            one.network.classifier.weight.zero_()
            one.network.classifier.bias.fill_(value)
    generator = torch.Generator().manual_seed(0)
    return torch.tensor([method.previous_logits(images, 2, generator)[0, 0, 0, 0] for _ in range(times)])


def test_up_to_three_are_asked_for_and_two_come_where_there_are_no_more(tiny_network, toy_batch) -> None:
    """One, two or three, equally often: of two networks, both in two of three steps."""
    method = build(tiny_network(), store_every=1)
    drawn = shares_of_the_second(method, toy_batch(1, size=(4, 4)).images, 600)
    both = (drawn > 1e-9) & (drawn < 1 - 1e-6)
    assert both.float().mean().item() == pytest.approx(2 / 3, abs=0.08)  # four standard errors


def test_the_weights_of_two_networks_are_uniform(tiny_network, toy_batch) -> None:
    """Dirichlet(1) of two is a uniform share and the rest: mean 1/2, variance 1/12."""
    method = build(tiny_network(), store_every=1, num_previous=2, most_at_once=2)
    drawn = shares_of_the_second(method, toy_batch(1, size=(4, 4)).images, 1500)
    shares = drawn[(drawn > 1e-9) & (drawn < 1 - 1e-6)]
    assert len(shares) == pytest.approx(750, abs=80)
    assert shares.mean().item() == pytest.approx(0.5, abs=0.045)
    assert shares.var().item() == pytest.approx(1 / 12, abs=0.012)


def test_a_saved_method_goes_on_with_the_same_networks(tiny_network, toy_batch) -> None:
    first, second = build(tiny_network(), store_every=1), build(tiny_network(), store_every=1)
    for iteration in range(3):
        with torch.no_grad():
            first.student.classifier.bias.add_(1)
        first.after_update(iteration)
    second.load_state_dict(first.state_dict())
    losses = [
        method(
            toy_batch(),
            toy_batch(visible=False),
            iteration=3,
            generator=torch.Generator().manual_seed(5),
        ).loss
        for method in (first, second)
    ]
    assert torch.equal(*losses)


def test_the_student_is_evaluated_and_earlier_networks_get_no_gradient(
    tiny_network, toy_batch, generator
) -> None:
    method = build(tiny_network())
    method(toy_batch(), toy_batch(visible=False), iteration=30, generator=generator).loss.backward()
    assert method.evaluation_model is method.student
    assert all(parameter.grad is None for parameter in method.previous.parameters())
    assert all(parameter.grad is not None for parameter in method.student.parameters())


def test_without_a_threshold_an_image_weighs_by_the_mean_confidence_of_earlier_networks(
    tiny_network, toy_batch, generator
) -> None:
    method = build(tiny_network(probabilities=(0.97, 0.03)), previous_above=None)
    say(method.previous[0].network, 0.6)  # below any usual threshold, for class 0
    output = method(toy_batch(), toy_batch(visible=False), iteration=10, generator=generator)
    assert output.parts["previous"].item() == pytest.approx(0.6 * -math.log(0.97), rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"previous_above": 1.5}, "previous_above: must be"),
        ({"store_every": 0}, "store_every: must be"),
        ({"num_previous": 0}, "num_previous: must be"),
        ({"most_at_once": 0}, "most_at_once: must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tiny_network, settings, message) -> None:
    with pytest.raises(UserError, match=message):
        build(tiny_network(), **settings)
