"""Config -> objects: the only part that knows both."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def keywords(section: Any) -> dict[str, Any]:
    """The settings of a section as keyword arguments of the class that `name` stands for."""
    return {f.name: getattr(section, f.name) for f in fields(section) if f.name != "name"}
