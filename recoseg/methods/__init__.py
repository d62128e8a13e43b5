"""Methods of training, one file each, by their names in `METHODS`."""

from recoseg.methods.dmt import DMT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.pseudoseg import PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised

METHODS: dict[str, type[Method]] = {
    "supervised": Supervised,
    "mean_teacher": MeanTeacher,
    "s4gan": S4GAN,
    "pseudoseg": PseudoSeg,
    "dmt": DMT,
}
"""`method.name` -> what it stands for; its settings are in `config/method_settings.py`."""

__all__ = [
    "DMT", "METHODS", "S4GAN", "ContrastTerm", "MeanTeacher", "Method", "MethodParts", "PseudoSeg",
    "Supervised",
]  # fmt: skip
