"""Whether a run may go on with other settings than it began with."""

from __future__ import annotations

from collections.abc import Mapping

from recoseg.errors import UserError

HARMLESS = {"train.workers", "train.cache_gb", "train.device", "train.log_every", "data.root"}
"""Settings that change how a run is done, not what comes out of it."""


def require_same(begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Settings by their dotted names: any difference that changes results is an error that lists them all."""
    differences = [
        f"{name} {show(begun.get(name))} -> {show(now.get(name))}"
        for name in sorted(begun.keys() | now.keys())
        if begun.get(name) != now.get(name) and name not in HARMLESS
    ]
    if differences:
        raise UserError(
            f"the run was begun with other settings: {'; '.join(differences)}. Start a new one with --out, "
            f"or leave them as they were; {', '.join(sorted(HARMLESS))} may change"
        )


def show(value: object) -> str:
    return "none" if value is None else str(value)
