"""Losses: tensors in, one number out. The regional contrast works alone, in any training loop."""

from recoseg.losses.cross_entropy import confident_cross_entropy, pixel_cross_entropy
from recoseg.losses.regional_contrast import (
    ContrastStats,
    FeatureBank,
    RegionalContrast,
    plain_regional_contrast,
)
from recoseg.losses.shrink_labels import shrink_labels

__all__ = [
    "ContrastStats", "FeatureBank", "RegionalContrast", "confident_cross_entropy",
    "pixel_cross_entropy", "plain_regional_contrast", "shrink_labels",
]  # fmt: skip
