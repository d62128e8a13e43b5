"""The state that a resumed run starts from: written whole, checked when read, with the one before it kept."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import torch
from torch import Tensor
from torch.optim import Optimizer

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.records import Count, WrongFieldError, checked

_STATE_FORMAT = 2
_SCALER = {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}


def _require_scaler(values: Mapping[str, Any]) -> None:
    if values and values.keys() != _SCALER:
        raise WrongFieldError("scaler", f"must have {', '.join(sorted(_SCALER))}, or nothing")


def _require_means(place: str, values: Mapping[str, Any]) -> None:
    for name, total in values["sums"].items():
        if name not in values["counts"] or total.dim() != 1 or not total.is_floating_point():
            raise WrongFieldError(f"{place}.sums.{name}", "must be a row of numbers, with a count")


class _MeansState(TypedDict):
    sums: dict[str, Tensor]  # (world,) each
    counts: dict[str, Count]


class _LogState(TypedDict):
    recent: _MeansState
    since_evaluation: _MeansState


class _OptimiserState(TypedDict):
    state: dict[int, dict[str, Any]]
    param_groups: list[dict[str, Any]]


class State(TypedDict):
    """What a trainer saves, and what comes back."""

    format: int
    iteration: Count
    method: dict[str, Tensor]
    optimisers: dict[str, _OptimiserState]
    scaler: dict[str, int | float]
    settings: dict[str, Any]
    log: _LogState


def save_state(path: Path, iteration: int, parts: Mapping[str, Any]) -> None:
    """Everything that a resumed run needs, besides what config and iteration decide."""
    buffer = io.BytesIO()
    torch.save({"format": _STATE_FORMAT, "iteration": iteration, **parts}, buffer)
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


def checked_state(
    path: Path,
    state: Mapping[str, Any],
    *,
    method: Mapping[str, Tensor],
    optimisers: Mapping[str, Optimizer],
    iterations: int,
) -> State:
    """`state` if it is one of such a run, with the same tensors in networks and optimisers; from `path`."""

    def require_fits(state: Mapping[str, Any]) -> None:
        if state["iteration"] > iterations:
            raise WrongFieldError("iteration", f"must be at most {iterations}, not {state['iteration']}")
        _require_scaler(state["scaler"])
        for name in ("recent", "since_evaluation"):
            _require_means(f"log.{name}", state["log"][name])
        _require_names("method", state["method"], method)
        for name, tensor in state["method"].items():
            _require_like(f"method.{name}", tensor, method[name])
        _require_names("optimisers", state["optimisers"], optimisers)
        for name, saved in state["optimisers"].items():
            _require_optimiser(f"optimisers.{name}", saved, optimisers[name])

    remedy = "it is not of this run: bring its own back, or start a new one with --out"
    found: State = checked(state, State, where=str(path), remedy=remedy, rule=require_fits)
    return found


def _require_names(place: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in wanted:
        if name not in found:
            raise WrongFieldError(f"{place}.{name}", "is missing")
    for name in found:
        if name not in wanted:
            raise WrongFieldError(f"{place}.{name}", "is not known")


def _require_like(place: str, found: Tensor, wanted: Tensor) -> None:
    if found.shape != wanted.shape:
        raise WrongFieldError(place, f"must have shape {tuple(wanted.shape)}, not {tuple(found.shape)}")
    if found.is_floating_point() != wanted.is_floating_point() or found.is_complex():
        raise WrongFieldError(place, f"must have numbers as {wanted.dtype}, not {found.dtype}")


def _require_optimiser(place: str, saved: _OptimiserState, optimiser: Optimizer) -> None:
    """Groups are as in `optimiser`, but for the rates, which have a schedule; so are the sizes of tensors."""
    if len(saved["param_groups"]) != len(optimiser.param_groups):
        raise WrongFieldError(f"{place}.param_groups", f"must have {len(optimiser.param_groups)} entries")
    names = {name for values in saved["state"].values() for name in values}
    for number, (old, new) in enumerate(zip(saved["param_groups"], optimiser.param_groups, strict=True)):
        group = f"{place}.param_groups[{number}]"
        for name, value in {
            **old,
            "initial_lr": old.get("initial_lr"),
        }.items():  # a newer torch may have more
            begun_with = new.get("lr" if name == "initial_lr" else name)
            if name not in ("lr", "params") and value != begun_with:
                raise WrongFieldError(f"{group}.{name}", f"must be {begun_with}, not {value}")
        numbers = old.get("params")
        if not isinstance(numbers, list) or len(numbers) != len(new["params"]):
            raise WrongFieldError(f"{group}.params", f"must have {len(new['params'])} entries")
        for key, parameter in zip(numbers, new["params"], strict=True):
            values = saved["state"].get(key, {})  # a parameter that no loss has reached has none
            if values and values.keys() != names:
                raise WrongFieldError(f"{place}.state.{key}", f"must have {', '.join(sorted(names))}")
            for name, value in values.items():
                if isinstance(value, Tensor) and value.dim():
                    _require_like(f"{place}.state.{key}.{name}", value, parameter)


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
    if not isinstance(state, dict) or state.get("format") != _STATE_FORMAT:
        raise UserError(
            f"{path} was written by another version of recoseg: go on with that one, or start anew"
        )
    return dict(state)
