"""Values that people write, in YAML or on the command line -> typed settings; a mistake names its setting.

First values are brought into the types of their settings: "40_000" is a number, "256x512" a pair, "none" is
none, a bare word the name of a section. Then msgspec checks types and limits. Messages name a setting as one
types it: --train.iterations.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from recoseg.config.setting import Kind, Section, SettingError, fields, help_texts, parts, setting_names
from recoseg.config.settings import RunConfig, resolve_defaults
from recoseg.errors import UsageError, UserError
from recoseg.files import real
from recoseg.text import is_text, nearest_name, shortened

Origins = Mapping[str, str]
"""Dotted name -> the file and line that a value is from; "" for the command line."""

NONE_WORDS = ("none", "null", "~", "")
_TRUE_WORDS, _FALSE_WORDS = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_EXACT_FLOATS = 2**53
"""Up to here a float holds every whole number."""

_WORDS_OF_OTHERS = {
    "epochs": "--train.iterations, a number of steps",
    "steps": "--train.iterations",
    "batch_size": "--train.labelled_per_step",
    "learning_rate": "--optimiser.lr",
    "gpus": "torchrun --nproc_per_node N -m recoseg train ..., which trains on N of them",
    "num_workers": "--train.workers",
    "backbone": "--model.encoder",
    "crop_size": "--augment.crop",
}
"""What other tools call a thing -> what it is here."""


def parse(values: Mapping[str, object], origins: Origins | None = None) -> RunConfig:
    """The config of a run; a mistake begins with the place that its value is from."""
    try:
        tidy = _tidy_section({"": RunConfig}, values, "")
        try:
            return resolve_defaults(msgspec.convert(tidy, RunConfig))
        except msgspec.ValidationError as error:
            raise _explain(str(error), tidy, RunConfig) from None
    except SettingError as error:
        origin = _origin(error.path, origins or {})
        if origin:
            raise UserError(f"{origin}: {error}") from None
        raise UsageError(str(error)) from None


def _origin(path: str, origins: Origins) -> str:
    """Where the value at `path`, or the section around it, is from."""
    while path:
        # The words that choose a kind go before the file that has the section too.
        for name in (f"{path}.name", path):
            if name in origins:
                return origins[name]
        path = path.rpartition(".")[0]
    return ""


def is_nothing(value: object) -> bool:
    """Whether a value is none, or a word for that."""
    return value is None or (isinstance(value, str) and value.lower() in NONE_WORDS)


def _tidy_section(sections: Mapping[str, type[Section]], value: object, path: str) -> dict[str, Any]:
    """The settings of one of several sections, in the types that it declares."""
    if value is None:
        value = {}
    if isinstance(value, str) and any(sections):
        value = {"name": value}
    if not isinstance(value, Mapping):
        raise _no_section(sections, value, path)
    mapping = {str(key): item for key, item in value.items()}
    name = (
        str(mapping.pop("name"))
        if any(sections) and "name" in mapping
        else choose_kind(sections, mapping, path)
    )
    if name not in sections:
        known = near_miss(name, list(sections), path)
        raise SettingError(path, f"unknown name {shortened(repr(name))}{known}")
    tidy: dict[str, Any] = {"name": name} if name else {}
    known_fields = {field.name: field for field in fields(sections[name])}
    for key, item in mapping.items():
        dotted = f"{path}.{key}" if path else key
        if key not in known_fields:
            raise _unknown_setting(sections, name, key, item, path)
        tidy[key] = _tidy(known_fields[key].type, item, dotted)
    for field in known_fields.values():
        if field.required and field.name not in mapping:
            given = " (--data FOLDER)" if path == "data" else ""
            problem = f"must be given{given}: {help_texts(sections[name])[field.name]}"
            raise SettingError(f"{path}.{field.name}", problem)
    return tidy


def _no_section(sections: Mapping[str, type[Section]], value: object, path: str) -> SettingError:
    given = shortened(repr(value))
    if isinstance(value, str):
        example = fields(next(iter(sections.values())))[0].name
        return SettingError(path, f"expected settings such as --{path}.{example}, got {given}")
    return SettingError(path, f"expected settings as 'key: value', got {given}")


def choose_kind(sections: Mapping[str, type[Section]], mapping: Mapping[str, object], path: str) -> str:
    """The name of the section that is meant where none is given: the first that has all the settings.

    Datasets are different things: where several have the settings, a person chooses.
    """
    first = next(iter(sections))
    owns = {name: {field.name for field in fields(kind)} for name, kind in sections.items()}
    known = mapping.keys() & set().union(*owns.values())  # what no section has is an error later
    owners = [name for name in sections if known <= owns[name]]
    if first in owners or not owners:
        return first
    if len(owners) == 1 or path != "data":
        return owners[0]
    key = min(known - owns[first])
    has = f"a setting of {', '.join(owners)}, not of {first}"
    raise SettingError(f"{path}.{key}", f"{has}; choose one with --{path} NAME")


def _unknown_setting(
    sections: Mapping[str, type[Section]], name: str, key: str, value: object, path: str
) -> SettingError:
    dotted = f"{path}.{key}" if path else key
    whole = f"{dotted}.{next(iter(value))}" if isinstance(value, Mapping) and len(value) == 1 else dotted
    if key in _WORDS_OF_OTHERS:
        return SettingError(dotted, f"unknown setting; here that is {_WORDS_OF_OTHERS[key]}")
    unknown = f"unknown setting of {path} {name}" if name else "unknown setting"
    owners = [other for other, kind in sections.items() if key in {field.name for field in fields(kind)}]
    if owners:
        remedy = f"{' or '.join(owners)} has it: choose that with --{path} {owners[0]}"
        return SettingError(whole, f"{unknown}; {remedy}")
    everywhere, own = setting_names(RunConfig), [field.name for field in fields(sections[name])]
    nearest = None if sections[name] is RunConfig else nearest_name(key, own)
    if nearest:
        nearest = f"{path}.{nearest}" if path else nearest
    else:
        same_word = [known for known in everywhere if _last(known) == _last(whole)]
        nearest = nearest_name(whole, same_word) or next(iter(same_word), None)
        nearest = nearest or nearest_name(whole, everywhere) or _by_last_word(whole, everywhere)
    remedy = f"did you mean --{nearest}?" if nearest else f"known: {', '.join(own)}"
    return SettingError(whole, f"{unknown}; {remedy}")


def _by_last_word(dotted: str, names: Sequence[str]) -> str | None:
    by_word = {_last(name): name for name in reversed(names)}
    near = nearest_name(_last(dotted), list(by_word))
    return by_word[near] if near else None


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def near_miss(name: str, names: Sequence[str], option: str) -> str:
    """The end of a message: the nearest of the names, as one types it, or all of them."""
    nearest = nearest_name(name, names)
    return f"; did you mean --{option} {nearest}?" if nearest else f"; known: {', '.join(names)}"


def _tidy(kind: Any, value: object, path: str) -> Any:
    """`value` in the type of its setting, where it can be read so; msgspec refuses the rest."""
    declared = parts(kind)
    if declared.may_be_none and is_nothing(value):
        return None
    if declared.sections:
        return _tidy_section(declared.sections, value, path)
    if isinstance(value, str) and not is_text(value):
        raise SettingError(path, f"expected text, got {shortened(repr(value))}")
    base = declared.kinds[0]
    if get_origin(base) is tuple:
        return _tidy_pair(get_args(base), value, path)
    value = _tidy_scalar(base, value, path)
    is_path = declared.extra.get("is_path") and value not in declared.extra.get("words", ())
    return _resolve_path(value, path) if is_path and isinstance(value, str) else value


def _tidy_pair(kinds: tuple[Any, ...], value: object, path: str) -> list[Any]:
    """A pair such as 256x512 or 0.5,1.5; one number stands for both."""
    items: Any = value.replace("x", ",").strip("[]() ").split(",") if isinstance(value, str) else value
    if isinstance(items, int | float):
        items = [items]
    base = parts(kinds[0]).kinds[0]
    if not isinstance(items, list | tuple) or len(items) not in (1, len(kinds)):
        example = "256x512" if base is int else "0.5,1.5"
        problem = f"expected {len(kinds)} numbers such as {example}, got {shortened(repr(value))}"
        raise SettingError(path, problem)
    return [_tidy_scalar(base, item, path) for item in list(items) * (len(kinds) // len(items))]


def _tidy_scalar(kind: Any, value: object, path: str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    with suppress(ValueError):  # also of numbers with thousands of digits
        text = str(value).strip()
        if kind is str and is_number:
            return text  # YAML takes `pixels: 1` and `fraction: 0.5` for numbers
        if kind is bool and text.lower() in _TRUE_WORDS + _FALSE_WORDS:
            return text.lower() in _TRUE_WORDS
        if kind in (int, float) and (is_number or isinstance(value, str)):
            return _whole_number(text) if kind is int else _finite_number(text)
    return value


def _whole_number(text: str) -> int:
    """A whole number, also as 40_000 or 4e4; not as 1e17, because a float keeps its first digits only."""
    with suppress(ValueError):
        return int(text.replace("_", ""))
    number = _finite_number(text)
    if not number.is_integer() or abs(number) > _EXACT_FLOATS:
        raise ValueError(text)
    return int(number)


def _finite_number(text: str) -> float:
    number = float(text.replace("_", ""))
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _resolve_path(value: str, path: str) -> str:
    """An existing path as an absolute one without links, where a config can hold that; others as they are."""
    try:
        Path(value).stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SettingError(path, f"longer than names can be: {shortened(repr(value))}") from None
        return value
    return str(real(Path(value)))


_LIMITS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _explain(text: str, values: Mapping[str, Any], kind: type[Section]) -> SettingError:
    """msgspec's message, with the setting as one types it and the value that was given."""
    message, _, place = text.partition(" - at `$.")
    path = re.sub(r"\[\d+\]", "", place.rstrip("`"))
    declared, value = _find(kind, values, path)
    if index := re.search(r"\[(\d+)\]", place):
        value = value[int(index[1])]
    given = f"{value:g}" if isinstance(value, float) else shortened(repr(value))
    base = declared.kinds[0]
    if limit := re.fullmatch(r"Expected `\w+` ([<>]=?) (.+)", message):
        problem = f"must be {_LIMITS[limit[1]]} {float(limit[2]):g}, got {given}"
    elif get_origin(base) is Literal:
        problem = f"unknown value {given}{near_miss(str(value), get_args(base), path)}"
    else:
        base = parts(get_args(base)[0]).kinds[0] if get_origin(base) is tuple else base
        problem = f"expected {_TYPES[base]}, got {given}"
    return SettingError(path, problem)


def _find(kind: Any, values: Any, path: str) -> tuple[Any, Any]:
    """The declaration of the setting at `path`, and its value."""
    name, _, rest = path.partition(".")
    declared = parts(next(field.type for field in fields(kind) if field.name == name))
    if not rest:
        return declared, values[name]
    section = declared.sections[values[name].get("name", "")]
    return _find(section, values[name], rest)


_Settings = TypeVar("_Settings", bound=Section)


def section_of(
    kind: type[_Settings], keywords: Mapping[str, object], *, of_view: Sequence[str] = ()
) -> _Settings:
    """A section from the keywords of a constructor, checked as those of a config are.

    The settings `of_view` have no effect here: the constructor receives an object that has them.
    """
    for name in of_view:
        if name in keywords:
            raise TypeError(f"{name} is set by another argument of the constructor, see its class")
    try:
        tidy = _tidy_section({"": kind}, keywords, "")
        try:
            return msgspec.convert({**tidy, **_tag_of(kind)}, kind)
        except msgspec.ValidationError as error:
            raise _explain(str(error), tidy, kind) from None
    except SettingError as error:
        raise UserError(str(error).replace("--", "")) from None


def _tag_of(kind: type[Section]) -> dict[str, Any]:
    return {"name": kind.__struct_config__.tag} if issubclass(kind, Kind) else {}
