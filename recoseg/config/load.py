"""A YAML file and overrides from the command line -> RunConfig, and back to YAML."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from recoseg.config.automatic import filled
from recoseg.config.parse import NONE_WORDS, is_nothing, members, parse
from recoseg.config.settings import RunConfig
from recoseg.config.yaml_file import read_yaml
from recoseg.errors import UserError
from recoseg.lookup import did_you_mean
from recoseg.words import shortened

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = [PACKAGE / "configs", PACKAGE.parent / "configs"]
"""Where shipped configs lie: inside an installed package, or beside it in a checkout."""


def load(path: str | Path | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a run: defaults, then the YAML file, then overrides such as `--train.seed 3`."""
    values = read_yaml(find_config(path)) if path is not None else {}
    return from_plain(merge(values, read_overrides(overrides)))


def from_plain(values: Mapping[str, object]) -> RunConfig:
    config: RunConfig = parse(
        RunConfig, {name: as_section(name, value) for name, value in values.items()}, ""
    )
    low, high = config.augment.scale
    if low > high:
        raise UserError(f"augment.scale: the smaller number comes first, got {low:g},{high:g}")
    return filled(config)


def to_yaml(config: RunConfig) -> str:
    """The config as YAML that `load` reads back to an equal one."""
    plain = dataclasses.asdict(
        config, dict_factory=lambda items: {k: list(v) if isinstance(v, tuple) else v for k, v in items}
    )
    return yaml.safe_dump(plain, sort_keys=False)


def flat(config: RunConfig) -> dict[str, object]:
    """Every setting under its dotted name."""

    def walk(value: object, name: str) -> dict[str, object]:
        if not dataclasses.is_dataclass(value):
            return {name: list(value) if isinstance(value, tuple) else value}
        prefix = f"{name}." if name else ""
        items: dict[str, object] = {}
        for f in dataclasses.fields(value):
            items |= walk(getattr(value, f.name), prefix + f.name)
        return items

    return walk(config, "")


def from_flat(values: Mapping[str, object]) -> RunConfig:
    """What `flat` was given; settings that came later than `values` have their defaults."""
    plain: dict[str, object] = {}
    for name, value in values.items():
        plain = merge(plain, nested(name.split("."), value))
    return from_plain(plain)


def find_config(path: str | Path) -> Path:
    """A config by path, or a shipped one by name."""
    candidates = [Path(path), *(folder / f"{path}.yaml" for folder in SHIPPED)]
    for candidate in candidates:
        if os.path.isfile(candidate):  # noqa: PTH113 (whatever was given)
            return candidate
    names = sorted({p.stem for folder in SHIPPED for p in folder.glob("*.yaml")})
    raise UserError(
        f"no config file {str(path)!r}, and none is shipped under that name. Shipped: {', '.join(names)}"
    )


def read_overrides(words: Sequence[str]) -> dict[str, object]:
    """`--a.b value` and `--a.b=value` as nested settings."""
    values: dict[str, object] = {}
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("--"):
            raise UserError(
                f"unexpected argument {shortened(repr(word))}; settings are given as --section.name value"
            )
        name, equals, text = word[2:].partition("=")
        if not equals:
            if not remaining or remaining[0].startswith("--"):
                raise UserError(f"--{name} needs a value")
            text = remaining.pop(0)
        values = merge(values, nested(name.replace("-", "_").split("."), text))
    return values


def nested(keys: Sequence[str], value: object) -> dict[str, object]:
    inner = value if len(keys) == 1 else nested(keys[1:], value)
    return {keys[0]: as_section(keys[0], inner)}


def as_section(name: str, value: object) -> object:
    """`data: cityscapes` is short for its name, `data: my/images` for a folder dataset's root."""
    if not isinstance(value, str) or name not in get_type_hints(RunConfig):
        return value
    names = members(get_type_hints(RunConfig)[name])
    if name == "data" and value not in names:
        if os.path.exists(value) or "/" in value:  # noqa: PTH110 (whatever was given)
            return {"name": "folder", "root": value}
        given = shortened(repr(value))
        raise UserError(f"data: there is no folder and no dataset {given}{did_you_mean(value, names)}")
    return {"name": value} if names and value.lower() not in NONE_WORDS else value


def merge(lower: Mapping[str, object], upper: Mapping[str, object], path: str = "") -> dict[str, object]:
    """`lower` with the settings of `upper` put over it; another `name` drops the settings of the old one."""
    result: dict[str, object] = {name: as_section(name, value) for name, value in lower.items()}
    for name, value in upper.items():
        below: Any = result.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            renamed = "name" in value and value["name"] != below.get("name", value["name"])
            result[name] = dict(value) if renamed else merge(below, value, f"{path}{name}.")
        elif isinstance(value, Mapping) and not is_nothing(below):
            raise UserError(f"{path}{name}: expected settings as 'key: value', got {shortened(repr(below))}")
        else:
            result[name] = value
    return result
