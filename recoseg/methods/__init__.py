"""Methods by name; a method is one file."""

from recoseg.methods.base import Method
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised

METHODS: dict[str, type[Supervised] | type[MeanTeacher] | type[S4GAN]] = {
    "supervised": Supervised,
    "mean_teacher": MeanTeacher,
    "s4gan": S4GAN,
}

__all__ = ["METHODS", "Method"]
