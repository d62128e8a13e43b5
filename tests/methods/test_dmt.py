"""DMT: weights and shares by hand, rounds and their copies, and which network learns from whom."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from recoseg import RegionalContrast
from recoseg.errors import UserError
from recoseg.methods.dmt import DMT, agreement_losses
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.parts.surest_labels import ConfidenceHistogram, SurestLabels
from recoseg.types import IGNORE, Batch, PseudoLabels


def pixels(probabilities: list[list[float]]) -> Tensor:
    """(1, K, 1, w) logits of these."""
    return torch.tensor(probabilities).log().t()[None, :, None]


def test_a_pixel_weighs_by_agreement() -> None:
    """Label 0 at .8, to networks that agree, disagree and are surer, disagree and are less sure."""
    logits = pixels([[0.6, 0.4], [0.1, 0.9], [0.3, 0.7], [0.5, 0.5]])
    pseudo = PseudoLabels(torch.tensor([[[0, 0, 0, IGNORE]]]), torch.tensor([[[0.8, 0.8, 0.8, 0.9]]]))
    found = agreement_losses(logits, pseudo, 5, 5).flatten().tolist()
    expected = [0.6**5 * -math.log(0.6), 0, 0.3**5 * -math.log(0.3), 0]
    assert found == pytest.approx(expected, rel=1e-4)
    assert found[0] == pytest.approx(0.0397, abs=1e-4)
    assert pytest.approx(0.00243) == 0.3**5
    other = agreement_losses(logits, pseudo, 0, 1).flatten().tolist()
    assert other == pytest.approx([-math.log(0.6), 0, 0.3 * -math.log(0.3), 0], rel=1e-4)


def test_a_persons_label_weighs_1_whatever_the_network_says(method, toy_batch, generator) -> None:
    logits = pixels([[0.6, 0.4], [0.1, 0.9]])
    pseudo = PseudoLabels(torch.tensor([[[0, 0]]]), torch.ones(1, 1, 2))
    found = agreement_losses(logits, pseudo, 5, 5).flatten().tolist()
    assert found == pytest.approx([-math.log(0.6), -math.log(0.1)], rel=1e-4)

    dmt, unlabelled = method(iterations=5), toy_batch(visible=False)
    dmt.by_second.copy.network.classifier.bias.data = torch.tensor([80.0, -80.0])  # as sure as numbers can be
    unlabelled.labels[0, 4, 5] = 1
    _, seen = dmt._shown(dmt.by_second, unlabelled, 1.0, generator)
    assert (seen.confidence == 1).nonzero().tolist() == [[0, 4, 5]]


def test_the_weight_of_a_pixel_is_a_constant() -> None:
    logits = pixels([[0.6, 0.4]]).requires_grad_()
    pseudo = PseudoLabels(torch.tensor([[[0]]]), torch.tensor([[[0.8]]]))
    agreement_losses(logits, pseudo, 5, 5).sum().backward()
    assert logits.grad is not None
    # of cross-entropy: p - 1 for the label; times the weight
    assert logits.grad.flatten().tolist() == pytest.approx([0.6**5 * -0.4, 0.6**5 * 0.4], rel=1e-4)


def labels_at(labels: list[int], confidence: list[float]) -> PseudoLabels:
    return PseudoLabels(torch.tensor(labels)[None, None], torch.tensor(confidence)[None, None])


@pytest.mark.parametrize(
    ("share", "kept"),
    [
        (0.2, [0, IGNORE, IGNORE, IGNORE, IGNORE, 1, IGNORE, IGNORE]),
        (0.4, [0, 0, IGNORE, IGNORE, IGNORE, 1, IGNORE, IGNORE]),
        (0.6, [0, 0, 0, IGNORE, IGNORE, 1, 1, IGNORE]),
        (1.0, [0, 0, 0, 0, 0, 1, 1, IGNORE]),
    ],
)
def test_of_each_class_the_surest_share_is_kept(share: float, kept: list[int]) -> None:
    """Five pixels of class 0, two of class 1, none of class 2."""
    pseudo = labels_at([0, 0, 0, 0, 0, 1, 1, IGNORE], [0.99, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.0])
    histogram = ConfidenceHistogram(3)
    histogram.add(pseudo)
    assert histogram.surest(pseudo, share).labels.flatten().tolist() == kept


def test_the_share_is_that_of_all_pixels_seen_since_it_forgot() -> None:
    histogram, now = ConfidenceHistogram(2), labels_at([0], [0.8])
    histogram.add(labels_at([0, 0, 0], [0.9, 0.95, 0.99]))
    histogram.add(now)
    assert histogram.surest(now, 0.75).labels.item() == IGNORE
    assert histogram.surest(now, 1.0).labels.item() == 0
    histogram.forget()
    histogram.add(now)
    assert histogram.surest(now, 0.2).labels.item() == 0


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_shares_are_those_of_a_sort_to_the_width_of_a_bin(share: float) -> None:
    generator = torch.Generator().manual_seed(0)
    odds = 3 + 2 * torch.randn(1, 50, 200, generator=generator)
    pseudo = PseudoLabels(torch.randint(3, (1, 50, 200), generator=generator), odds.sigmoid())
    histogram = ConfidenceHistogram(3)
    histogram.add(pseudo)
    kept = histogram.surest(pseudo, share).labels != IGNORE
    for k in range(3):
        mine = pseudo.labels == k
        assert kept[mine].float().mean() == pytest.approx(share, abs=0.01)
        assert odds[mine & kept].min() > odds[mine & ~kept].max() - 1e-3


@pytest.fixture
def method(tiny_network, same_view) -> Callable[..., DMT]:
    """`method(iterations=..., ...)`: of two tiny networks."""

    def build(iterations: int = 12, features: int | None = None, **settings: float) -> DMT:
        second = tiny_network()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            second.apply(
                lambda layer: layer.reset_parameters() if hasattr(layer, "reset_parameters") else None
            )
        return DMT(
            tiny_network(features=features),
            second,
            same_view,
            lambda network: torch.optim.SGD(network.parameters(), lr=0.1),
            2,
            iterations,
            **settings,  # type: ignore[arg-type]
        )

    return build


def go_on(method: DMT, toy_batch: Callable[..., Batch], iterations: range) -> list[float]:
    optimisers = [torch.optim.SGD(method.student.parameters(), lr=0.1), *method.own_optimisers().values()]
    losses = []
    for iteration in iterations:
        unlabelled = toy_batch(seed=50 + iteration, visible=False)
        output = method(
            toy_batch(seed=iteration),
            unlabelled if method.uses_unlabelled(iteration) else None,
            iteration=iteration,
            generator=torch.Generator().manual_seed(iteration),
        )
        method.zero_grad()
        output.loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        method.after_update(iteration)
        losses.append(output.loss.item())
    return losses


def test_rounds_are_equal_parts_of_what_the_supervised_start_leaves(method) -> None:
    dmt = method(iterations=12, supervised_start=2)
    assert [dmt.round_of(iteration) for iteration in range(12)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [dmt.uses_unlabelled(iteration) for iteration in (0, 1, 2, 11)] == [False, False, True, True]
    assert [method(rounds=1).round_of(iteration) for iteration in (0, 11)] == [1, 1]


def test_each_round_asks_for_a_larger_share(method, toy_batch, generator, monkeypatch) -> None:
    asked, surest, dmt = [], SurestLabels.surest, method(iterations=5)

    def note(labeller, unlabelled, share):
        asked.append(share)
        return surest(labeller, unlabelled, share)

    monkeypatch.setattr(SurestLabels, "surest", note)
    for iteration in range(5):
        dmt(toy_batch(), toy_batch(seed=1, visible=False), iteration=iteration, generator=generator)
    assert asked == pytest.approx([0.2, 0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 0.8, 1, 1])  # of both networks


def test_pixels_count_as_much_as_their_class(method, toy_batch, generator) -> None:
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    dmt = method(iterations=5).eval()
    dmt.class_weights = torch.tensor([3.0, 1.0])
    output = dmt(labelled, unlabelled, iteration=4, generator=generator)
    parts = {name: part.item() for name, part in output.parts.items()}
    by_people = (3 * (labelled.labels == 0) + (labelled.labels == 1)).sum().item()
    total = by_people * parts["supervised"] + 2048 * parts["unsupervised"]
    assert output.loss.item() == pytest.approx(total / (by_people + 2048) + parts["second"], rel=1e-5)


def same(first: nn.Module, second: nn.Module) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_copies_are_taken_when_a_round_begins_and_stay_as_they_are(method, toy_batch) -> None:
    dmt = method(iterations=12, supervised_start=2)
    go_on(dmt, toy_batch, range(2))
    assert same(dmt.by_student.copy.network, dmt.student)
    assert same(dmt.by_second.copy.network, dmt.second)
    kept = copy.deepcopy(dmt.by_student.copy.network)
    go_on(dmt, toy_batch, range(2, 3))
    assert same(dmt.by_student.copy.network, kept)
    assert not same(dmt.by_student.copy.network, dmt.student)
    assert dmt.by_student.histogram.counts.sum() == 2 * 32 * 32
    go_on(dmt, toy_batch, range(3, 4))
    assert same(dmt.by_student.copy.network, dmt.student)
    assert dmt.by_student.histogram.counts.sum() == 0
    assert not any(module.training for module in dmt.by_student.copy.network.modules())


def test_a_run_that_is_saved_in_the_middle_of_a_round_goes_on_to_the_bit(method, toy_batch) -> None:
    settings = {"iterations": 12, "supervised_start": 2}
    whole, first, second = method(**settings), method(**settings), method(**settings)
    expected = go_on(whole, toy_batch, range(8))
    found = go_on(first, toy_batch, range(3))  # round 1 is iterations 2 and 3
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert found + go_on(second, toy_batch, range(3, 8)) == expected
    assert same(second, whole)


def test_the_loss_is_that_of_all_labelled_pixels_over_their_number(method, toy_batch, generator) -> None:
    dmt = method(iterations=5).eval()
    labelled, unlabelled = toy_batch(), toy_batch(seed=1, visible=False)
    output = dmt(labelled, unlabelled, iteration=4, generator=generator)  # the last round: all labels count
    assert list(output.parts) == ["supervised", "unsupervised", "second"]
    expected = 0.0
    for learner, labeller in ((dmt.student, dmt.second), (dmt.second, dmt.student)):
        with torch.no_grad():
            by = nn.functional.interpolate(
                labeller(unlabelled.images).logits, (32, 32), mode="bilinear"
            ).softmax(1)
            x = nn.functional.interpolate(learner(labelled.images).logits, (32, 32), mode="bilinear")
            u = learner(unlabelled.images).logits
        confidence, labels = by.max(1)
        on_x = nn.functional.cross_entropy(x, labelled.labels, reduction="sum")
        on_u = agreement_losses(u, PseudoLabels(labels, confidence), 5, 5).sum()
        expected += ((on_x + on_u) / (4 * 32 * 32)).item()
    assert output.loss.item() == pytest.approx(expected, rel=1e-5)


def test_with_few_kept_pixels_labels_of_people_weigh_more(method, toy_batch, generator) -> None:
    dmt = method(iterations=5).eval()
    output = dmt(toy_batch(), toy_batch(seed=1, visible=False), iteration=0, generator=generator)
    kept = [2048, (output.mixed[1].labels != IGNORE).sum().item()]
    assert kept[1] == pytest.approx(0.2 * 2048, rel=0.1)  # to the width of a bin
    parts = {name: part.item() for name, part in output.parts.items()}
    of_student = (kept[0] * parts["supervised"] + kept[1] * parts["unsupervised"]) / sum(kept)
    assert output.loss.item() == pytest.approx(of_student + parts["second"], rel=1e-5)


def test_each_network_learns_from_its_own_loss_and_copies_from_none(method, toy_batch, generator) -> None:
    dmt = method(iterations=5)
    output = dmt(toy_batch(), toy_batch(seed=1, visible=False), iteration=4, generator=generator)
    output.loss.backward()
    learning = {name for name, parameter in dmt.named_parameters() if parameter.grad is not None}
    assert learning == {
        name for name, _ in dmt.named_parameters() if name.startswith(("student.", "second."))
    }
    # labels of a network's own copy are not its business: the student's loss does not know the student's copy
    before = {name: p.grad.clone() for name, p in dmt.student.named_parameters()}
    with torch.no_grad():
        for parameter in dmt.by_student.copy.network.parameters():
            parameter.mul_(-1)
    dmt.zero_grad()
    dmt(toy_batch(), toy_batch(seed=1, visible=False), iteration=4, generator=generator).loss.backward()
    assert all(torch.equal(before[name], p.grad) for name, p in dmt.student.named_parameters())


def test_padding_is_neither_counted_nor_learned_from(method, toy_batch, generator) -> None:
    dmt, unlabelled = method(iterations=5), toy_batch(seed=1, visible=False)
    inside = torch.ones_like(unlabelled.labels, dtype=torch.bool)
    inside[:, 8:] = False
    output = dmt(toy_batch(), replace(unlabelled, inside=inside), iteration=4, generator=generator)
    assert dmt.by_second.histogram.counts.sum() == 2 * 8 * 32
    assert torch.equal(output.mixed[1].labels != IGNORE, inside)


def test_known_labels_of_partly_labelled_images_override_the_others(method, toy_batch, generator) -> None:
    dmt, unlabelled = method(iterations=5), toy_batch(seed=1, visible=False)
    unlabelled.labels[0, 3, 5], unlabelled.labels[0, 4, 5] = 0, 1
    output = dmt(replace(toy_batch(), sparse=True), unlabelled, iteration=0, generator=generator)
    pseudo = output.pixels[1][1]
    assert pseudo.labels[0, 3:5, 5].tolist() == [0, 1]
    assert pseudo.confidence[0, 3:5, 5].tolist() == [1, 1]


def test_the_contrast_takes_the_students_answer_and_the_others_labels(method, toy_batch, generator) -> None:
    dmt = method(iterations=5, features=6)
    dmt.contrast = ContrastTerm(contrast=RegionalContrast(num_queries=8, num_keys=16), trust_above=0.5)
    batches = toy_batch(), toy_batch(seed=1, visible=False)
    output = dmt(*batches, iteration=4, generator=generator, draws=generator)
    assert output.parts["contrast"] > 0
    assert dmt.evaluation_model is dmt.student


def test_networks_that_start_alike_are_refused(tiny_network, same_view) -> None:
    with pytest.raises(UserError, match="dmt needs two networks that start differently"):
        DMT(
            tiny_network(),
            tiny_network(),
            same_view,
            lambda network: torch.optim.SGD(network.parameters()),
            2,
            5,
        )


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("rounds", 0, "rounds: must be"),
        ("agree_power", -1.0, "agree_power: must be"),
        ("supervised_start", -1, "supervised_start: must be"),
    ],
)
def test_impossible_settings_are_refused(method, setting, value, says) -> None:
    with pytest.raises(UserError, match=says):
        method(**{setting: value})
