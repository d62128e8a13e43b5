"""Every setting of a run as frozen dataclasses: defaults are the paper's, the help text is beside them.

Only plain Python here: reading a config, or printing its help, imports nothing heavy. A field's name is
the keyword of the class that `builders/` passes it to. Some settings follow from others where they are not
given: what a short run or a small crop needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.data_settings import (
    CamVidData,
    CityscapesData,
    FolderData,
    PascalVOCData,
    ScenesData,
    SunRGBDData,
)
from recoseg.config.method_settings import MethodSettings, SupervisedMethod
from recoseg.config.model_settings import (
    DeepLabV2Model,
    DeepLabV3PlusModel,
    FactoryModel,
    TransformersModel,
)
from recoseg.config.split_settings import SplitSettings
from recoseg.config.train_settings import AdamWOptimiser, AugmentSettings, SGDOptimiser, TrainSettings
from recoseg.errors import UserError


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
    method: MethodSettings = field(default_factory=SupervisedMethod)
    contrast: ContrastSettings | None = None
    optimiser: SGDOptimiser | AdamWOptimiser = field(default_factory=SGDOptimiser)
    train: TrainSettings = field(default_factory=TrainSettings)


DECAY = 0.99  # the paper's, of the moving average
HORIZON = 1.2  # runs that start at a probe are 1.2 times as long as their average
OWN_DECAYS = {"unimatch_v2": 0.996}  # of methods whose authors have another
PAPERS_MAP = 20  # cells to a side of the encoder's output: crops of 321 pixels at output stride 16
PAPERS_RATES = (6, 12, 18)  # at output stride 16


def filled(config: RunConfig) -> RunConfig:
    """The config with a number in place of every setting that is left to us.

    A run keeps these numbers in its config.yaml: they stay what they are when it goes on, or is read again.
    """
    if config.method.name == "probe":
        config = _without_training(config)
    elif config.train.iterations == 0:
        raise UserError("train.iterations: must be at least 1, got 0; only method probe trains without steps")
    iterations = config.train.iterations
    starts_at_probe = config.model.start == "probe"
    # The average of a run that starts at a probe keeps a third of the start; of others, it spans the last
    # hundred steps, or the last 25th of a shorter run.
    own_decay = OWN_DECAYS.get(config.method.name, DECAY)
    of_start = max(own_decay, 1 - HORIZON / max(2, iterations))
    of_random = min(own_decay, 1 - 25 / max(1, iterations))
    method = {
        "decay": max(0.0, of_start if starts_at_probe else of_random),
        "supervised_start": 0 if starts_at_probe else iterations // 5,
        "ramp": 0 if starts_at_probe else iterations // 10,
        "consistency_weight": 1.0,
        "store_every": max(1, iterations // 16),
        "self_start": iterations // 4,
    }
    of_its_own = {"gct": {"ramp": iterations * 3 // 20}, "ecs": {"supervised_start": iterations // 10}}
    method |= of_its_own.get(config.method.name, {})
    if getattr(config.method, "consistency", None) == "probabilities":
        method |= {"ramp": iterations * 15 // 100, "consistency_weight": 100.0}
    config = replace(config, method=where_none(config.method, method))
    if config.contrast is not None:
        config = replace(config, contrast=_filled_contrast(config.contrast, iterations))
    if isinstance(config.model, DeepLabV3PlusModel) and config.model.rates == "fit":
        side = min(config.augment.crop) * config.model.enlarge
        rates = fitting_rates(side, config.model.output_stride)
        config = replace(config, model=replace(config.model, rates=",".join(map(str, rates))))
    return config


def _without_training(config: RunConfig) -> RunConfig:
    """The probe is the start of a training without the training."""
    if config.contrast is not None:
        raise UserError("contrast has no effect with method probe, which takes no steps: leave it out")
    if config.model.weights is not None:
        raise UserError("model.weights has no effect with method probe, which fits its own: leave it out")
    config = replace(config, train=replace(config.train, iterations=0))
    return replace(config, model=replace(config.model, start="probe"))


def _filled_contrast(contrast: ContrastSettings, iterations: int) -> ContrastSettings:
    if contrast.bank is not None:
        contrast = replace(contrast, bank=where_none(contrast.bank, {"warm_up": iterations // 40}))
    filled: ContrastSettings = where_none(contrast, {"ramp": iterations // 10})
    return filled


def where_none(section: Any, values: dict[str, float]) -> Any:
    """The section with these values wherever it has the setting, and none is given."""
    names = {field.name for field in fields(section)}
    return replace(
        section,
        **{name: value for name, value in values.items() if name in names and getattr(section, name) is None},
    )


def fitting_rates(side: float, output_stride: int) -> list[int]:
    """Dilations of ASPP for crops with a shorter side of `side` pixels, at most the paper's."""
    share = min(1.0, side / (16 * PAPERS_MAP))
    return [max(1, round(rate * share * 16 / output_stride)) for rate in PAPERS_RATES]
