"""Segmentation networks, from images in [0, 1] to logits, and features of a representation head.

`DeepLabV3Plus` is the paper's network (section 4.1), `DeepLabV2` that of its appendix B. `ENCODERS` holds
encoders by name, and `with_representation` adds the head of section 3.1 to other networks.

Returns:
    Each network returns a `ModelOutput` with `logits` (B, K, h, w) and `features` (B, D, h, w) or None.

Raises:
    UserError: Images are not (B, 3, H, W) floats, or are smaller than the stride of the encoder.

Example:
    >>> import torch
    >>> from recoseg.models import ENCODERS, DeepLabV3Plus
    >>> encoder = ENCODERS["resnet10_small"](output_stride=16)
    >>> network = DeepLabV3Plus(encoder=encoder, num_classes=5, feature_channels=16, decoder_width=32).eval()
    >>> output = network(torch.rand(1, 3, 64, 64))
    >>> output.logits.shape, output.features.shape
    (torch.Size([1, 5, 16, 16]), torch.Size([1, 16, 16, 16]))
"""

from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.network import SegmentationNetwork
from recoseg.models.representation import with_representation

__all__ = ["ENCODERS", "DeepLabV2", "DeepLabV3Plus", "SegmentationNetwork", "with_representation"]
