"""The config of a run: its defaults, a YAML file over them, and the words of the command line over both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import yaml

from recoseg.config.parse import NONE_WORDS, Origins, choose_kind, is_nothing, near_miss, parse
from recoseg.config.setting import Section, SettingError, fields
from recoseg.config.settings import KINDS, RunConfig
from recoseg.config.yaml_file import read_yaml
from recoseg.errors import UsageError, UserError
from recoseg.files import as_path
from recoseg.text import shortened

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = [PACKAGE / "configs", PACKAGE.parent / "configs"]
"""Where shipped configs lie: inside an installed package, or beside it in a checkout."""

FOLDER_CONFIG = "recoseg.yaml"
"""What `recoseg init` writes into a folder of images."""


def load(path: str | Path | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a run: defaults, then the YAML file, then overrides such as `--train.seed 3`."""
    words = _read_overrides(overrides)
    values, origins = read_yaml(find_config(path)) if path is not None else ({}, {})
    return _parse_both(values, origins, words)


def load_for(path: str | Path | None, overrides: Sequence[str]) -> RunConfig:
    """The config of a new run. A folder of images has its own, or the shipped one where none is given."""
    words = _read_overrides(overrides)
    folder = _folder_of_images(words.get("data")) if path is None else None
    if folder is None:
        return load(path, overrides)
    written = os.path.join(folder, FOLDER_CONFIG)  # noqa: PTH118 (any text)
    if os.path.isfile(written):  # noqa: PTH113
        return load(written, overrides)
    values, origins = read_yaml(find_config("own_images"))
    return _parse_both(_without_unfitting(values, words), origins, words)


def _folder_of_images(data: object) -> str | None:
    if isinstance(data, Mapping) and "root" in data:
        with suppress(SettingError):  # it says so when it is parsed
            if (data.get("name") or choose_kind(KINDS["data"], data, "data")) == "folder":
                return str(data["root"])
    return None


def _without_unfitting(values: Mapping[str, object], words: Mapping[str, object]) -> dict[str, object]:
    """A shipped config without the sections of other kinds than the words need."""
    fitting = {}
    for name, lower in values.items():
        upper, kinds = words.get(name), KINDS.get(name, {})
        lower = _as_section(name, lower)
        if (
            isinstance(upper, Mapping)
            and isinstance(lower, Mapping)
            and "name" in lower
            and "name" not in upper
        ):
            own, best = (_owned(kinds[kind]) for kind in (lower["name"], choose_kind(kinds, upper, name)))
            if not upper.keys() <= own and upper.keys() <= best:
                continue
        fitting[name] = lower
    return fitting


def _owned(section: type[Section]) -> set[str]:
    return {field.name for field in fields(section)}


def _parse_both(values: dict[str, Any], origins: Origins, words: dict[str, Any]) -> RunConfig:
    """The config of a file's values with the words of the command line over them."""
    if "contrast" not in words and _renames(words.get("method"), _as_section("method", values.get("method"))):
        values.pop("contrast", None)  # it was there for the file's method; a baseline has none by default
    renamed = {name for name in words if _renames(words[name], _as_section(name, values.get(name)))}
    kept = {name: origin for name, origin in origins.items() if name.partition(".")[0] not in renamed}
    return parse(merge(values, words), {**kept, **dict.fromkeys(_names(words), "")})


def _names(values: Mapping[str, object], above: str = "") -> list[str]:
    """The dotted names of all that is given."""
    names = []
    for name, value in values.items():
        names += _names(value, f"{above}{name}.") if isinstance(value, Mapping) else [f"{above}{name}"]
    return names


def from_plain(values: Mapping[str, object]) -> RunConfig:
    return parse({name: _as_section(name, value) for name, value in values.items()})


def to_yaml(config: RunConfig) -> str:
    """The config as YAML that `load` reads back to an equal one."""
    return yaml.safe_dump(to_plain(config), sort_keys=False)


def to_plain(config: RunConfig) -> dict[str, Any]:
    """The settings as they are in JSON: sections as objects, pairs as lists."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config))
    return plain


def flat(config: RunConfig) -> dict[str, object]:
    """Every setting under its dotted name."""

    def walk(values: Mapping[str, Any], above: str) -> dict[str, object]:
        items: dict[str, object] = {}
        for name, value in values.items():
            items |= walk(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
        return items

    return walk(to_plain(config), "")


def from_flat(values: Mapping[str, object]) -> RunConfig:
    """The config of which `flat` gave `values`; settings that came later than those have their defaults."""
    plain: dict[str, object] = {}
    for name, value in values.items():
        plain = merge(plain, nested(name.split("."), value))
    return from_plain(plain)


def find_config(path: str | Path) -> Path:
    """A config by path, or a shipped one by name."""
    candidates = [as_path(path, what="config"), *(folder / f"{path}.yaml" for folder in SHIPPED)]
    for candidate in candidates:
        if os.path.isfile(candidate):  # noqa: PTH113 (any text)
            return candidate
    names = sorted({p.stem for folder in SHIPPED for p in folder.glob("*.yaml")})
    raise UserError(
        f"no config file {str(path)!r}, and none is shipped under that name. Shipped: {', '.join(names)}"
    )


def _read_overrides(words: Sequence[str]) -> dict[str, Any]:
    """`--a.b value` and `--a.b=value` as nested settings."""
    values: dict[str, object] = {}
    left_out: set[str] = set()  # what was given as none
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("--"):
            raise UsageError(
                f"unexpected argument {shortened(repr(word))}; settings are given as --section.name value"
            )
        name, equals, text = word[2:].partition("=")
        if not equals:
            if not remaining or remaining[0].startswith("--"):
                raise UsageError(f"--{name} needs a value")
            text = remaining.pop(0)
        keys = name.replace("-", "_").split(".")
        above = next((one for one in accumulate(keys[:-1], "{}.{}".format) if one in left_out), None)
        if above is not None:
            raise UsageError(f"--{above} none leaves nothing to set with --{name}: drop one of them")
        dotted = ".".join(keys)
        left_out = {one for one in left_out if one != dotted and not one.startswith(f"{dotted}.")}
        left_out |= {dotted} if is_nothing(text) else set()
        values = merge(values, nested(keys, text))
    return {name: _with_kind(name, section) for name, section in values.items()}


def _with_kind(name: str, section: object) -> object:
    """A section with the one kind that requires such a setting: that of `--model.factory` is factory."""
    if not isinstance(section, Mapping) or "name" in section:
        return section
    needing = [
        kind
        for kind, option in KINDS.get(name, {}).items()
        if any(field.required and field.name in section for field in fields(option))
    ]
    return {"name": needing[0], **section} if len(needing) == 1 else section


def nested(keys: Sequence[str], value: object) -> dict[str, object]:
    inner = value if len(keys) == 1 else nested(keys[1:], value)
    return {keys[0]: _as_section(keys[0], inner)}


def _as_section(name: str, value: object) -> object:
    """`data: cityscapes` is short for its name, `data: my/images` for a folder dataset's root."""
    if not isinstance(value, str) or name not in KINDS:
        return value
    if name == "data" and value not in KINDS[name]:
        if os.path.exists(value) or "/" in value:  # noqa: PTH110 (any text)
            return {"name": "folder", "root": value}
        known = near_miss(value, list(KINDS[name]), name)
        raise UserError(f"--data: there is no folder and no dataset {shortened(repr(value))}{known}")
    return value if value.lower() in NONE_WORDS else {"name": value}


def merge(lower: Mapping[str, object], upper: Mapping[str, object], path: str = "") -> dict[str, object]:
    """`lower` with the settings of `upper` put over it; another `name` drops the settings of the old one."""
    result: dict[str, object] = {name: _as_section(name, value) for name, value in lower.items()}
    for name, value in upper.items():
        below: Any = result.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            result[name] = dict(value) if _renames(value, below) else merge(below, value, f"{path}{name}.")
        elif isinstance(value, Mapping) and not is_nothing(below):
            raise UserError(
                f"--{path}{name}: expected settings as 'key: value', got {shortened(repr(below))}"
            )
        else:
            result[name] = value
    return result


def _renames(section: object, below: object) -> bool:
    """Whether a section chooses another kind than the one that it is put over."""
    if not isinstance(section, Mapping) or not isinstance(below, Mapping) or "name" not in section:
        return False
    return bool(section["name"] != below.get("name", section["name"]))
