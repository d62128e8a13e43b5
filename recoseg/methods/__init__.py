"""Training methods, one file each: the paper's, its baselines (section 4.1) and later ones.

`METHODS` maps `method.name` to a class. A method takes the student and its settings as keywords. Called with
batches, it returns a `StepOutput` with the loss; its `contrast` adds the last term of Eq. 6.

Raises:
    UserError: A method got a setting that it does not have, or one out of range.

Example:
    >>> import torch
    >>> from recoseg import methods
    >>> sorted(methods.METHODS)[:3]
    ['advsemseg', 'cct', 'dmt']
    >>> methods.Supervised(torch.nn.Conv2d(3, 4, 1), average=0.99).teacher.decay
    0.99
"""

from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.methods.cct import CCT
from recoseg.methods.dmt import DMT
from recoseg.methods.ecs import ECS
from recoseg.methods.fixmatch import FixMatch
from recoseg.methods.gct import GCT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.prevmatch import PrevMatch
from recoseg.methods.probe import Probe
from recoseg.methods.pseudoseg import PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised
from recoseg.methods.unimatch import UniMatch
from recoseg.methods.unimatch_v2 import UniMatchV2
from recoseg.methods.vat import VAT

METHODS: dict[str, type[Method]] = {
    "probe": Probe,
    "supervised": Supervised,
    "mean_teacher": MeanTeacher,
    "s4gan": S4GAN,
    "vat": VAT,
    "cct": CCT,
    "fixmatch": FixMatch,
    "unimatch": UniMatch,
    "unimatch_v2": UniMatchV2,
    "prevmatch": PrevMatch,
    "advsemseg": AdvSemSeg,
    "gct": GCT,
    "ecs": ECS,
    "pseudoseg": PseudoSeg,
    "dmt": DMT,
}
"""`method.name` -> what it stands for; its settings are in `config/method_settings.py`."""

__all__ = [
    "CCT",
    "DMT",
    "ECS",
    "GCT",
    "METHODS",
    "S4GAN",
    "VAT",
    "AdvSemSeg",
    "ContrastTerm",
    "FixMatch",
    "MeanTeacher",
    "Method",
    "MethodParts",
    "PrevMatch",
    "Probe",
    "PseudoSeg",
    "Supervised",
    "UniMatch",
    "UniMatchV2",
]
