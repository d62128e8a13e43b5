"""How crops are cut and altered: the weak view of labelled images, the strong view of unlabelled ones."""

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.augment.crop import RandomCrop
from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.augment.weak import WeakView

__all__ = ["MIXES", "ColourJitter", "GaussianBlur", "RandomCrop", "StrongView", "WeakView"]
