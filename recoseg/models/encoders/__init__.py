"""Encoders by name."""

from collections.abc import Callable
from functools import partial

from recoseg.models.encoders.efficientnet_lite import EfficientNetLite
from recoseg.models.encoders.encoder import Encoder, EncoderOutput
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.encoders.resnet import BasicBlock, Bottleneck, ResNet

ENCODERS: dict[str, Callable[..., Encoder]] = {
    "mobilenet_v2": MobileNetV2,
    "efficientnet_lite0": EfficientNetLite,
    "efficientnet_lite1": partial(EfficientNetLite, depth=1.1),
    "efficientnet_lite2": partial(EfficientNetLite, width=1.1, depth=1.2),
    "resnet10_small": partial(ResNet, block=BasicBlock, layers=(1, 1, 1, 1), width=32),
    "resnet18": partial(ResNet, block=BasicBlock, layers=(2, 2, 2, 2)),
    "resnet34": partial(ResNet, block=BasicBlock, layers=(3, 4, 6, 3)),
    "resnet50": partial(ResNet, block=Bottleneck, layers=(3, 4, 6, 3)),
    "resnet101": partial(ResNet, block=Bottleneck, layers=(3, 4, 23, 3)),
    "resnet50_deep": partial(ResNet, block=Bottleneck, layers=(3, 4, 6, 3), stem="deep"),
    "resnet101_deep": partial(ResNet, block=Bottleneck, layers=(3, 4, 23, 3), stem="deep"),
}

__all__ = ["ENCODERS", "Encoder", "EncoderOutput"]
