"""One setting: a dataclass field with its help text and the range of values that make sense."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def setting(
    default: Any,
    help: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    is_path: bool = False,
    words: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with its help text and the range of values that make sense.

    A path that exists is made absolute, so that a run can be resumed from another folder. `words` are
    values of such a setting that are no paths, whatever lies in the current folder.
    """
    limits = {"at_least": at_least, "at_most": at_most, "above": above}
    given = {name: value for name, value in limits.items() if value is not None}
    metadata = {"help": help, "limits": given, "is_path": is_path, "words": words}
    return field(metadata=metadata) if default is REQUIRED else field(default=default, metadata=metadata)


MOST_ITERATIONS = 1_000_000_000
MOST_CHANNELS = 8192

REQUIRED = object()
"""As a default: the setting has none and must be given."""
