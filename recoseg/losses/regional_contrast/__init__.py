"""ReCo, regional contrast. `plain.py` says what it computes; `loss.py` computes the same quickly."""

from recoseg.losses.regional_contrast.bank import FeatureBank
from recoseg.losses.regional_contrast.loss import RegionalContrast
from recoseg.losses.regional_contrast.plain import plain_regional_contrast
from recoseg.losses.regional_contrast.stats import ContrastStats

__all__ = ["ContrastStats", "FeatureBank", "RegionalContrast", "plain_regional_contrast"]
