"""Plain values (from YAML or the command line) -> typed settings, with errors that name the setting."""

from __future__ import annotations

import errno
import math
import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import did_you_mean, is_text, shortened

NONE_WORDS = ("none", "null", "~", "")
LARGEST = 10**37
"""Of numbers without another limit: what 32-bit floats hold; seeds may have more than 64 bits."""

_EXACT_FLOATS = 2**53
"""Up to here a float holds every whole number."""

_TRUE_WORDS, _FALSE_WORDS = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def parse(kind: Any, value: object, path: str) -> Any:
    """`value` as the type `kind`. `path` is the dotted name of the setting, for error messages."""
    if _is_union(kind):
        return _parse_union(get_args(kind), value, path)
    if is_dataclass(kind):
        return _parse_section(kind, value, path)
    if get_origin(kind) is Literal:
        return _parse_choice(get_args(kind), value, path)
    if get_origin(kind) is tuple:
        return _parse_tuple(get_args(kind), value, path)
    return _parse_scalar(kind, value, path)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def members(kind: Any) -> dict[str, Any]:
    """name -> dataclass for a field that holds one of several named dataclasses; {} for any other field."""
    options = [option for option in (get_args(kind) if _is_union(kind) else (kind,)) if is_dataclass(option)]
    return {option.name: option for option in options if hasattr(option, "name")}


def _parse_union(options: tuple[Any, ...], value: object, path: str) -> Any:
    """One of several dataclasses, told apart by `name`; or a value that may be none."""
    if type(None) in options:
        if is_nothing(value):
            return None
        rest = [option for option in options if option is not type(None)]
        return parse(rest[0] if len(rest) == 1 else Union[tuple(rest)], value, path)  # noqa: UP007 (built at run time)
    by_name = members(Union[options])  # noqa: UP007
    mapping = section_mapping(value, path)
    name = str(mapping["name"]) if "name" in mapping else _unnamed(by_name, mapping, path)
    if name not in by_name:
        raise UserError(f"{path}.name: unknown name {shortened(repr(name))}{did_you_mean(name, by_name)}")
    for key in mapping:
        owners = [option for option, kind in by_name.items() if key in {f.name for f in fields(kind)}]
        if owners and name not in owners:
            of = " or ".join(owners)
            raise UserError(
                f"unknown setting '{path}.{key}' of {path} {name!r}; {of} has it: "
                f"choose that with --{path} {owners[0]}"
            )
    return _parse_section(by_name[name], mapping, path)


def _unnamed(by_name: Mapping[str, Any], mapping: Mapping[str, object], path: str) -> str:
    """Which option is meant where no name is given: the first that has all the settings.

    Datasets are different things: where several have the settings, a person chooses.
    """
    first = next(iter(by_name))
    owns = {option: {f.name for f in fields(kind)} for option, kind in by_name.items()}
    known = mapping.keys() & set().union(*owns.values())  # what nobody has is named as such later
    owners = [option for option in by_name if known <= owns[option]]
    if first in owners or not owners:
        return first
    if len(owners) == 1 or path != "data":
        return owners[0]
    key = min(known - owns[first])
    has = f"{path}.{key} is a setting of {', '.join(owners)}, not of {first}"
    raise UserError(f"{has}; choose which with {path}: NAME, or --{path} NAME")


def is_nothing(value: object) -> bool:
    """Whether it is none, or a word for that."""
    return value is None or (isinstance(value, str) and value.lower() in NONE_WORDS)


def section_mapping(value: object, path: str) -> Mapping[str, object]:
    """A section's settings; a bare word is short for its name, nothing at all for the defaults."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    raise UserError(
        f"{path or 'the config'}: expected settings as 'key: value', got {shortened(repr(value))}"
    )


def _parse_section(kind: Any, value: object, path: str) -> Any:
    """A dataclass from a mapping: unknown keys and missing required ones are errors."""
    if isinstance(value, str) and not hasattr(kind, "name"):
        raise UserError(
            f"{path}: expected settings such as --{path}.{fields(kind)[0].name}, got {shortened(repr(value))}"
        )
    mapping = section_mapping(value, path)
    hints, known = get_type_hints(kind), {f.name: f for f in fields(kind)}
    for key in mapping:
        if key not in known:
            raise UserError(_unknown_setting(kind, key, path))
    parsed = {}
    for name, declared in known.items():
        dotted = f"{path}.{name}" if path else name
        if name in mapping:
            parsed[name] = checked(declared, parse(hints[name], mapping[name], dotted), dotted)
        elif declared.default is MISSING and declared.default_factory is MISSING:
            given = " (--data FOLDER)" if dotted == "data.root" else ""
            raise UserError(f"{dotted} must be given{given}: {declared.metadata['help']}")
    return kind(**parsed)


_WORDS_OF_OTHERS = {
    "epochs": "train.iterations, a number of steps",
    "steps": "train.iterations",
    "batch_size": "train.labelled_per_step",
    "learning_rate": "optimiser.lr",
    "gpus": "torchrun --nproc_per_node N -m recoseg train ..., which trains on N of them",
    "num_workers": "train.workers",
    "backbone": "model.encoder",
    "crop_size": "augment.crop",
}
"""What people call a thing elsewhere -> what it is here."""


def _unknown_setting(kind: Any, key: str, path: str) -> str:
    dotted = shortened(f"{path}.{key}" if path else key)
    if key in _WORDS_OF_OTHERS:
        return f"unknown setting {dotted!r}; here that is {_WORDS_OF_OTHERS[key]}"
    owner = f" of {path} {kind.name!r}" if path and hasattr(kind, "name") else ""
    # `--lr` is better answered by `optimiser.lr` than by the nearest section's name.
    elsewhere = [name for name in setting_names(kind) if name.split(".")[-1] == key]
    if elsewhere:
        return f"unknown setting {dotted!r}{owner}; did you mean {elsewhere[0]!r}?"
    return f"unknown setting {dotted!r}{owner}{did_you_mean(key, [f.name for f in fields(kind)])}"


def setting_names(kind: Any, path: str = "") -> list[str]:
    """The dotted names of all settings below a dataclass, those of every named option included."""
    names = []
    hints = get_type_hints(kind)
    for f in fields(kind):
        dotted = f"{path}.{f.name}" if path else f.name
        options = members(hints[f.name]).values() or ([hints[f.name]] if is_dataclass(hints[f.name]) else [])
        below = [name for option in options for name in setting_names(option, dotted)]
        names += below or [dotted]
    return names


def _parse_choice(choices: tuple[Any, ...], value: object, path: str) -> Any:
    if value in choices:
        return value
    raise UserError(
        f"{path}: unknown value {shortened(repr(value))}{did_you_mean(str(value), [str(c) for c in choices])}"
    )


def _parse_tuple(kinds: tuple[Any, ...], value: object, path: str) -> tuple[Any, ...]:
    """A pair such as 256x512 or 0.5,1.5; one number stands for both."""
    items: Any = value.replace("x", ",").strip("[]() ").split(",") if isinstance(value, str) else value
    if isinstance(items, int | float):
        items = [items]
    if not isinstance(items, list | tuple) or len(items) not in (1, len(kinds)):
        example = "256x512" if kinds[0] is int else "0.5,1.5"
        raise UserError(
            f"{path}: expected {len(kinds)} numbers such as {example}, got {shortened(repr(value))}"
        )
    items = list(items) * (len(kinds) // len(items))
    return tuple(_parse_scalar(kind, item, path) for kind, item in zip(kinds, items, strict=True))


def _parse_scalar(kind: type, value: object, path: str) -> Any:
    """A bool, int, float or str; text is read as the command line gives it."""
    text = str(value).strip()
    if kind is str and isinstance(value, str) and is_text(value):
        return value
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        return text  # YAML takes `pixels: 1` and `fraction: 0.5` for numbers
    if kind is bool and text.lower() in _TRUE_WORDS + _FALSE_WORDS:
        return text.lower() in _TRUE_WORDS
    if kind in (int, float) and not isinstance(value, bool):
        with suppress(ValueError):
            return _whole_number(text) if kind is int else _finite_number(text)
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise UserError(f"{path}: expected {words[kind]}, got {shortened(repr(value))}")


def _whole_number(text: str) -> int:
    """A whole number, also as 40_000 or 4e4; but not as 1e17: a float keeps the first digits of it only."""
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


def checked(declared: Field[Any], value: Any, path: str) -> Any:
    """`value`, if it keeps the limits of its field; a path that exists is made absolute."""
    is_path = declared.metadata.get("is_path") and value is not None
    if is_path and value not in declared.metadata["words"]:
        return located(value, path)
    limits = declared.metadata.get("limits", {})
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        for limit, bound in ({"at_least": -LARGEST, "at_most": LARGEST} | limits).items():
            kept = {"at_least": number >= bound, "at_most": number <= bound, "above": number > bound}[limit]
            if not kept:
                given = f"{number:g}" if abs(number) <= LARGEST else shortened(str(number))
                raise UserError(f"{path}: must be {limit.replace('_', ' ')} {bound:g}, got {given}")
    return value


def located(value: str, path: str) -> str:
    """What exists by its place without links, if a config can hold that; what does not exist as it is."""
    try:
        Path(value).stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            told = f"longer than names can be: {shortened(repr(value))}"
            raise UserError(f"{path}: {told}") from None
        return value
    return str(real(Path(value)))
