"""MobileNetV2 (Sandler et al., 2018), dilated to output stride 16, with torchvision's parameter names."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.depthwise import DepthwiseConv2d
from recoseg.models.encoders.encoder import Encoder
from recoseg.models.layers import initialise
from recoseg.models.pointwise import PointwiseConv2d

# expansion, output channels, blocks, stride of the first block
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_LEVEL_ENDS = (4, 7, 11, 14, 17, 18)  # features[:4] end with the 24 channels at stride 4


def norm_relu6(conv: nn.Conv2d) -> nn.Sequential:
    return nn.Sequential(conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU6(inplace=True))


class _InvertedResidual(nn.Module):
    """Expand by 1x1, filter depthwise by 3x3, project by 1x1; added to its input where shapes agree."""

    def __init__(self, inputs: int, outputs: int, *, expansion: int, stride: int, dilation: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [norm_relu6(PointwiseConv2d(inputs, hidden, bias=False))] if expansion != 1 else []
        self.conv = nn.Sequential(
            *expand,
            norm_relu6(DepthwiseConv2d(hidden, 3, stride=stride, dilation=dilation)),
            PointwiseConv2d(hidden, outputs, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.conv(x)
        return x + result if self.is_residual else result


class MobileNetV2(Encoder):
    """`features.0` to `features.17` of torchvision's MobileNetV2: all but its classifier."""

    level_channels = (24, 32, 64, 96, 160, 320)
    published_classifier = ("features.18.", "classifier.")

    def __init__(self, *, output_stride: int = 16) -> None:
        super().__init__()
        if output_stride not in (8, 16, 32):
            raise UserError(f"MobileNetV2 has output stride 8, 16 or 32, not {output_stride}")
        self.output_stride = output_stride
        layers: list[nn.Module] = [norm_relu6(nn.Conv2d(3, 32, 3, 2, 1, bias=False))]
        channels, reached, dilation = 32, 2, 1
        for expansion, outputs, blocks, first_stride in STAGES:
            for block in range(blocks):
                stride = first_stride if block == 0 else 1
                # Beyond the output stride, a stride becomes a dilation of the layers that follow it.
                block_dilation = dilation
                if reached * stride > output_stride:
                    dilation, stride = dilation * stride, 1
                reached *= stride
                layers.append(
                    _InvertedResidual(
                        channels, outputs, expansion=expansion, stride=stride, dilation=block_dilation
                    )
                )
                channels = outputs
        self.features = nn.Sequential(*layers)
        self.apply(initialise)

    def stages(self) -> list[list[nn.Module]]:
        layers = list(self.features)
        return [layers[first:last] for first, last in pairwise((0, 2, 4, 7, 14, 18))]

    def levels(self, images: Tensor) -> tuple[Tensor, ...]:
        x, levels = images, []
        for start, end in pairwise((0, *_LEVEL_ENDS)):
            x = self.features[start:end](x)
            levels.append(x)
        return tuple(levels)
