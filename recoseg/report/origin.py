"""Where the numbers come from: each run's settings, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.report.markup import Markup, joined, run_heading, tag
from recoseg.report.run_view import RunView


def origin(runs: Sequence[RunView]) -> Markup:
    return joined(run_origin(run, number, alone=len(runs) == 1) for number, run in enumerate(runs))


def run_origin(run: RunView, number: int, *, alone: bool) -> Markup:
    heading = Markup() if alone else run_heading(run.name, number)
    command = tag("pre", tag("code", run.command), class_="command", tabindex="0")
    settings = tag(
        "details", tag("summary", "Settings"), tag("pre", tag("code", run.config_yaml), tabindex="0")
    )
    return tag("div", heading, command, settings, class_="origin")
