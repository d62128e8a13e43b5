"""Losses of the paper (section 3): tensors in, a scalar out, for any training loop.

`RegionalContrast` is Eq. 1 to 4, `plain_regional_contrast` its slow reference, `FeatureBank` a store of keys.
`pixel_cross_entropy` and `confident_cross_entropy` are the first two terms of Eq. 6.

Args, Returns and Raises are those of each name; all raise `recoseg.UserError` for wrong arguments.

Example:
    >>> import torch
    >>> from recoseg import losses
    >>> logits, labels = torch.zeros(1, 4, 8, 8), torch.zeros(1, 32, 32, dtype=torch.long)
    >>> round(losses.pixel_cross_entropy(logits, labels).item(), 3)  # log 4
    1.386
"""

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
