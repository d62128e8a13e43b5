"""The state that a resumed run starts from: written whole, checked when read, with the one before it kept."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from recoseg.errors import UserError
from recoseg.files import write_whole

STATE_FORMAT = 2


def save_state(path: Path, iteration: int, parts: Mapping[str, Any]) -> None:
    """Everything that a resumed run needs, besides what config and iteration decide."""
    buffer = io.BytesIO()
    torch.save({"format": STATE_FORMAT, "iteration": iteration, **parts}, buffer)
    if path.is_file():
        # A second name for the old file: at no moment is there no whole state under either name.
        spare = before(path)
        spare.unlink(missing_ok=True)
        try:
            os.link(path, spare)
        except OSError:  # a file system without links
            path.replace(spare)
    write_whole(path, buffer.getvalue())


def load_state(path: Path) -> tuple[dict[str, Any] | None, str | None]:
    """The last whole state, None before the first; and a warning where that is not the last one written."""
    if not path.is_file() and not before(path).is_file():
        return None, None
    state = read_state(path)
    if state is not None:
        return state, None
    state = read_state(before(path))
    trouble = "is damaged" if path.is_file() else "is missing"
    if state is None:
        raise UserError(
            f"{path} {trouble}, and there is no whole state before it: this run cannot be resumed; start a "
            "new one with --out"
        )
    return state, f"{path} {trouble}; going on from the state before it, iteration {state['iteration']}"


def put_back(path: Path) -> None:
    """The state before a damaged one takes its place, lest the next save keep the damaged one as a spare."""
    before(path).replace(path)


def before(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def read_state(path: Path) -> dict[str, Any] | None:
    """The state in a file; None if it is not there, or not whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:  # compares every part with its checksum
                return None
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (PermissionError, MemoryError):
        raise
    except Exception:  # what a damaged file raises depends on where it is damaged
        return None
    if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
        raise UserError(
            f"{path} was written by another version of recoseg: go on with that one, or start anew"
        )
    return dict(state)
