"""Every setting of a run, with the paper's defaults; and the settings that follow from others.

Only plain Python and msgspec here: reading a config, or printing its help, imports nothing heavy.
"""

from __future__ import annotations

from msgspec.structs import replace

from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.data_settings import (
    CamVidData,
    CityscapesData,
    FolderData,
    PascalVOCData,
    ScenesData,
    SunRGBDData,
)
from recoseg.config.method_settings import MethodSettings, ProbeSettings, SupervisedSettings
from recoseg.config.model_settings import (
    DeepLabV2Model,
    DeepLabV3PlusModel,
    FactoryModel,
    TransformersModel,
    fitting_rates,
)
from recoseg.config.setting import Section, SettingError, fields, fill_none, parts
from recoseg.config.split_settings import SplitSettings
from recoseg.config.train_settings import AdamWOptimiser, AugmentSettings, SGDOptimiser, TrainSettings


class RunConfig(Section, frozen=True, kw_only=True):
    """All that decides the outcome of a run."""

    data: ScenesData | FolderData | PascalVOCData | CityscapesData | SunRGBDData | CamVidData = ScenesData()
    split: SplitSettings = SplitSettings()
    augment: AugmentSettings = AugmentSettings()
    model: DeepLabV3PlusModel | DeepLabV2Model | TransformersModel | FactoryModel = DeepLabV3PlusModel()
    method: MethodSettings = SupervisedSettings()
    contrast: ContrastSettings | None = None
    optimiser: SGDOptimiser | AdamWOptimiser = SGDOptimiser()
    train: TrainSettings = TrainSettings()


#: Sections that may be one of several, by name, wherever they are -> those.
KINDS: dict[str, dict[str, type[Section]]] = {
    field.name: parts(field.type).sections
    for section in (ContrastSettings, RunConfig)
    for field in fields(section)
    if any(parts(field.type).sections)
}


def resolve_defaults(config: RunConfig) -> RunConfig:
    """The config with a number in place of every setting that a person leaves open.

    A run keeps these numbers in its config.yaml: they stay the same when it resumes, or is read again.
    """
    low, high = config.augment.scale
    if low > high:
        raise SettingError("augment.scale", f"the smaller number comes first, got {low:g},{high:g}")
    if isinstance(config.method, ProbeSettings):
        config = _without_training(config)
    elif config.train.iterations == 0:
        raise SettingError(
            "train.iterations",
            "must be at least 1, got 0; only method probe trains without steps",
        )
    iterations, from_probe = config.train.iterations, config.model.start == "probe"
    automatic = config.method.automatic(iterations, from_probe=from_probe)
    config = replace(config, method=fill_none(config.method, automatic))
    if config.contrast is not None:
        config = replace(config, contrast=config.contrast.resolved(iterations))
    if isinstance(config.model, DeepLabV3PlusModel) and config.model.rates == "fit":
        side = min(config.augment.crop) * config.model.enlarge
        rates = fitting_rates(side, config.model.output_stride)
        config = replace(config, model=replace(config.model, rates=",".join(map(str, rates))))
    return config


def _without_training(config: RunConfig) -> RunConfig:
    """The probe is the start of a training without the training."""
    if config.contrast is not None:
        raise SettingError("contrast", "has no effect with method probe, which takes no steps: leave it out")
    if config.model.weights is not None:
        raise SettingError(
            "model.weights",
            "has no effect with method probe, which fits its own: leave it out",
        )
    train, model = replace(config.train, iterations=0), replace(config.model, start="probe")
    return replace(config, train=train, model=model)
