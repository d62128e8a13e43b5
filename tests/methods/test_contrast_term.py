"""ReCo on top of a method: which pixels take part, and what it adds to a step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.supervised import Supervised
from recoseg.types import IGNORE, ModelOutput, PseudoLabels, StepOutput


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def output_of(logits: Tensor) -> ModelOutput:
    """A prediction with features of as many cells."""
    return ModelOutput(logits, torch.randn(len(logits), 6, *logits.shape[2:], generator=seeded()))


def logits_for(probabilities: list[float]) -> Tensor:
    """(1, 2, 1, w): each cell's probability of class 1."""
    of_one = torch.tensor(probabilities)
    return torch.stack([1 - of_one, of_one]).log()[None, :, None]


def single_pixels(labels: torch.Tensor) -> PseudoLabels:
    return replace(PseudoLabels.certain(labels), sparse=True)


def term(**settings: float) -> ContrastTerm:
    return ContrastTerm(contrast=RegionalContrast(num_queries=8, num_keys=16), **settings)


def test_pseudo_labels_take_part_from_the_threshold_on() -> None:
    confidence = torch.tensor([[[0.69, 0.7, 0.71, 1.0]]])
    pseudo = PseudoLabels(torch.tensor([[[0, 1, 0, 1]]]), confidence)
    _, labels, _ = term().cells(output_of(logits_for([0.5] * 4)), pseudo)
    assert labels.tolist() == [[[IGNORE, 1, 0, 1]]]


def test_labels_of_a_person_take_part_whatever_the_student_thinks() -> None:
    labelled = PseudoLabels.certain(torch.tensor([[[0, 1, IGNORE, 1]]]))
    _, labels, _ = term(trust_above=0.99).cells(output_of(logits_for([0.999] * 4)), labelled)
    assert labels.tolist() == [[[0, 1, IGNORE, 1]]]


def test_beside_sparse_labels_the_student_joins_with_what_it_is_sure_of() -> None:
    known = single_pixels(torch.tensor([[[0, IGNORE, IGNORE, IGNORE]]]))
    predicted = output_of(logits_for([0.99, 0.98, 0.96, 0.01]))
    _, labels, _ = term().cells(predicted, known)
    assert labels.tolist() == [[[0, 1, IGNORE, 0]]]  # known ones stay, even against a sure student


def test_beside_sparse_labels_padding_does_not_join() -> None:
    shown = torch.ones(1, 8, 16, dtype=torch.bool)
    shown[:, :, 10:] = False  # cells of 4: the third shows its left half alone, its centre is padding
    known = replace(single_pixels(torch.full((1, 8, 16), IGNORE)), inside=shown)
    _, labels, _ = term().cells(output_of(logits_for([0.99] * 4).expand(1, 2, 2, 4)), known)
    assert labels.tolist() == [[[1, 1, IGNORE, IGNORE]] * 2]


def test_beside_whole_labels_the_student_does_not_join() -> None:
    known = PseudoLabels.certain(torch.tensor([[[0, IGNORE, IGNORE, IGNORE]]]))
    _, labels, _ = term().cells(output_of(logits_for([0.99, 0.98, 0.96, 0.01])), known)
    assert labels.tolist() == [[[0, IGNORE, IGNORE, IGNORE]]]


def test_a_sparse_label_survives_the_way_down_to_the_feature_map() -> None:
    labels = torch.full((1, 16, 16), IGNORE)
    labels[0, 5, 10] = 1  # in cell (1, 2) of stride 4, off its centre
    predicted = output_of(torch.zeros(1, 2, 4, 4))
    expected = torch.full((1, 4, 4), IGNORE)
    expected[0, 1, 2] = 1
    _, sparse, _ = term().cells(predicted, single_pixels(labels))
    assert torch.equal(sparse, expected)


def test_probabilities_are_the_students_at_the_size_of_the_features() -> None:
    predicted = ModelOutput(logits_for([0.25, 0.25]).requires_grad_(), torch.ones(1, 6, 1, 4))
    features, _, probabilities = term().cells(predicted, PseudoLabels.certain(torch.zeros(1, 1, 4).long()))
    assert features is predicted.features
    assert probabilities.shape == (1, 2, 1, 4)
    assert probabilities[0, 1].flatten().tolist() == pytest.approx([0.25] * 4)
    assert not probabilities.requires_grad


def test_a_network_without_features_is_named(tiny_network, toy_batch, generator) -> None:
    output = Supervised(tiny_network())(toy_batch(), None, iteration=0, generator=generator)
    with pytest.raises(UserError, match="needs a network that gives features"):
        term()(output, generator, iteration=0)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_the_total_is_supervised_plus_unsupervised_plus_weighted_contrast(
    tiny_network, toy_batch, weight
) -> None:
    method = MeanTeacher(tiny_network(features=6), StrongView(), trust_above=0.5)
    step = method(toy_batch(), toy_batch(visible=False), iteration=0, generator=seeded())
    with_contrast = term(weight=weight, trust_above=0.5)(step, seeded(), iteration=0)
    parts = {name: part.item() for name, part in with_contrast.parts.items()}
    assert parts.keys() == {"supervised", "unsupervised", "contrast"}
    assert min(parts.values()) > 0
    expected = parts["supervised"] + parts["unsupervised"] + weight * parts["contrast"]
    assert with_contrast.loss.item() == pytest.approx(expected, rel=1e-6)
    assert not with_contrast.parts["contrast"].requires_grad


def test_the_contrast_is_that_of_all_pieces_joined() -> None:
    logits = torch.randn(3, 3, 4, 4, generator=seeded())
    pieces = [
        (output_of(logits[:1]), PseudoLabels.certain(torch.ones(1, 4, 4).long())),
        (output_of(logits[1:]), PseudoLabels.certain(torch.arange(32).view(2, 4, 4) % 3)),
    ]
    features = torch.cat([predicted.features for predicted, _ in pieces])
    labels = torch.cat([pseudo.labels for _, pseudo in pieces])
    expected = RegionalContrast(num_queries=8, num_keys=16)(
        features, labels, logits.softmax(1), generator=seeded()
    )
    found = term()(StepOutput(loss=torch.tensor(2.0), pixels=pieces), seeded(), iteration=0)
    assert found.parts["contrast"].item() == pytest.approx(expected.item(), rel=1e-6)
    assert found.loss.item() == pytest.approx(2 + expected.item(), rel=1e-6)


def test_one_piece_and_two_pieces_give_the_same_contrast_and_gradients(tiny_network, toy_batch) -> None:
    found, num_pieces = {}, {}
    for student_pass in ("separate", "together"):
        method = MeanTeacher(tiny_network(features=6), StrongView(), student_pass=student_pass).eval()
        step = method(toy_batch(), toy_batch(seed=1, visible=False), iteration=0, generator=seeded())
        output = term(trust_above=0.5)(step, seeded(), iteration=0)
        output.loss.backward()
        num_pieces[student_pass] = len(step.pixels)
        found[student_pass] = [output.parts["contrast"], *(p.grad for p in method.student.parameters())]
    assert num_pieces == {"separate": 2, "together": 1}
    assert found["separate"][0] > 0
    for separate, together in zip(*found.values(), strict=True):
        torch.testing.assert_close(separate, together)


def test_sparse_labels_stay_a_piece_of_their_own_also_when_seen_together(tiny_network, toy_batch) -> None:
    method = MeanTeacher(tiny_network(features=6), StrongView(), student_pass="together")
    labelled = replace(toy_batch(), sparse=True)
    step = method(labelled, toy_batch(seed=1, visible=False), iteration=0, generator=seeded())
    assert [pseudo.sparse for _, pseudo in step.pixels] == [True, False]
    assert [len(predicted.features) for predicted, _ in step.pixels] == [2, 2]


def test_the_contrast_teaches_the_representation_head_and_not_the_classifier(tiny_network, toy_batch) -> None:
    student = tiny_network(features=6)
    step = Supervised(student)(toy_batch(), None, iteration=0, generator=seeded())
    output = term()(replace(step, loss=step.loss.detach()), seeded(), iteration=0)
    output.loss.backward()
    assert student.representation.weight.grad.abs().sum() > 0
    assert student.body[0].weight.grad.abs().sum() > 0
    assert student.classifier.weight.grad is None


def test_stats_are_given_when_asked_for(tiny_network, toy_batch) -> None:
    step = Supervised(tiny_network(features=6))(toy_batch(), None, iteration=0, generator=seeded())
    step = replace(step, stats={"another": torch.tensor(1.0)})
    plain, told = term()(step, seeded(), iteration=0), term()(step, seeded(), iteration=0, with_stats=True)
    assert plain.stats.keys() == {"another"}
    assert told.loss.item() == plain.loss.item()
    stats = {name: value.item() for name, value in told.stats.items()}
    assert stats["another"] == 1
    assert stats["contrast_chance_level"] == pytest.approx(2.833213, rel=1e-6)  # log(1 + 16)
    assert stats["contrast_active_classes"] == 2
    assert 0 <= stats["contrast_accuracy"] <= 1
    assert 0 < stats["contrast_hard_share"] <= 1
    assert told.note is None


def test_one_class_alone_gives_a_connected_zero_and_a_note(tiny_network, toy_batch) -> None:
    student = tiny_network(features=6)
    labelled = toy_batch()
    labelled = replace(labelled, labels=torch.zeros_like(labelled.labels))
    step = Supervised(student)(labelled, None, iteration=0, generator=seeded())
    output = term()(step, seeded(), iteration=0, with_stats=True)
    output.loss.backward()
    assert output.parts["contrast"].item() == 0
    assert output.loss.item() == step.loss.item()
    assert student.representation.weight.grad is not None
    assert not student.representation.weight.grad.any()
    assert output.note == "the contrast is 0 in this step: only one class is present"


@pytest.mark.parametrize(("name", "value"), [("trust_above", 1.01), ("own_label_above", 1.5)])
def test_impossible_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"{name}: got {value}, needs a probability"):
        term(**{name: value})


@pytest.mark.parametrize(("iteration", "share"), [(0, 0.2), (1, 0.4), (4, 1.0), (9, 1.0)])
def test_the_weight_grows_over_the_ramp(iteration, share, tiny_network, toy_batch) -> None:
    step = Supervised(tiny_network(features=6))(toy_batch(), None, iteration=0, generator=seeded())
    output = term(weight=0.5, ramp=4)(step, seeded(), iteration=iteration)
    added = output.loss.item() - step.loss.item()
    assert added == pytest.approx(0.5 * share * output.parts["contrast"].item(), rel=1e-4)
