"""Resizing: values and gradients against torch's own, and where the fast way stands aside."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from recoseg import with_representation
from recoseg.models import ENCODERS, DeepLabV2, DeepLabV3Plus
from recoseg.models import bilinear as room
from recoseg.models.bilinear import resize


def plainly(x, size):
    return F.interpolate(x, size=tuple(size), mode="bilinear", align_corners=False)


def taken_ways(monkeypatch) -> list[int]:
    """Grows by one with each gradient that is computed by our products."""
    found, plain = [], room._weights
    monkeypatch.setattr(room, "_weights", lambda *words: found.append(1) or plain(*words))
    return found


@pytest.mark.parametrize(
    ("shape", "size"),
    [((2, 3, 4, 5), (16, 20)), ((1, 2, 3, 7), (8, 7)), ((2, 1, 1, 1), (5, 6)), ((1, 3, 9, 4), (10, 33)),
     ((1, 2, 6, 6), (6, 6))],
)  # fmt: skip
def test_gradients_are_those_of_torch(shape, size, monkeypatch):
    torch.manual_seed(0)
    x, towards = torch.randn(*shape, dtype=torch.float64), torch.randn(*shape[:2], *size, dtype=torch.float64)
    theirs = x.clone().requires_grad_()
    plainly(theirs, size).backward(towards)
    ways = taken_ways(monkeypatch)
    for dtype, atol in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        ours = x.to(dtype, copy=True).requires_grad_()
        output = resize(ours, size)
        assert torch.equal(output, plainly(x.to(dtype), size))  # the way there is torch's, to the bit
        output.backward(towards.to(dtype))
        torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=0, atol=atol)
    assert len(ways) == 4  # both sides, twice


def test_a_cell_between_two_pixels_learns_from_its_neighbours_by_their_nearness():
    x = torch.zeros(1, 1, 1, 2, requires_grad=True)
    resize(x, (1, 4)).mul(torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    # enlarged pixels lie at -1/4, 1/4, 3/4 and 5/4 of the way from the first cell to the second
    assert x.grad.flatten().tolist() == [1 + 7.5 + 25, 2.5 + 75 + 1000]


def test_gradients_of_gradients():
    x = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    towards = torch.randn(1, 2, 7, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda one: resize(one, (7, 8)), (x,))
    assert torch.autograd.gradgradcheck(lambda one: resize(one, (7, 8)) ** 2, (x,), (towards,))


@pytest.mark.parametrize(
    ("x", "size"),
    [(torch.randn(1, 4, 6, 6).contiguous(memory_format=torch.channels_last), (12, 12)),
     (torch.randn(1, 2, 8, 8), (4, 16)), (torch.randn(1, 2, 200, 8), (200, 16)),
     (torch.randn(1, 2, 4, 4).bfloat16(), (8, 8))],
    ids=["channels last", "made smaller", "a long side", "half precision"],
)  # fmt: skip
def test_torch_resizes_where_it_is_as_fast(x, size, monkeypatch):
    ways = taken_ways(monkeypatch)
    resize(x.requires_grad_(), size).float().sum().backward()
    assert ways == []


def deeplab(kind):
    return kind(encoder=ENCODERS["mobilenet_v2"](), num_classes=3)


def foreign():
    network = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 3, 1))
    return with_representation(network, num_classes=3, feature_channels=None)


@pytest.mark.parametrize(
    "build",
    [lambda: deeplab(DeepLabV2), lambda: deeplab(DeepLabV3Plus), foreign],
    ids=["v2", "v3+", "foreign"],
)
def test_logits_are_contiguous_whatever_order_images_have(build, monkeypatch):
    ways = taken_ways(monkeypatch)
    model = build().to(memory_format=torch.channels_last)
    images = torch.rand(2, 3, 64, 64).contiguous(memory_format=torch.channels_last)
    logits = model(images).logits
    assert logits.is_contiguous()
    resize(logits, (64, 64)).sum().backward()
    assert len(ways) == 2  # of the logits alone: what lies before them has channels last


def test_mixed_precision_leaves_gradients_whole():
    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        output = resize(x, (9, 9))
        (found,) = torch.autograd.grad(output, x, torch.full_like(output, 1 / 3))
    assert found.dtype == torch.float32
    (expected,) = torch.autograd.grad(plainly(x, (9, 9)), x, torch.full((1, 2, 9, 9), 1 / 3))
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_functional_gradients_forward_mode_and_vmap_go_the_same_way():
    torch.manual_seed(0)
    x, towards = torch.randn(3, 1, 2, 3, 4), torch.randn(1, 2, 7, 8)
    plain = torch.func.grad(lambda one: (plainly(one, (7, 8)) * towards).sum())
    ours = torch.func.grad(lambda one: (resize(one, (7, 8)) * towards).sum())
    expected = torch.stack([plain(one) for one in x])
    torch.testing.assert_close(torch.stack([ours(one) for one in x]), expected)
    torch.testing.assert_close(torch.func.vmap(ours)(x), expected)
    leaf = x[0].clone().requires_grad_()
    _, along = torch.func.jvp(lambda one: resize(one, (7, 8)), (leaf,), (x[1],))
    torch.testing.assert_close(along, plainly(x[1], (7, 8)))
