"""How crops are cut and altered: the weak view of labelled images, the strong view of unlabelled ones."""

from recoseg.augment.colour import ColourJitter, GaussianBlur, Greyscale
from recoseg.augment.crop import RandomCrop
from recoseg.augment.mix import MIXES
from recoseg.augment.strong import StrongView
from recoseg.augment.weak import WeakView
from recoseg.augment.weak_to_strong import WeakToStrong

__all__ = [
    "MIXES", "ColourJitter", "GaussianBlur", "Greyscale", "RandomCrop", "StrongView", "WeakToStrong",
    "WeakView",
]  # fmt: skip
