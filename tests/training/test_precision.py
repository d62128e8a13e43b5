"""Half precision on a CPU, gradient clipping, and the scaler that float16 needs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from recoseg.training.precision import Precision

CPU = torch.device("cpu")


def one_step(precision: Precision, *, clip: float | None = None, factor: float = 1.0) -> nn.Linear:
    """A network after one step of SGD on factor * (3 w1 + 4 w2) / 64: a gradient of the norm 5 / 64 * factor.

    In float16 it must be small: the scale at the start, 65536, is more than the largest number.
    """
    network = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(network.weight)
    optimiser = torch.optim.SGD(network.parameters(), lr=1.0)
    with precision.autocast():
        loss = factor * network(torch.tensor([[3.0, 4.0]])).float().sum() / 64
    precision.backward(loss)
    precision.update([optimiser], clip)
    return network


def test_on_a_cpu_auto_is_float32() -> None:
    precision = Precision("auto", CPU)
    assert precision.name == "float32"
    with precision.autocast():
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype == torch.float32


@pytest.mark.parametrize(("name", "dtype"), [("bfloat16", torch.bfloat16), ("float16", torch.float16)])
def test_half_precision_computes_in_it_and_keeps_the_weights_whole(name, dtype) -> None:
    precision = Precision(name, CPU)
    with precision.autocast():
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype == dtype
    network = one_step(precision)
    assert network.weight.dtype == torch.float32
    assert network.weight.tolist() == [[-3 / 64, -4 / 64]]


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_the_gradient_is_cut_to_the_norm_asked_for_whatever_its_scale(name) -> None:
    moved = one_step(Precision(name, CPU), clip=0.01).weight
    torch.testing.assert_close(moved, torch.tensor([[-0.006, -0.008]]), atol=1e-6, rtol=1e-4)
    left = one_step(Precision(name, CPU), clip=10.0).weight
    assert left.tolist() == [[-3 / 64, -4 / 64]]


def test_float16_skips_a_step_that_overflows_and_lowers_its_scale() -> None:
    precision = Precision("float16", CPU)
    one_step(precision)  # the scale exists from the first step on
    before = precision.state()["scale"]
    assert one_step(precision, factor=1e38).weight.tolist() == [[0.0, 0.0]]
    assert precision.state()["scale"] == before / 2


def test_the_scale_goes_on_where_it_was_saved() -> None:
    precision = Precision("float16", CPU)
    one_step(precision, factor=1e38)
    resumed = Precision("float16", CPU)
    resumed.restore(precision.state())
    assert resumed.state() == precision.state()
    assert resumed.state()["scale"] == 2.0**15


def test_a_run_begun_without_scale_can_go_on_with_one() -> None:
    resumed = Precision("float16", CPU)
    resumed.restore(Precision("float32", CPU).state())
    assert resumed.state()["scale"] == 2.0**16


def test_every_network_has_its_own_gradient_clipped() -> None:
    weights = [nn.Parameter(torch.zeros(2)) for _ in range(2)]
    optimisers = [torch.optim.SGD([weight], lr=1.0) for weight in weights]
    precision = Precision("float32", CPU)
    precision.backward((weights[0] * torch.tensor([30.0, 40.0])).sum() + (weights[1] * 0.1).sum())
    precision.update(optimisers, 1.0)
    assert weights[0].tolist() == pytest.approx([-0.6, -0.8], rel=1e-4)
    assert weights[1].tolist() == pytest.approx([-0.1, -0.1])
