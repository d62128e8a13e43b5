"""The settings of a run of a grid: of its profile for the method, of its column, of its row, of its seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path, PurePath
from types import MappingProxyType

from recoseg.config.load import flat, load
from recoseg.config.model_settings import DeepLabModel
from recoseg.config.settings import RunConfig
from recoseg.config.split_settings import SplitSettings
from recoseg.errors import UserError
from recoseg.experiments.columns import COLUMNS, DRAWN
from recoseg.experiments.methods import Row
from recoseg.experiments.profiles import Profile, as_word, as_words
from recoseg.train.same_settings import HARMLESS

FILES = {
    "model.pretrained", "model.weights", "model.checkpoint",
    "split.file", "split.labelled_list", "split.unlabelled_list",
}  # fmt: skip
"""Settings that may name files, which lie elsewhere on other machines."""


def settings_of(profile: Profile, column: str, row: Row, seed: int) -> tuple[str, ...]:
    """What a run has beside the config of its dataset, as the command line takes it."""
    where = COLUMNS[column]
    config = without_data(profile.config(where.dataset), where.dataset)
    words = [*row.words(), *as_words(profile.methods.get(row.method, {}))]
    if row.contrast:
        words += as_words(profile.contrast)
    if row.method == "supervised" and profile.supervised_crops > 1:
        crops = config.train.labelled_per_step * profile.supervised_crops
        words += ["--train.labelled_per_step", str(crops)]
    if row.model:
        words += other_model(config, row.model)
    words += [*no_split(config.split), *where.settings, *row.settings]
    if where.seeded:
        words += ["--split.seed", str(seed)]
    return (*words, "--train.seed", str(seed))


@cache
def without_data(path: Path, dataset: str) -> RunConfig:
    """The config of a dataset that need not be there."""
    return load(path, nowhere(dataset))


def nowhere(dataset: str) -> tuple[str, ...]:
    """In place of a dataset's folder, where nobody will look into it."""
    return () if dataset in DRAWN else ("--data.root", ".")


def other_model(config: RunConfig, name: str) -> list[str]:
    """Another DeepLab than the config's, with its encoder: another name alone would drop all settings."""
    if not isinstance(config.model, DeepLabModel):
        raise UserError(f"{name} in place of {config.model.name}: the profile's network must be a DeepLab")
    kept = ("encoder", "pretrained", "frozen_batch_norm")
    return ["--model", name, *as_words({f"model.{part}": getattr(config.model, part) for part in kept})]


def no_split(section: SplitSettings) -> list[str]:
    """Takes back what a config says of labels: that is the column's."""
    usual = SplitSettings()
    words = []
    for field in fields(section):
        if getattr(section, field.name) != getattr(usual, field.name):
            words += [f"--split.{field.name}", as_word(getattr(usual, field.name))]
    return words


@cache
def settings_with(path: Path, words: tuple[str, ...], dataset: str) -> Mapping[str, object]:
    """What a config and settings beside it come to; kept, since a run is looked at again and again."""
    return MappingProxyType(comparable(load(path, (*words, *nowhere(dataset)))))


def comparable(config: RunConfig) -> dict[str, object]:
    """Settings by their dotted names, as far as they change what comes out: equal in all runs of a cell."""
    return {name: value for name, value in portable(config).items() if name not in HARMLESS}


def portable(config: RunConfig) -> dict[str, object]:
    """Settings by their dotted names, with files by their names alone, and no folder of data."""
    return {
        name: PurePath(value).name if name in FILES and isinstance(value, str) else value
        for name, value in flat(config).items()
        if name != "data.root"
    }


def differing(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, ...]:
    """Names of settings that are not the same."""
    return tuple(name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name))
