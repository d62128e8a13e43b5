"""ResNet (He et al., 2016), dilated to output stride 8 or 16, with torchvision's parameter names."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.encoders.encoder import Encoder
from recoseg.models.layers import initialise


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, added to their input: ResNet-18 and -34."""

    expansion = 1

    def __init__(
        self, inputs: int, width: int, *, stride: int, dilation: int, downsample: nn.Module | None
    ) -> None:
        super().__init__()
        self.conv1 = _conv3x3(inputs, width, stride=stride, dilation=dilation)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(width, width, dilation=dilation)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        result: Tensor = self.relu(self.bn2(self.conv2(x)) + shortcut)
        return result


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions, added to their input; the stride is the 3x3's, as in torchvision."""

    expansion = 4

    def __init__(
        self, inputs: int, width: int, *, stride: int, dilation: int, downsample: nn.Module | None
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width, stride=stride, dilation=dilation)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        result: Tensor = self.relu(self.bn3(self.conv3(x)) + shortcut)
        return result


class ResNet(Encoder):
    """The convolutional part of a ResNet; `stem="deep"` has three 3x3 convolutions instead of one 7x7.

    `width` is that of the first stage, and of a plain stem: 64 in every published ResNet.
    """

    published_classifier = ("fc.",)

    def __init__(
        self,
        *,
        block: type[BasicBlock] | type[Bottleneck],
        layers: tuple[int, int, int, int],
        output_stride: int = 16,
        stem: Literal["plain", "deep"] = "plain",
        width: int = 64,
    ) -> None:
        super().__init__()
        if output_stride not in (8, 16, 32):
            raise UserError(f"a ResNet has output stride 8, 16 or 32, not {output_stride}")
        self.output_stride = output_stride
        channels = width if stem == "plain" else 128
        plain = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.conv1 = plain if stem == "plain" else _deep_stem()
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        stages = []
        reached, dilation = 4, 1
        for number, blocks in enumerate(layers):
            stride, first_dilation = (1 if number == 0 else 2), dilation
            # Beyond the output stride, a stride becomes a dilation of the blocks that follow.
            if reached * stride > output_stride:
                dilation, stride = dilation * stride, 1
            reached *= stride
            stage = _make_stage(
                block,
                channels,
                width * 2**number,
                blocks,
                stride=stride,
                first_dilation=first_dilation,
                dilation=dilation,
            )
            stages.append(stage)
            channels = width * 2**number * block.expansion
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.level_channels = tuple(width * 2**number * block.expansion for number in range(len(layers)))
        self.apply(initialise)

    def stages(self) -> list[list[nn.Module]]:
        return [[self.conv1, self.bn1], [self.layer1], [self.layer2], [self.layer3], [self.layer4]]

    def levels(self, images: Tensor) -> tuple[Tensor, ...]:
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        levels = []
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
            levels.append(x)
        return tuple(levels)


def _make_stage(
    block: type[BasicBlock] | type[Bottleneck],
    inputs: int,
    width: int,
    blocks: int,
    *,
    stride: int,
    first_dilation: int,
    dilation: int,
) -> nn.Sequential:
    """`blocks` blocks, of which the first changes stride and channels."""
    outputs = width * block.expansion
    downsample = None
    if stride != 1 or inputs != outputs:
        conv = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
        downsample = nn.Sequential(conv, nn.BatchNorm2d(outputs))
    first = block(inputs, width, stride=stride, dilation=first_dilation, downsample=downsample)
    rest = [block(outputs, width, stride=1, dilation=dilation, downsample=None) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)


def _conv3x3(inputs: int, outputs: int, *, stride: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=dilation, dilation=dilation, bias=False)


def _deep_stem() -> nn.Sequential:
    """Three 3x3 convolutions, 3 to 64 to 64 to 128 channels, the first with stride 2."""
    return nn.Sequential(
        _conv3x3(3, 64, stride=2),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        _conv3x3(64, 64),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        _conv3x3(64, 128),
    )
