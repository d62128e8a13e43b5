"""How training went: mean IoU and the parts of the loss over iterations, every run in each chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from recoseg.report.chart import Line, Point, line_chart
from recoseg.report.markup import Markup, legend, tag
from recoseg.report.numbers import percent, plain
from recoseg.report.run_view import RunView

NOT_PARTS = {"iteration", "lr", "loss", "stats", "seconds", "waited"}

CHANCE_LEVEL = "contrast_chance_level"
SHARES = {
    "contrast_accuracy": "Contrast accuracy",
    "contrast_hard_share": "Hard pixels",
}
"""Stats that are shares, and the headings of their charts."""


def curves(runs: Sequence[RunView]) -> Markup:
    names = legend(run.name for run in runs) if len(runs) > 1 else Markup()
    parts = loss_parts(runs)
    small = [loss_chart(runs, part, f"Loss: {part}") for part in parts] if len(parts) > 1 else []
    small += [share_chart(runs, name, heading) for name, heading in SHARES.items() if has_stat(runs, name)]
    return tag(
        "div",
        names,
        tag("div", score_chart(runs), loss_chart(runs, "loss", "Loss"), class_="plots"),
        tag("div", *small, class_="plots small") if small else Markup(),
    )


def score_chart(runs: Sequence[RunView]) -> Markup:
    lines = [Line(run.name, number, curve(run.metrics, "mean_iou")) for number, run in enumerate(runs)]
    return line_chart(lines, heading="Mean IoU", show=percent_of_axis, until=last_iteration(runs))


def loss_chart(runs: Sequence[RunView], part: str, heading: str) -> Markup:
    lines = [Line(run.name, number, curve(run.losses, part)) for number, run in enumerate(runs)]
    marks = chance_level(runs) if part == "contrast" else {}
    return line_chart(lines, heading=heading, show=plain, until=last_iteration(runs), marks=marks)


def share_chart(runs: Sequence[RunView], name: str, heading: str) -> Markup:
    lines = [Line(run.name, number, curve(stats(run), name)) for number, run in enumerate(runs)]
    return line_chart(lines, heading=heading, show=percent_of_axis, until=last_iteration(runs))


def chance_level(runs: Sequence[RunView]) -> dict[str, float]:
    """What the contrast's loss is when keys cannot be told apart; runs with other numbers of keys differ."""
    levels = sorted({y for run in runs for _, y in curve(stats(run), CHANCE_LEVEL)})
    return {"chance level" if len(levels) == 1 else f"chance level {plain(y)}": y for y in levels}


def has_stat(runs: Sequence[RunView], name: str) -> bool:
    return any(curve(stats(run), name) for run in runs)


def stats(run: RunView) -> list[dict[str, Any]]:
    """What the log tells beside losses, with its iteration."""
    return [{"iteration": line["iteration"], **line["stats"]} for line in run.losses if line.get("stats")]


def last_iteration(runs: Sequence[RunView]) -> int:
    """Where all charts end, so that they can be read against each other."""
    return max(run.iterations for run in runs)


def curve(log: Sequence[dict[str, Any]], value: str) -> list[Point]:
    """(iteration, value) of the lines that have one: a run may diverge, or count no pixel."""
    found = [(line["iteration"], line[value]) for line in log if line.get(value) is not None]
    return [(float(iteration), float(y)) for iteration, y in found if math.isfinite(y)]


def loss_parts(runs: Sequence[RunView]) -> list[str]:
    """The names of all parts in order of appearance. A sole part is the loss itself and needs no chart."""
    return list(
        dict.fromkeys(key for run in runs for line in run.losses for key in line if key not in NOT_PARTS)
    )


def percent_of_axis(share: float) -> str:
    """Round numbers without decimals, others with one."""
    hundredfold = round(100 * share, 1)
    return f"{hundredfold:.0f}%" if hundredfold.is_integer() else percent(share)
