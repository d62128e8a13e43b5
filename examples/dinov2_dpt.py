"""DINOv2 as the encoder of a DPT decoder, both of transformers: a network to learn from few labels with.

cd examples
recoseg train --config scenes --model factory --model.factory dinov2_dpt:small --augment.crop 322
"""

from torch import Tensor, nn
from transformers import Dinov2Backbone, DPTConfig
from transformers.models.dpt.modeling_dpt import DPTNeck, DPTSemanticSegmentationHead


class DINOv2WithDPT(nn.Module):
    """Images (B, 3, H, W), H and W multiples of the patch -> logits (B, K, h, w)."""

    def __init__(self, backbone: Dinov2Backbone, num_classes: int, *, width: int = 256) -> None:
        super().__init__()
        config = DPTConfig(
            backbone_config=backbone.config, num_labels=num_classes, fusion_hidden_size=width,
            neck_hidden_sizes=[width] * 4, reassemble_factors=[4, 2, 1, 0.5],
        )  # fmt: skip
        self.patch = backbone.config.patch_size
        self.backbone = backbone  # four of its layers give tokens, the class token first
        self.neck = DPTNeck(config)
        self.head = DPTSemanticSegmentationHead(config)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.backbone(images).feature_maps
        rows, columns = (side // self.patch for side in images.shape[2:])
        return self.head(self.neck(list(tokens), rows, columns))


def small(num_classes: int) -> nn.Module:
    """What `--model.factory dinov2_dpt:small` calls; downloads the encoder's weights (88 MB) once."""
    backbone = Dinov2Backbone.from_pretrained(
        "facebook/dinov2-small", out_indices=[3, 6, 9, 12], reshape_hidden_states=False, apply_layernorm=False
    )
    return DINOv2WithDPT(backbone, num_classes)
