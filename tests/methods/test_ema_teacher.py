"""The teacher: how it follows the student, and how it labels."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.errors import UserError
from recoseg.methods.parts.ema_teacher import Teacher, by_batch
from recoseg.types import ModelOutput


class OneNumber(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))


def follow(decay: float, values: list[float]) -> list[float]:
    """What a teacher of one number is after each update."""
    student = OneNumber()
    teacher = Teacher(student, decay=decay)
    path = []
    for iteration, value in enumerate(values):
        student.value.data.fill_(value)
        teacher.update(student, iteration)
        path.append(teacher.network.value.item())
    return path


def test_the_first_update_copies_the_student(tiny_network, toy_batch) -> None:
    student = tiny_network()
    teacher = Teacher(student)
    student(toy_batch().images)  # moves the running statistics
    nn.init.normal_(student.classifier.weight)
    assert not torch.equal(teacher.network.classifier.weight, student.classifier.weight)
    teacher.update(student, 0)
    assert teacher.network.state_dict().keys() == student.state_dict().keys()
    for name, tensor in student.state_dict().items():
        assert torch.equal(teacher.network.state_dict()[name], tensor), name


def test_during_warm_up_the_teacher_is_the_plain_mean_of_all_students() -> None:
    # decay 1 - 1/(t+1) is below 0.99 until t = 99: the mean of 0, 1, ..., t is t / 2
    path = follow(0.99, [float(t) for t in range(100)])
    assert path == pytest.approx([t / 2 for t in range(100)], rel=1e-5)


def test_after_warm_up_the_decay_is_the_one_given() -> None:
    # copy 0; half of 0 and 4; half of 2 and 8; half of 5 and 1
    assert follow(0.5, [0.0, 4.0, 8.0, 1.0]) == pytest.approx([0, 2, 5, 3])


def test_the_decay_sequence_is_one_minus_one_over_t_plus_one_at_most_the_given() -> None:
    values = [((7 * t) % 13) / 13 for t in range(130)]
    expected, path = 0.0, []
    for t, value in enumerate(values):
        decay = min(1 - 1 / (t + 1), 0.99)
        expected = decay * expected + (1 - decay) * value
        path.append(expected)
    assert follow(0.99, values) == pytest.approx(path, rel=1e-5)


@pytest.mark.parametrize("norm", ["average", "batch"])
def test_running_statistics_are_averaged_and_counters_copied(tiny_network, norm) -> None:
    student = tiny_network()
    teacher = Teacher(student, decay=0.5, norm=norm)
    for iteration, (mean, count) in enumerate([(2.0, 5), (4.0, 9)]):
        student.body[1].running_mean.fill_(mean)
        student.body[1].num_batches_tracked.fill_(count)
        teacher.update(student, iteration)
    assert teacher.network.body[1].running_mean.tolist() == pytest.approx([3.0] * 8)
    assert teacher.network.body[1].num_batches_tracked.item() == 9


def test_labels_with_averaged_statistics_do_not_depend_on_the_batch(tiny_network, toy_batch) -> None:
    teacher = Teacher(tiny_network(), norm="average")
    images = toy_batch(3).images
    images[1:] *= 0.3
    alone, among = teacher.pseudo_label(images[:1]), teacher.pseudo_label(images)
    torch.testing.assert_close(alone.confidence, among.confidence[:1])


def test_labels_with_statistics_of_the_batch_depend_on_it_and_leave_the_running_ones(
    tiny_network, toy_batch
) -> None:
    teacher = Teacher(tiny_network(), norm="batch")
    before = {name: tensor.clone() for name, tensor in teacher.state_dict().items()}
    images = toy_batch(3).images
    images[1:] *= 0.3
    alone, among = teacher.pseudo_label(images[:1]), teacher.pseudo_label(images)
    assert (alone.confidence - among.confidence[:1]).abs().max() > 0.01
    for name, tensor in teacher.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert not any(module.training for module in teacher.network.modules())


def test_statistics_of_the_batch_are_taken_within_one_call(tiny_network, toy_batch) -> None:
    network = tiny_network().eval()
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    assert norms
    with by_batch(network):
        assert all((norm.training, norm.track_running_stats) == (True, False) for norm in norms)
    assert all((norm.training, norm.track_running_stats) == (False, True) for norm in norms)


def test_statistics_of_the_batch_are_those_that_a_student_in_training_would_take(
    tiny_network, toy_batch
) -> None:
    student, images = tiny_network(), toy_batch(3).images
    taught = Teacher(student, norm="batch").pseudo_label(images)
    logits = nn.functional.interpolate(student.train()(images).logits, (32, 32), mode="bilinear")
    torch.testing.assert_close(taught.confidence, logits.softmax(1).amax(1).detach())


def test_a_teacher_shares_nothing_with_its_student_and_never_trains(tiny_network) -> None:
    student = tiny_network()
    teacher = Teacher(student)
    places = {tensor.data_ptr() for tensor in student.state_dict().values()}
    assert places.isdisjoint(tensor.data_ptr() for tensor in teacher.state_dict().values())
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
    assert all(parameter.requires_grad for parameter in student.parameters())
    nn.ModuleList([teacher]).train()
    assert not any(module.training for module in teacher.network.modules())


def test_a_pseudo_label_is_the_likeliest_class_with_its_probability(tiny_network, toy_batch) -> None:
    teacher = Teacher(tiny_network(probabilities=(0.1, 0.75, 0.15)))
    pseudo = teacher.pseudo_label(toy_batch(size=(33, 47)).images)
    assert pseudo.labels.shape == pseudo.confidence.shape == (2, 33, 47)
    assert pseudo.labels.unique().tolist() == [1]
    assert pseudo.confidence.flatten().tolist() == pytest.approx([0.75] * (2 * 33 * 47), abs=1e-6)


def test_confidence_is_not_squeezed_through_8_bits(tiny_network, toy_batch) -> None:
    teacher = Teacher(tiny_network(probabilities=(0.03, 0.97)))
    confidence = teacher.pseudo_label(toy_batch().images).confidence
    assert confidence.dtype == torch.float32
    # the nearest of 256 values are 0.9686 and 0.9725
    assert [confidence.min().item(), confidence.max().item()] == pytest.approx([0.97] * 2, abs=1e-6)


def test_probabilities_of_enlarged_logits_are_not_enlarged_probabilities(toy_batch) -> None:
    class Slope(nn.Module):
        def forward(self, images: torch.Tensor) -> ModelOutput:
            logits = torch.tensor([[[[0.0, 8.0]], [[0.0, 0.0]]]])  # (1, 2, 1, 2)
            return ModelOutput(logits)

    pseudo = Teacher(Slope()).pseudo_label(torch.zeros(1, 3, 1, 4))
    # bilinear, half-pixel centres: 0, 2, 6, 8
    expected = torch.sigmoid(torch.tensor([0.0, 2.0, 6.0, 8.0])).tolist()
    assert pseudo.confidence[0, 0].tolist() == pytest.approx(expected)
    assert pseudo.labels[0, 0, 1:].tolist() == [0, 0, 0]


def test_confidence_is_float32_also_where_the_network_answers_in_16_bits(tiny_network, toy_batch) -> None:
    network = tiny_network(probabilities=(0.03, 0.97), answers_in=torch.bfloat16)
    assert network(toy_batch().images).logits.dtype == torch.bfloat16
    assert Teacher(network).pseudo_label(toy_batch().images).confidence.dtype == torch.float32


def test_labelling_does_not_run_the_representation_head_and_puts_it_back(tiny_network, toy_batch) -> None:
    teacher = Teacher(tiny_network(features=4))
    head, calls = teacher.network.representation, []
    head.register_forward_hook(lambda *_: calls.append(1))
    images = toy_batch().images
    teacher.pseudo_label(images)
    assert not calls
    assert teacher.network.representation is head
    assert teacher.network(images).features is not None
    assert len(calls) == 1


def test_the_head_comes_back_after_an_error_too(tiny_network) -> None:
    teacher = Teacher(tiny_network(features=4), norm="batch")
    head = teacher.network.representation
    with pytest.raises(RuntimeError):
        teacher.pseudo_label(torch.zeros(1, 5, 8, 8))
    assert teacher.network.representation is head
    assert not teacher.network.body[1].training


def test_impossible_settings_are_refused(tiny_network) -> None:
    with pytest.raises(UserError, match="decay must be at least 0 and below 1, got 1"):
        Teacher(tiny_network(), decay=1.0)
    with pytest.raises(UserError, match="unknown teacher's norm 'batsh'; did you mean 'batch'"):
        Teacher(tiny_network(), norm="batsh")


def test_a_fast_warm_up_forgets_the_first_students_sooner() -> None:
    # decays 1/10, 2/11, 3/12, ...: of 0, 8, 8 the teacher (which starts at 0) has 0, 9/11 * 8, and so on
    student = OneNumber()
    teacher = Teacher(student, decay=0.99, warm_up="fast")
    path = []
    for iteration, value in enumerate([0.0, 8.0, 8.0]):
        student.value.data.fill_(value)
        teacher.update(student, iteration)
        path.append(teacher.network.value.item())
    second = 9 / 11 * 8
    assert path == pytest.approx([0, second, 3 / 12 * second + 9 / 12 * 8])


def test_a_fast_warm_up_ends_at_the_given_decay() -> None:
    student = OneNumber()
    teacher = Teacher(student, decay=0.5, warm_up="fast")
    student.value.data.fill_(1.0)
    teacher.update(student, 1000)
    assert teacher.network.value.item() == 0.5


def test_without_a_warm_up_the_decay_is_constant_from_the_first_update() -> None:
    student = OneNumber()
    teacher = Teacher(student, decay=0.9, warm_up="none")
    student.value.data.fill_(1.0)
    for iteration in range(3):
        teacher.update(student, iteration)
    assert teacher.network.value.item() == pytest.approx(1 - 0.9**3)


def test_an_unknown_warm_up_is_an_error() -> None:
    with pytest.raises(UserError, match="fast"):
        Teacher(OneNumber(), warm_up="fats")
