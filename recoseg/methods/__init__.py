"""Methods of training, one file each, by their names in `METHODS`."""

from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.methods.ecs import ECS
from recoseg.methods.gct import GCT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised

METHODS: dict[str, type[Method]] = {
    "supervised": Supervised,
    "mean_teacher": MeanTeacher,
    "s4gan": S4GAN,
    "advsemseg": AdvSemSeg,
    "gct": GCT,
    "ecs": ECS,
}
"""`method.name` -> what it stands for; its settings are in `config/method_settings.py`."""

__all__ = [
    "ECS", "GCT", "METHODS", "S4GAN", "AdvSemSeg", "ContrastTerm", "MeanTeacher", "Method", "MethodParts",
    "Supervised",
]  # fmt: skip
