"""Networks: images in [0, 1] -> ModelOutput."""

from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.network import SegmentationNetwork
from recoseg.models.representation import with_representation

__all__ = ["ENCODERS", "DeepLabV2", "DeepLabV3Plus", "SegmentationNetwork", "with_representation"]
