"""EfficientNet-Lite against a plain reading of its table, and TensorFlow's padding against its definition."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.efficientnet_lite import SameConv2d

# Of Lite0, a row a block: kernel, stride, expansion, output channels
BLOCKS = [(3, 1, 1, 16)]
BLOCKS += [(3, 2, 6, 24), (3, 1, 6, 24)]
BLOCKS += [(5, 2, 6, 40), (5, 1, 6, 40)]
BLOCKS += [(3, 2, 6, 80), (3, 1, 6, 80), (3, 1, 6, 80)]
BLOCKS += [(5, 1, 6, 112), (5, 1, 6, 112), (5, 1, 6, 112)]
BLOCKS += [(5, 2, 6, 192), (5, 1, 6, 192), (5, 1, 6, 192), (5, 1, 6, 192)]
BLOCKS += [(3, 1, 6, 320)]


def same(x, weight, *, stride=1, dilation=1, groups=1):
    """TensorFlow's definition of SAME: ceil(size / stride) outputs, the odd pixel of padding at the end."""
    reach = dilation * (weight.shape[2] - 1) + 1
    padding = []
    for size in (x.shape[3], x.shape[2]):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        padding += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, padding), weight, stride=stride, dilation=dilation, groups=groups)


def norm(x, weights, name):
    parts = [weights[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
    return F.batch_norm(x, *parts, eps=1e-3)


def plain_forward(x, weights):
    """Undilated Lite0 at stride 32, written out from the table with the weights' published names."""
    x = F.relu6(norm(same(x, weights["_conv_stem.weight"], stride=2), weights, "_bn0"))
    for number, (_, stride, expansion, outputs) in enumerate(BLOCKS):
        name, y = f"_blocks.{number}", x
        if expansion > 1:
            y = F.relu6(norm(same(y, weights[f"{name}._expand_conv.weight"]), weights, f"{name}._bn0"))
        depthwise = weights[f"{name}._depthwise_conv.weight"]
        y = F.relu6(norm(same(y, depthwise, stride=stride, groups=y.shape[1]), weights, f"{name}._bn1"))
        y = norm(same(y, weights[f"{name}._project_conv.weight"]), weights, f"{name}._bn2")
        x = x + y if stride == 1 and x.shape[1] == outputs else y
    return x


@pytest.mark.parametrize("size", [(64, 96), (65, 33)])
def test_at_stride_32_it_equals_the_plain_reading(size, with_random_statistics) -> None:
    model = with_random_statistics(ENCODERS["efficientnet_lite0"](output_stride=32))
    images = torch.randn(2, 3, *size)
    with torch.no_grad():
        output, expected = model(images), plain_forward(images, model.state_dict())
    assert output.low.shape == (2, 24, -(-size[0] // 4), -(-size[1] // 4))
    torch.testing.assert_close(output.high, expected)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2)])
@pytest.mark.parametrize("size", [(8, 8), (9, 7), (16, 5)])
def test_padding_is_tensorflows_also_with_dilation(kernel, stride, dilation, size) -> None:
    conv = SameConv2d(2, 3, kernel, stride, dilation=dilation, bias=False)
    images = torch.randn(1, 2, *size)
    torch.testing.assert_close(conv(images), same(images, conv.weight, stride=stride, dilation=dilation))


def test_dilation_at_stride_16_gives_the_same_values_at_every_second_place(with_random_statistics) -> None:
    """The odd ones: with one pixel of padding before and two after, a kernel of 5 is centred on them."""
    dilated = with_random_statistics(ENCODERS["efficientnet_lite0"](output_stride=16))
    strided = ENCODERS["efficientnet_lite0"](output_stride=32).eval()
    strided.load_state_dict(dilated.state_dict())
    images = torch.randn(1, 3, 128, 128)
    with torch.no_grad():
        fine, coarse = dilated(images).high, strided(images).high
    assert fine.shape == (1, 320, 8, 8)
    torch.testing.assert_close(fine[:, :, 1::2, 1::2], coarse)


@pytest.mark.parametrize(
    ("name", "published", "last"),
    [
        ("efficientnet_lite0", 4_652_008, 320),
        ("efficientnet_lite1", 5_416_680, 320),
        ("efficientnet_lite2", 6_092_072, 352),
    ],
)
def test_parameters_are_as_many_as_published(name, published, last) -> None:
    encoder = ENCODERS[name]()
    head = last * 1280 + 2 * 1280 + 1280 * 1000 + 1000  # a 1x1 convolution, its norm, and the classifier
    assert encoder.high_channels == last
    assert sum(parameter.numel() for parameter in encoder.parameters()) + head == published


def test_a_network_around_it_normalises_as_it_was_trained() -> None:
    network = DeepLabV3Plus(encoder=ENCODERS["efficientnet_lite0"](), num_classes=3, decoder_width=8)
    pixels = torch.tensor([0.0, 127.0, 255.0]).view(1, 1, 1, 3).expand(1, 3, 1, 3) / 255
    expected = torch.tensor([-127 / 128, 0.0, 1.0]).view(1, 1, 1, 3).expand(1, 3, 1, 3)
    torch.testing.assert_close(network.normalise(pixels), expected)
