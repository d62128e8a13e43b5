"""Whether a run may go on with other settings than it began with."""

from __future__ import annotations

from collections.abc import Mapping

from recoseg.errors import UserError

HARMLESS = {"train.workers", "train.cache_gb", "train.device", "train.log_every", "data.root"}
"""Settings that change how a run is done, not what comes out of it."""


def require_same(begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Settings by their dotted names: any difference that changes results is an error that lists them all.

    A setting that its section did not have yet when the run began came later, with what was done then as its
    default.
    """
    sections = {section(name) for name in begun}
    later = {name for name in now.keys() - begun.keys() if section(name) in sections}
    differences = [
        f"{name} {show(begun.get(name))} -> {show(now.get(name))}"
        for name in sorted((begun.keys() | now.keys()) - HARMLESS - later)
        if begun.get(name) != now.get(name)
    ]
    if differences:
        raise UserError(
            f"the run was begun with other settings: {'; '.join(differences)}. Start a new one with --out, "
            f"or leave them as they were; {', '.join(sorted(HARMLESS))} may change"
        )


def section(name: str) -> str:
    """What is before the dot; of a section that is left out, such as `contrast`, nothing."""
    return name.rpartition(".")[0]


def show(value: object) -> str:
    return "none" if value is None else str(value)
