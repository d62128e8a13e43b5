"""A YAML file and overrides of the command line -> RunConfig, or a line that says what is wrong; and back."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.data_settings import FolderData
from recoseg.config.parse import NONE_WORDS, is_nothing, members, parse, section_mapping
from recoseg.config.settings import RunConfig, filled
from recoseg.errors import UsageError, UserError
from recoseg.files import as_path
from recoseg.text import did_you_mean, shortened

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = [PACKAGE / "configs", PACKAGE.parent / "configs"]
"""Where shipped configs lie: inside an installed package, or beside it in a checkout."""


_SECTIONS = {**get_type_hints(RunConfig), "bank": get_type_hints(ContrastSettings)["bank"]}
"""Sections by name, wherever they are -> what they may be."""


def load(path: str | Path | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a run: defaults, then the YAML file, then overrides such as `--train.seed 3`."""
    values = read_yaml(find_config(path)) if path is not None else {}
    words = _read_overrides(overrides)
    if "contrast" not in words and _renames(words.get("method"), _as_section("method", values.get("method"))):
        values.pop("contrast", None)  # it was there for the file's method; a baseline has none unasked
    try:
        return from_plain(merge(values, words))
    except UserError as error:
        if path is not None and _mistake_in(values) == str(error):
            raise UserError(f"{path}: {error}") from None
        raise UsageError(str(error)) from None


def load_for(path: str | Path | None, words: Sequence[str]) -> RunConfig:
    """The config of a new run; for a folder of one's own, and without a word on it, the one that suits it."""
    config = load(path, words)
    if path is None and isinstance(config.data, FolderData):
        written = Path(config.data.root) / FOLDER_CONFIG
        return load(written, words) if written.is_file() else load_own_images(words)
    return config


FOLDER_CONFIG = "recoseg.yaml"
"""What `recoseg init` writes into a folder of images."""


def load_own_images(overrides: Sequence[str]) -> RunConfig:
    """The shipped config for a folder of one's own; a section of it that the words do not fit is left out."""
    words = _read_overrides(overrides)
    values = read_yaml(find_config("own_images"))
    for name in values.keys() & words.keys():
        if _mistake_in(merge({name: values[name]}, {name: words[name]})) and not _mistake_in(
            {name: words[name]}
        ):
            del values[name]
    if "model" not in values:
        values.pop("optimiser", None)  # its rates are those of that network
    return from_plain(merge(values, words))


def _mistake_in(values: Mapping[str, object]) -> str | None:
    try:
        from_plain(values)
        return None
    except UserError as error:
        return str(error)


def from_plain(values: Mapping[str, object]) -> RunConfig:
    config: RunConfig = parse(
        RunConfig, {name: _as_section(name, value) for name, value in values.items()}, ""
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
    candidates = [as_path(path, what="config"), *(folder / f"{path}.yaml" for folder in SHIPPED)]
    for candidate in candidates:
        if os.path.isfile(candidate):  # noqa: PTH113 (whatever was given)
            return candidate
    names = sorted({p.stem for folder in SHIPPED for p in folder.glob("*.yaml")})
    raise UserError(
        f"no config file {str(path)!r}, and none is shipped under that name. Shipped: {', '.join(names)}"
    )


def _read_overrides(words: Sequence[str]) -> dict[str, object]:
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


_CHOOSES = {"method": {"factory": "factory"}, "model": {"factory": "factory", "checkpoint": "transformers"}}
"""Settings that one kind of a section alone has, and cannot do without -> that kind."""


def _with_kind(name: str, section: object) -> object:
    """A section with the kind that its settings choose: `--model.factory` needs no `--model factory`."""
    if not isinstance(section, Mapping) or "name" in section:
        return section
    kinds = {kind for setting, kind in _CHOOSES.get(name, {}).items() if setting in section}
    return {"name": kinds.pop(), **section} if len(kinds) == 1 else section


def nested(keys: Sequence[str], value: object) -> dict[str, object]:
    inner = value if len(keys) == 1 else nested(keys[1:], value)
    return {keys[0]: _as_section(keys[0], inner)}


def _as_section(name: str, value: object) -> object:
    """`data: cityscapes` is short for its name, `data: my/images` for a folder dataset's root."""
    if not isinstance(value, str) or name not in _SECTIONS:
        return value
    names = members(_SECTIONS[name])
    if name == "data" and value not in names:
        if os.path.exists(value) or "/" in value:  # noqa: PTH110 (whatever was given)
            return {"name": "folder", "root": value}
        given = shortened(repr(value))
        raise UserError(f"data: there is no folder and no dataset {given}{did_you_mean(value, names)}")
    return {"name": value} if names and value.lower() not in NONE_WORDS else value


def merge(lower: Mapping[str, object], upper: Mapping[str, object], path: str = "") -> dict[str, object]:
    """`lower` with the settings of `upper` put over it; another `name` drops the settings of the old one."""
    result: dict[str, object] = {name: _as_section(name, value) for name, value in lower.items()}
    for name, value in upper.items():
        below: Any = result.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            result[name] = dict(value) if _renames(value, below) else merge(below, value, f"{path}{name}.")
        elif isinstance(value, Mapping) and not is_nothing(below):
            raise UserError(f"{path}{name}: expected settings as 'key: value', got {shortened(repr(below))}")
        else:
            result[name] = value
    return result


def _renames(section: object, below: object) -> bool:
    """Whether a section chooses another kind than the one that it is put over."""
    if not isinstance(section, Mapping) or not isinstance(below, Mapping) or "name" not in section:
        return False
    return bool(section["name"] != below.get("name", section["name"]))


_MOST_ALIASES = 20
"""In a config of others, a few lines of aliases of aliases can stand for any amount of memory."""

_BROKEN = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading may raise: YAML's own errors, and whatever Python says to a date such as 2026-99-99."""


class SettingsLoader(yaml.SafeLoader):
    """YAML's safe loader, with few aliases, and no key twice: the first would be lost."""

    num_aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            self.num_aliases += 1
            if self.num_aliases > _MOST_ALIASES:
                problem = f"more than {_MOST_ALIASES} aliases; write out what is needed"
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        first = {key.value: key for key in reversed(keys)}
        for key in keys:  # as written: what an alias merges in comes later, and may be overridden
            if key is not first[key.value]:
                where = f"first in line {first[key.value].start_mark.line + 1}"
                problem = f"the key {key.value!r} is there twice, {where}; keep one of them"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        return node


def read_yaml(path: Path) -> dict[str, object]:
    """The values of a file, which must be a mapping or empty."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), SettingsLoader)
    except RecursionError:
        raise UserError(f"{path}: lists or settings inside each other without end") from None
    except _BROKEN as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        told = shortened(str(getattr(error, "problem", None) or error))
        raise UserError(f"{path}{line}: not valid YAML: {told}") from error
    if isinstance(values, str):
        raise UserError(f"{path}: expected settings as 'key: value', got the text {values[:40]!r}")
    return dict(section_mapping(values, str(path)))
