"""What all methods that settings ask for have in common: which network is evaluated."""

from __future__ import annotations

import pytest
import torch

from recoseg.config import load
from recoseg.config.settings import KINDS
from recoseg.errors import UserError
from recoseg.methods import METHODS, Method
from recoseg.models.build import build_starting_model
from recoseg.runs.build import build_method

SETTINGS = {name: set(kind.__struct_fields__) for name, kind in KINDS["method"].items()}
LABELLED_BY_IT = {"mean_teacher", "vat", "unimatch_v2"}
"""Methods whose moving average labels: it is always there."""


def built(name: str, *words: str) -> Method:
    config = load(None, [f"--method={name}", "--model.decoder_width=8", "--train.iterations=100", *words])
    student, _ = build_starting_model(config.model, 3, seed=0)
    return build_method(config, student, 3)


def test_every_method_can_be_evaluated_as_a_moving_average() -> None:
    for name in METHODS.keys() - {"probe"}:  # which has no students to average
        assert ("decay" if name in LABELLED_BY_IT else "average") in SETTINGS[name], name


@pytest.mark.parametrize("name", sorted(set(METHODS) - LABELLED_BY_IT - {"probe"}))
def test_the_mean_of_the_first_students_is_evaluated_where_that_is_asked_for(name) -> None:
    plain = built(name)
    assert plain.evaluation_model is plain.student
    method = built(name, "--method.average=0.99")
    first, second = torch.randn(2, *_bias(method.student).shape)
    for iteration, value in enumerate((first, second)):
        _bias(method.student).data.copy_(value)
        method.after_update(iteration)
    torch.testing.assert_close(_bias(method.evaluation_model), (first + second) / 2)
    torch.testing.assert_close(_bias(method.student), second)
    assert not any(parameter.requires_grad for parameter in method.evaluation_model.parameters())


@pytest.mark.parametrize("name", sorted(LABELLED_BY_IT))
def test_what_labels_is_evaluated(name) -> None:
    method = built(name)
    assert method.teacher is not None
    assert method.evaluation_model is method.teacher.network


def test_a_warm_up_of_no_average_is_refused() -> None:
    with pytest.raises(UserError, match=r"method\.warm_up has no effect without method\.average"):
        built("dmt", "--method.warm_up=fast")


def _bias(network: torch.nn.Module) -> torch.Tensor:
    """Of the last convolution of the classifier."""
    return [value for name, value in network.named_parameters() if name.startswith("classifier")][-1]
