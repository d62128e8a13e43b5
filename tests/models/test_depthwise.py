"""Depthwise convolutions: gradients of our own against torch's, and where they stand aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.models import ENCODERS, DeepLabV3Plus
from recoseg.models.depthwise import DepthwiseConv2d, depthwise_conv2d

FORMATS = (torch.contiguous_format, torch.channels_last)


def plainly(x: Tensor, weight: Tensor, dilation: int) -> Tensor:
    return F.conv2d(x, weight, None, 1, dilation * (weight.shape[2] // 2), dilation, x.shape[1])


def gradients(way, x, weight, dilation, towards):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    output = way(x, weight, dilation)
    return [output.detach(), *torch.autograd.grad(output, (x, weight), towards)]


@pytest.mark.parametrize("order", FORMATS)
@pytest.mark.parametrize(
    ("side", "dilation", "size"),
    [(3, 2, (7, 9)), (3, 3, (2, 9)), (3, 6, (5, 5)), (5, 1, (6, 7)),
     (5, 2, (11, 4)), (5, 4, (3, 3)), (7, 1, (1, 8))],
)  # fmt: skip
def test_gradients_are_those_of_torch(side, dilation, size, order):
    torch.manual_seed(0)
    x = torch.randn(3, 5, *size, dtype=torch.float64)
    weight, towards = torch.randn(5, 1, side, side).double(), torch.randn_like(x)
    expected = gradients(plainly, x, weight, dilation, towards)
    x, weight, towards = (one.float().contiguous(memory_format=order) for one in (x, weight, towards))
    found = gradients(depthwise_conv2d, x, weight, dilation, towards)
    for ours, torchs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, torchs.float(), rtol=1e-4, atol=1e-5)


def test_a_kernel_of_ones_on_ones_counts_the_cells_that_it_meets():
    x, weight = torch.ones(1, 1, 3, 3, requires_grad=True), torch.ones(1, 1, 3, 3, requires_grad=True)
    depthwise_conv2d(x, weight, 2).sum().backward()
    # two cells apart, of three: a corner meets four cells, the middle one alone; the kernel's corner is
    # inside for one place of nine, its middle for all
    assert x.grad[0, 0].tolist() == [[4, 2, 4], [2, 1, 2], [4, 2, 4]]
    assert weight.grad[0, 0].tolist() == [[1, 3, 1], [3, 9, 3], [1, 3, 1]]


@contextmanager
def calls_counted(monkeypatch) -> Iterator[list[int]]:
    from recoseg.models import depthwise

    found, plain = [], depthwise._gradient_of_weight
    with monkeypatch.context() as patched:
        patched.setattr(depthwise, "_gradient_of_weight", lambda *words: found.append(1) or plain(*words))
        yield found


@pytest.mark.parametrize(
    ("encoder", "expected"),
    [("mobilenet_v2", 3 + 3), ("efficientnet_lite0", 8 + 1 + 3)],  # encoder's at stride 1, and ASPP's
)
def test_networks_take_the_fast_way_where_torch_has_none(encoder, expected, monkeypatch):
    network = DeepLabV3Plus(
        encoder=ENCODERS[encoder](), num_classes=3, decoder_width=8, separable=True, rates=[2, 4, 6]
    )
    with calls_counted(monkeypatch) as calls:
        network(torch.rand(2, 3, 32, 32)).logits.sum().backward()
    slow = [
        one
        for one in network.modules()
        if isinstance(one, torch.nn.Conv2d)
        and one.groups > 1
        and one.stride == (1, 1)
        and (one.dilation[0] > 1 or one.kernel_size[0] > 3)
    ]
    assert len(calls) == len(slow) == expected


def test_what_is_frozen_costs_nothing(monkeypatch):
    x, weight = torch.rand(1, 2, 4, 4, requires_grad=True), torch.rand(2, 1, 3, 3)
    with calls_counted(monkeypatch) as calls:
        depthwise_conv2d(x, weight, 2).sum().backward()
    assert x.grad is not None
    assert not calls


def test_other_precisions_and_undilated_kernels_are_left_to_torch(monkeypatch):
    layer = DepthwiseConv2d(2, 3, dilation=2)
    with calls_counted(monkeypatch) as calls:
        layer.double()(torch.rand(1, 2, 4, 4).double()).sum().backward()
        DepthwiseConv2d(2, 3)(torch.rand(1, 2, 4, 4)).sum().backward()
        DepthwiseConv2d(2, 5, stride=2)(torch.rand(1, 2, 8, 8)).sum().backward()
    assert not calls
    assert layer.weight.grad.dtype == torch.float64


def test_autocast_is_left_to_torch():
    x, weight = torch.rand(1, 2, 4, 4), torch.rand(2, 1, 3, 3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.MonkeyPatch.context() as patched:
        seen = []
        patched.setattr(torch.autograd.Function, "apply", lambda *words: seen.append(words))
        patched.setattr(F, "conv2d", lambda *words: words[0])  # 16-bit kernels may be unusable here
        depthwise_conv2d(x, weight, 2)
    assert not seen


def test_an_exported_network_has_torchs_own_operator():
    layer = DepthwiseConv2d(2, 3, dilation=2)
    program = torch.export.export(layer, (torch.rand(1, 2, 4, 4),))
    assert [str(node.target) for node in program.graph.nodes if node.op == "call_function"] == [
        "aten.conv2d.default"
    ]
