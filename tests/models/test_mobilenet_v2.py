"""MobileNetV2 against a plain reading of its paper."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from recoseg.models.encoders.mobilenet_v2 import MobileNetV2

# Table 2 of Sandler et al. (2018), a row a block: expansion, output channels, stride
BLOCKS = [(1, 16, 1)]
BLOCKS += [(6, 24, 2), (6, 24, 1)]
BLOCKS += [(6, 32, 2), (6, 32, 1), (6, 32, 1)]
BLOCKS += [(6, 64, 2), (6, 64, 1), (6, 64, 1), (6, 64, 1)]
BLOCKS += [(6, 96, 1), (6, 96, 1), (6, 96, 1)]
BLOCKS += [(6, 160, 2), (6, 160, 1), (6, 160, 1)]
BLOCKS += [(6, 320, 1)]


def conv_norm(x, weights, conv, norm, **settings):
    x = F.conv2d(x, weights[f"{conv}.weight"], **settings)
    parts = [weights[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
    return F.batch_norm(x, *parts)


def plain_forward(x, weights):
    """Undilated MobileNetV2 at stride 32, written out from the table with the weights' published names."""
    x = F.relu6(conv_norm(x, weights, "features.0.0", "features.0.1", stride=2, padding=1))
    for number, (expansion, outputs, stride) in enumerate(BLOCKS, 1):
        name, y = f"features.{number}.conv", x
        if expansion > 1:
            y = F.relu6(conv_norm(y, weights, f"{name}.0.0", f"{name}.0.1"))
        depthwise, project = (1, 2) if expansion > 1 else (0, 1)
        groups = y.shape[1]
        y = conv_norm(
            y,
            weights,
            f"{name}.{depthwise}.0",
            f"{name}.{depthwise}.1",
            stride=stride,
            padding=1,
            groups=groups,
        )
        y = conv_norm(F.relu6(y), weights, f"{name}.{project}", f"{name}.{project + 1}")
        x = x + y if stride == 1 and x.shape[1] == outputs else y
    return x


def test_at_stride_32_it_equals_the_plain_reading(with_random_statistics) -> None:
    model = with_random_statistics(MobileNetV2(output_stride=32))
    images = torch.randn(2, 3, 64, 96)
    with torch.no_grad():
        output = model(images)
        expected = plain_forward(images, model.state_dict())
    assert output.high.shape == (2, 320, 2, 3)
    torch.testing.assert_close(output.high, expected)


def test_dilation_at_stride_16_gives_the_same_values_at_every_second_place(with_random_statistics) -> None:
    """Dilating instead of striding computes the same features, only more densely (away from the borders)."""
    dilated = with_random_statistics(MobileNetV2(output_stride=16))
    strided = MobileNetV2(output_stride=32).eval()
    strided.load_state_dict(dilated.state_dict())
    images = torch.randn(1, 3, 256, 256)
    with torch.no_grad():
        fine, coarse = dilated(images).high, strided(images).high
    assert fine.shape == (1, 320, 16, 16)
    torch.testing.assert_close(fine[:, :, ::2, ::2], coarse)


def test_shapes_strides_and_size() -> None:
    model = MobileNetV2()
    output = model(torch.randn(1, 3, 65, 33))
    assert output.low.shape == (1, 24, 17, 9)
    assert output.high.shape == (1, 320, 5, 3)
    # torchvision's 2,223,872 convolutional parameters less its last 1x1 layer (320 * 1280 + 2 * 1280)
    assert sum(p.numel() for p in model.parameters()) == 2_223_872 - 320 * 1280 - 2 * 1280
