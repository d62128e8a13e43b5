"""Profiles: how large networks and images are and how long runs last, the same for all rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from recoseg.config.load import SHIPPED, find_config, read_yaml
from recoseg.config.parse import members
from recoseg.config.settings import RunConfig
from recoseg.errors import UserError
from recoseg.experiments.plan.grids import DATASETS
from recoseg.files import real
from recoseg.text import did_you_mean, lookup

_FOLDER = "profiles"


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


def _read_profile(path: Path) -> Profile:
    values = read_yaml(path)
    methods = members(get_type_hints(RunConfig)["method"])
    known = {"configs", "supervised_crops", "contrast", *methods}
    for key, value in values.items():
        if key not in known:
            raise UserError(f"{path}: unknown setting {key!r}{did_you_mean(str(key), known)}")
        if key == "supervised_crops":
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UserError(f"{path}: {key}: expected a whole number of at least 1, got {value!r}")
        elif not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise UserError(f"{path}: {key}: expected 'name: value', got {value!r}")
    configs: Any = values.pop("configs", None)
    if not configs:
        raise UserError(f"{path}: configs: expected a config for each dataset, such as 'voc: pascal_voc'")
    for dataset in configs:
        lookup(DATASETS, dataset, what=f"dataset in {path}:")
    settings: Any = values
    return Profile(
        path.stem,
        {name: _beside(path, str(config)) for name, config in configs.items()},
        methods={name: settings.pop(name) for name in methods if name in settings},
        **settings,
    )


def _beside(profile: Path, config: str) -> str:
    """A config given as a path is found from its profile's folder, a shipped one by its name."""
    path = profile.parent / config
    return str(path) if path.is_file() else config
