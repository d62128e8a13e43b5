"""The few layers that networks are made of, and how their weights start."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.depthwise import DepthwiseConv2d
from recoseg.models.pointwise import PointwiseConv2d

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Normalise(nn.Module):
    """Images in [0, 1] -> the statistics that a network was trained with, by default ImageNet's."""

    mean: Tensor
    std: Tensor

    def __init__(self, *, mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        return (images - self.mean) / self.std


def enlarge_images(images: Tensor, factor: float) -> Tensor:
    """(B, 3, H, W) -> the same with sides `factor` times as long."""
    if factor == 1:
        return images
    return F.interpolate(images, scale_factor=factor, mode="bilinear", align_corners=False)


def conv_norm_relu(
    inputs: int, outputs: int, *, kernel: int = 3, dilation: int = 1, separable: bool = False
) -> nn.Sequential:
    """A convolution with BatchNorm and ReLU; `separable` makes a 3x3 one depthwise, then 1x1."""
    depthwise: list[nn.Module] = []
    if separable and kernel > 1:
        depthwise = [
            DepthwiseConv2d(inputs, kernel, dilation=dilation),
            nn.BatchNorm2d(inputs),
            nn.ReLU(inplace=True),
        ]
        kernel, dilation = 1, 1
    padding = dilation * (kernel - 1) // 2
    conv = (
        PointwiseConv2d(inputs, outputs, bias=False)
        if kernel == 1
        else nn.Conv2d(inputs, outputs, kernel, padding=padding, dilation=dilation, bias=False)
    )
    return nn.Sequential(
        *depthwise,
        conv,
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class _ImagePooling(nn.Module):
    """The mean of each channel over the image, through a 1x1 convolution, spread over the image again.

    Its BatchNorm sees one value an image: of two images, every channel becomes +1 and -1 exactly, whatever
    the images show. Without `norm` it has none, which is better for small batches.
    """

    def __init__(self, inputs: int, outputs: int, *, norm: bool = True) -> None:
        super().__init__()
        plain = nn.Sequential(nn.Conv2d(inputs, outputs, 1), nn.ReLU(inplace=True))
        self.conv = conv_norm_relu(inputs, outputs, kernel=1) if norm else plain

    def forward(self, x: Tensor) -> Tensor:
        norm = self.conv[1]
        if isinstance(norm, nn.BatchNorm2d) and norm.training and x.shape[0] == 1:  # not where it is frozen
            raise UserError(
                "DeepLab's image pooling needs at least 2 images in a training batch for its BatchNorm; "
                "raise train.labelled_per_step or train.unlabelled_per_step to 2 for each process and part, "
                "or set model.pooling_norm to false"
            )
        pooled: Tensor = self.conv(x.mean((2, 3), keepdim=True))  # (B, outputs, 1, 1)
        return pooled.expand(-1, -1, x.shape[2], x.shape[3])


class ASPP(nn.Module):
    """Atrous spatial pyramid pooling: 1x1, dilated 3x3 at several rates and image pooling, joined by 1x1."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        rates: Sequence[int],
        separable: bool,
        dropout: float,
        pooling_norm: bool = True,
    ) -> None:
        super().__init__()
        self.branches = nn.ModuleList([conv_norm_relu(inputs, outputs, kernel=1)])
        for rate in rates:
            self.branches.append(conv_norm_relu(inputs, outputs, dilation=rate, separable=separable))
        self.branches.append(_ImagePooling(inputs, outputs, norm=pooling_norm))
        self.project = conv_norm_relu(len(self.branches) * outputs, outputs, kernel=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        joined = torch.cat([branch(x) for branch in self.branches], dim=1)
        result: Tensor = self.dropout(self.project(joined))
        return result


def convolved_head(inputs: int, width: int, outputs: int, *, separable: bool = False) -> nn.Sequential:
    """3x3 convolution, BatchNorm, ReLU, 1x1 convolution: DeepLabV3+'s classifier and representation head."""
    return nn.Sequential(conv_norm_relu(inputs, width, separable=separable), PointwiseConv2d(width, outputs))


def quiet(layer: nn.Module) -> None:
    """A classifier's last layer, so that all classes are about as likely at the start.

    Started as the layers before it, its logits would be so large that the first steps only calm them down,
    with gradients of the encoder several times as large as later on.
    """
    assert isinstance(layer, nn.Conv2d)
    nn.init.normal_(layer.weight, std=0.01)


def zero(layer: nn.Module) -> None:
    """The last layer of a decoder that refines the logits of a probe: it starts by adding nothing."""
    assert isinstance(layer, nn.Conv2d)
    assert layer.bias is not None
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)


def initialise(module: nn.Module) -> None:
    """The start that He et al. (2015) propose; BatchNorm starts as the identity by itself."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
