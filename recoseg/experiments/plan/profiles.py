"""Profiles: how large networks and images are and how long runs last, the same for all rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from recoseg.config.load import SHIPPED, find_config
from recoseg.config.settings import KINDS
from recoseg.config.yaml_file import read_yaml
from recoseg.errors import UserError
from recoseg.experiments.plan.grids import DATASETS
from recoseg.files import real
from recoseg.records import checked
from recoseg.text import did_you_mean, lookup

_FOLDER = "profiles"
_REMEDY = "see the shipped profiles for what may stand there"


@dataclass(frozen=True)
class Profile:
    """A config for each dataset, and settings that methods have besides."""

    name: str
    configs: Mapping[str, str]  # dataset -> a shipped config, or the path of one
    supervised_crops: int = 1
    methods: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # settings by dotted names
    contrast: Mapping[str, object] = field(default_factory=dict)

    def config(self, dataset: str) -> Path:
        if dataset not in self.configs:
            has = ", ".join(self.configs)
            raise UserError(f"profile {self.name} has no {dataset}, only {has}{_elsewhere(dataset)}")
        return find_config(self.configs[dataset]).resolve()


def _elsewhere(dataset: str) -> str:
    """Which shipped profiles have a dataset, for an error."""
    having = [name for name, path in shipped().items() if dataset in _read_profile(path).configs]
    return f"; use --profile {' or '.join(having)}" if having else ""


def shipped() -> dict[str, Path]:
    return {path.stem: path for folder in SHIPPED for path in sorted((folder / _FOLDER).glob("*.yaml"))}


def load_profile(name: str) -> Profile:
    """A shipped profile by its name, or one in a YAML file."""
    known = shipped()
    if name in known:
        return _read_profile(known[name])
    path = real(Path(name))
    if not path.is_file():
        raise UserError(f"no profile {name!r}{did_you_mean(name, known)}; a YAML file may be given too")
    if path.stem in known and path != known[path.stem].resolve():
        raise UserError(f"{name}: a profile {path.stem} is shipped; call yours otherwise, not to mix results")
    return _read_profile(path)


class _Content(Struct, forbid_unknown_fields=True):
    """What is in a file; other keys are methods."""

    configs: Annotated[dict[str, str], Meta(min_length=1)]
    supervised_crops: Annotated[int, Meta(ge=1)] = 1
    contrast: dict[str, Any] = {}
    methods: dict[str, dict[str, Any]] = {}


def _read_profile(path: Path) -> Profile:
    values, origins = read_yaml(path)
    own = {name: value for name, value in values.items() if name not in KINDS["method"]}
    methods = {name: value for name, value in values.items() if name in KINDS["method"]}
    for name in own:
        if name not in ("configs", "supervised_crops", "contrast"):
            known = did_you_mean(name, [*_Content.__struct_fields__[:3], *KINDS["method"]])
            raise UserError(f"{origins[name]}: unknown setting {name!r}{known}")
    content: _Content = checked({**own, "methods": methods}, _Content, where=str(path), remedy=_REMEDY)
    for dataset in content.configs:
        lookup(DATASETS, dataset, what=f"dataset in {path}:")
    configs = {name: _beside(path, config) for name, config in content.configs.items()}
    return Profile(path.stem, configs, content.supervised_crops, content.methods, content.contrast)


def _beside(profile: Path, config: str) -> str:
    """A config given as a path is found from its profile's folder, a shipped one by its name."""
    path = profile.parent / config
    return str(path) if path.is_file() else config
