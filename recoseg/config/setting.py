"""What settings are declared with: sections, the kinds of a section, and numbers within limits.

A setting is declared once, as a field of a section: name, type with limits and default, and above them its
help text in comments that begin with `#:`. Parsing, checks, `--help` and the classes that take the section
follow from it.
"""

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from msgspec import Meta, Struct, structs

MOST_ITERATIONS = 1_000_000_000
MOST_CHANNELS = 8192
#: Above this, 32-bit floats hold no numbers.
LARGEST = 1e37


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that belong together, such as `train`."""


class Kind(Section, frozen=True, kw_only=True, tag_field="name"):
    """One of several sections that may stand in a place, such as a method; `name` chooses it."""

    @property
    def name(self) -> str:
        return str(self.__struct_config__.tag)


Share = Annotated[float, Meta(ge=0, le=1)]
Decay = Annotated[float, Meta(ge=0, le=0.99999)]
NonNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
Positive = Annotated[float, Meta(gt=0, le=LARGEST)]
Number = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Iterations = Annotated[int, Meta(ge=0, le=MOST_ITERATIONS)]
Channels = Annotated[int, Meta(ge=1, le=MOST_CHANNELS)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
#: A file or folder. Where it exists, its absolute path is kept, so that a run resumes from any folder.
FilePath = Annotated[str, Meta(extra={"is_path": True})]

fields = cache(structs.fields)


def fill_none(section: Any, values: dict[str, Any]) -> Any:
    """The section with these values in place of its settings that are none."""
    return structs.replace(
        section, **{name: value for name, value in values.items() if getattr(section, name) is None}
    )


class SettingError(ValueError):
    """A wrong value of the setting at the dotted name `path`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"--{path}: {problem}")
        self.path = path


class Parts(NamedTuple):
    """The type of a setting, taken apart."""

    kinds: tuple[Any, ...]
    may_be_none: bool
    extra: Mapping[str, Any] = MappingProxyType({})

    @property
    def sections(self) -> dict[str, type[Section]]:
        """name -> section, where the setting is a section itself; one that has no kinds is named ''."""
        return {kind.__struct_config__.tag or "": kind for kind in self.kinds if is_section(kind)}


def is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


@cache
def parts(kind: Any) -> Parts:
    """Take a type such as `Share | None` apart."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        below, metas = parts(inner[0]), [meta for meta in inner[1:] if isinstance(meta, Meta)]
        return below._replace(extra=next((meta.extra for meta in metas if meta.extra), below.extra))
    if origin in (Union, UnionType):
        options = [parts(option) for option in inner if option is not NoneType]
        kinds = tuple(kind for option in options for kind in option.kinds)
        return options[0]._replace(kinds=kinds, may_be_none=NoneType in inner)
    return Parts((kind,), may_be_none=False)


def setting_names(kind: Any, path: str = "") -> list[str]:
    """The dotted names of all settings below a section, including those of all its kinds."""
    names = []
    for field in fields(kind):
        dotted = f"{path}.{field.name}" if path else field.name
        sections = parts(field.type).sections
        if any(sections):
            names.append(f"{dotted}.name")
        below = [name for section in sections.values() for name in setting_names(section, dotted)]
        names += below or [dotted] * (not sections)
    return list(dict.fromkeys(names))


def help_texts(kind: type[Section]) -> dict[str, str]:
    """Name of a setting -> its help text, of all settings of a section."""
    texts: dict[str, str] = {}
    for section in reversed(kind.__mro__):
        file = getattr(sys.modules.get(section.__module__), "__file__", None) if is_section(section) else None
        texts |= _comments(file).get(section.__name__, {}) if file else {}
    return texts


@cache
def _comments(file: str) -> dict[str, dict[str, str]]:
    """Class -> field -> the comment `#:` above it."""
    found: dict[str, dict[str, str]] = {}
    of_class: dict[str, str] = {}
    comment: list[str] = []
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        words = line.strip()
        if line.startswith("class "):
            of_class = found[re.split(r"\W", line)[1]] = {}
        if words.startswith("#:"):
            comment.append(words[2:].strip())
        elif comment:
            of_class[words.partition(":")[0]] = " ".join(comment)
            comment = []
    return found
