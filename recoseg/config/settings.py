"""Every setting of a run as frozen dataclasses: defaults are the paper's, the help text is beside them.

Only plain Python here: reading a config, or printing its help, imports nothing heavy. A field's name is
the keyword of the class that `builders/` passes it to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recoseg.config.data_settings import (
    CamVidData,
    CityscapesData,
    FolderData,
    PascalVOCData,
    ScenesData,
    SunRGBDData,
)
from recoseg.config.method_settings import ContrastSettings, MeanTeacherMethod, S4GANMethod, SupervisedMethod
from recoseg.config.model_settings import (
    DeepLabV2Model,
    DeepLabV3PlusModel,
    FactoryModel,
    TransformersModel,
)
from recoseg.config.split_settings import SplitSettings
from recoseg.config.train_settings import AdamWOptimiser, AugmentSettings, SGDOptimiser, TrainSettings


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All that decides the outcome of a run."""

    data: ScenesData | FolderData | PascalVOCData | CityscapesData | SunRGBDData | CamVidData = field(
        default_factory=ScenesData
    )
    split: SplitSettings = field(default_factory=SplitSettings)
    augment: AugmentSettings = field(default_factory=AugmentSettings)
    model: DeepLabV3PlusModel | DeepLabV2Model | TransformersModel | FactoryModel = field(
        default_factory=DeepLabV3PlusModel
    )
    method: SupervisedMethod | MeanTeacherMethod | S4GANMethod = field(default_factory=SupervisedMethod)
    contrast: ContrastSettings | None = None
    optimiser: SGDOptimiser | AdamWOptimiser = field(default_factory=SGDOptimiser)
    train: TrainSettings = field(default_factory=TrainSettings)
