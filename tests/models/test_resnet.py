"""ResNets against a plain reading of their paper, with the parameter names that published weights have."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from recoseg.errors import UserError
from recoseg.models.encoders import ENCODERS

# Table 1 of He et al. (2016): blocks a stage, and whether they are bottlenecks
TABLE = {
    "resnet10_small": ((1, 1, 1, 1), False),  # ours, half as wide: for small images and random weights
    "resnet18": ((2, 2, 2, 2), False),
    "resnet50": ((3, 4, 6, 3), True),
}
# Parameters of torchvision's models less those of their last, fully connected layer
SIZES = {
    # stem 4,768; stages 18,560 + 57,728 + 230,144 + 919,040
    "resnet10_small": 1_230_240,
    "resnet18": 11_689_512 - (512 * 1000 + 1000),
    "resnet34": 21_797_672 - (512 * 1000 + 1000),
    "resnet50": 25_557_032 - (2048 * 1000 + 1000),
    "resnet101": 44_549_160 - (2048 * 1000 + 1000),
}


def conv_norm(x, weights, conv, norm, **settings):
    x = F.conv2d(x, weights[f"{conv}.weight"], **settings)
    parts = [weights[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
    return F.batch_norm(x, *parts)


def plain_block(x, weights, name, *, stride, bottleneck):
    shortcut = x
    if f"{name}.downsample.0.weight" in weights:
        shortcut = conv_norm(x, weights, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
    if bottleneck:
        x = F.relu(conv_norm(x, weights, f"{name}.conv1", f"{name}.bn1"))
        x = F.relu(conv_norm(x, weights, f"{name}.conv2", f"{name}.bn2", stride=stride, padding=1))
        x = conv_norm(x, weights, f"{name}.conv3", f"{name}.bn3")
    else:
        x = F.relu(conv_norm(x, weights, f"{name}.conv1", f"{name}.bn1", stride=stride, padding=1))
        x = conv_norm(x, weights, f"{name}.conv2", f"{name}.bn2", padding=1)
    return F.relu(x + shortcut)


def plain_forward(x, weights, blocks, bottleneck):
    """An undilated ResNet at stride 32, written out with the published parameter names."""
    x = F.relu(conv_norm(x, weights, "conv1", "bn1", stride=2, padding=3))
    x = F.max_pool2d(x, 3, stride=2, padding=1)
    for stage, count in enumerate(blocks, 1):
        for number in range(count):
            stride = 2 if stage > 1 and number == 0 else 1
            x = plain_block(x, weights, f"layer{stage}.{number}", stride=stride, bottleneck=bottleneck)
    return x


@pytest.mark.parametrize("name", TABLE)
def test_at_stride_32_it_equals_the_plain_reading(name, with_random_statistics) -> None:
    model = with_random_statistics(ENCODERS[name](output_stride=32))
    images = torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        output, expected = model(images), plain_forward(images, model.state_dict(), *TABLE[name])
    assert output.high.shape == (1, model.high_channels, 2, 3)
    torch.testing.assert_close(output.high, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("output_stride", [8, 16])
def test_dilation_gives_the_same_values_more_densely(output_stride, with_random_statistics) -> None:
    dilated = with_random_statistics(ENCODERS["resnet18"](output_stride=output_stride))
    strided = ENCODERS["resnet18"](output_stride=32).eval()
    strided.load_state_dict(dilated.state_dict())
    images = torch.randn(1, 3, 128, 128)
    with torch.no_grad():
        fine, coarse = dilated(images), strided(images)
    step = 32 // output_stride
    torch.testing.assert_close(fine.high[:, :, ::step, ::step], coarse.high, rtol=1e-4, atol=1e-4)
    assert fine.low.shape == (1, 64, 32, 32)


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
@pytest.mark.parametrize(
    ("output_stride", "dilations"),
    [(32, (1, 1, 1, 1)), (16, (1, 1, 1, 2)), (8, (1, 1, 2, 4))],
)
def test_the_first_block_of_a_stage_keeps_the_dilation_of_the_stage_before(
    name, output_stride, dilations
) -> None:
    """Its input lies on that grid; the blocks after it have the dilation that stands for the stride."""
    with torch.device("meta"):
        model = ENCODERS[name](output_stride=output_stride)
    before = 1
    for number, dilation in enumerate(dilations, 1):
        first, *rest = getattr(model, f"layer{number}")
        assert first.conv2.dilation == first.conv2.padding == (before, before)
        assert all(block.conv2.dilation == (dilation, dilation) for block in rest)
        before = dilation


@pytest.mark.parametrize("name", SIZES)
def test_parameter_counts_are_the_published_ones(name) -> None:
    with torch.device("meta"):
        model = ENCODERS[name]()
    assert sum(p.numel() for p in model.parameters()) == SIZES[name]


def test_the_deep_stem_has_three_convolutions_and_the_same_strides() -> None:
    model = ENCODERS["resnet50_deep"]().eval()
    assert [tuple(model.conv1[index].weight.shape[:2]) for index in (0, 3, 6)] == [
        (64, 3),
        (64, 64),
        (128, 64),
    ]
    with torch.no_grad():
        output = model(torch.randn(1, 3, 33, 65))
    assert output.low.shape == (1, 256, 9, 17)
    assert output.high.shape == (1, 2048, 3, 5)


def test_an_impossible_stride_is_named() -> None:
    with pytest.raises(UserError, match="output stride 8, 16 or 32, not 4"):
        ENCODERS["resnet18"](output_stride=4)
