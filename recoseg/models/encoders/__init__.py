"""Encoders by name."""

from recoseg.models.encoders.base import Encoder, EncoderOutput
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2

ENCODERS: dict[str, type[MobileNetV2]] = {"mobilenet_v2": MobileNetV2}

__all__ = ["ENCODERS", "Encoder", "EncoderOutput"]
