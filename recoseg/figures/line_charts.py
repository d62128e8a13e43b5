"""Values over iterations: the scores and losses of some runs, or how fast the methods of a grid learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.figures.sheet import INK, MUTED, Heading, Sheet, sheet, shortened, text_width
from recoseg.training.log_curves import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Points = Sequence[Point]

LINES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (5, 1.5))),
    ("#009E73", (0, (1.2, 1.2))),
    ("#CC79A7", (0, (6, 1.5, 1.2, 1.5))),
    ("#E69F00", (0, (8, 2))),
    ("#56B4E9", (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2))),
    ("#000000", (0, (2.5, 1.2))),
)
"""Colour and dashes of the first run, the second, ...: Okabe and Ito's colours, which all eyes can tell."""
_MOST_DOTS = 30
_STEPS = [1, 2, 5, 10]
_MOST_COLUMNS = 3

# The layout, in inches.
_CHART = (3.1, 2.0)
_MARGINS = (0.65, 0.4)  # left of a chart, above it
_FOOT = 0.3
_LEGEND = 0.25


@dataclass(frozen=True)
class Chart:
    """One value over iterations: a line for each run, in the order of the runs; empty if it has none."""

    title: str
    lines: Sequence[Points]
    percent: bool = False


def draw_curves(path: Path, runs: Sequence[str], charts: Sequence[Chart]) -> None:
    """Charts of equal size from one iteration to the same last one, so that they can be read together."""
    columns = min(_MOST_COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    pitch = _MARGINS[0] + _CHART[0], _MARGINS[1] + _CHART[1] + _FOOT
    width = max(columns * pitch[0] + 0.2, 4.0)
    legend_rows = place_names(runs, width)
    above = _LEGEND * len(legend_rows) + 0.05 if len(runs) > 1 else 0.0
    last = max((x for chart in charts for line in chart.lines for x, _ in line), default=1.0)
    with sheet(path, width=width, height=above + rows * pitch[1] + 0.2) as page:
        if len(runs) > 1:
            _draw_names(page, legend_rows)
        for number, chart in enumerate(charts):
            row, column = divmod(number, columns)
            left, top = column * pitch[0] + _MARGINS[0], above + row * pitch[1] + _MARGINS[1]
            axes = page.axes(left, top, *_CHART)
            draw_chart(axes, chart, last)
            if number + columns >= len(charts):
                axes.set_xlabel("iteration", fontsize=8, color=MUTED, labelpad=2)


def draw_chart(axes: Axes, chart: Chart, last: float) -> None:
    for number, points in enumerate(chart.lines):
        _draw_line(axes, points, number, linewidth=1.5)
    _dress(axes, chart.title, last, percent=chart.percent)
    if all(y >= 0 for points in chart.lines for _, y in points):
        axes.set_ylim(bottom=0)  # so that heights compare


def _draw_line(axes: Axes, points: Points, number: int, **how: Any) -> None:
    """In the colour and dashes of run `number`, with a dot at each point while they are few."""
    if points:
        colour, dashes = LINES[number % len(LINES)]
        across, up = zip(*points, strict=True)
        marker = "o" if len(points) <= _MOST_DOTS else None
        look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3, "clip_on": False}
        axes.plot(across, up, **{**look, **how})


def _dress(axes: Axes, title: str, last: float, *, percent: bool) -> None:
    """Title, ticks and grid of a chart over iterations."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_title(title, fontsize=10, loc="left", color=INK, pad=6)
    axes.set_xlim(0, last * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if percent:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.grid(axis="y", linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, labelsize=8, colors=MUTED)


def place_names(runs: Sequence[str], width: float) -> list[list[tuple[float, int, str]]]:
    """Rows of (left, number of the run, name), as many in a row as fit."""
    rows: list[list[tuple[float, int, str]]] = [[]]
    left = _MARGINS[0]
    for number, run in enumerate(runs):
        name = shortened(run, 40)
        room = 0.5 + text_width(len(name), 9) + 0.2
        if rows[-1] and left + room > width:
            rows.append([])
            left = _MARGINS[0]
        rows[-1].append((left, number, name))
        left += room
    return rows


def _draw_names(page: Sheet, rows: Sequence[Sequence[tuple[float, int, str]]], *, below: float = 0.1) -> None:
    from matplotlib.lines import Line2D

    for row, entries in enumerate(rows):
        top = below + (row + 0.4) * _LEGEND
        for left, number, name in entries:
            colour, dashes = LINES[number % len(LINES)]
            ends = [left / page.width, (left + 0.42) / page.width], [1 - top / page.height] * 2
            page.figure.add_artist(Line2D(*ends, color=colour, linestyle=dashes, linewidth=1.8))
            page.text(left + 0.5, top, name, fontsize=9)


# How fast the methods of a grid learn.

_MOST_SCORE_COLUMNS = 2

# The layout, in inches.
_SCORE_CHART = (4.6, 2.9)
_SCORE_LEFT, _SCORE_ABOVE, _SCORE_FOOT = 0.65, 0.4, 0.45


@dataclass(frozen=True)
class ScoreChart:
    """The curves of one column: for each method, in their order, those of its seeds; scores from 0 to 1."""

    title: str
    methods: Sequence[Sequence[Points]]


def draw_score_curves(
    path: Path,
    methods: Sequence[str],
    charts: Sequence[ScoreChart],
    *,
    heading: Heading,
    across: str = "iteration",
) -> None:
    """Charts side by side: means in full colour, and a pale line for each seed."""
    columns = min(_MOST_SCORE_COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    pitch = _SCORE_LEFT + _SCORE_CHART[0], _SCORE_ABOVE + _SCORE_CHART[1] + _SCORE_FOOT
    width = columns * pitch[0] + 0.2
    names = place_names(methods, width)
    above = heading.height(width)
    legend = _LEGEND * len(names) + 0.05
    last = max(
        (x for chart in charts for seeds in chart.methods for line in seeds for x, _ in line), default=1
    )
    with sheet(path, width=width, height=above + legend + rows * pitch[1]) as page:
        heading.draw(page)
        _draw_names(page, names, below=above)
        for number, chart in enumerate(charts):
            row, column = divmod(number, columns)
            axes = page.axes(
                column * pitch[0] + _SCORE_LEFT, above + legend + row * pitch[1] + _SCORE_ABOVE, *_SCORE_CHART
            )
            draw_methods(axes, chart)
            _dress(axes, chart.title, last, percent=True)
            axes.set_xlabel(across, fontsize=8, color=MUTED, labelpad=2)


def draw_methods(axes: Axes, chart: ScoreChart) -> None:
    for number, seeds in enumerate(chart.methods):
        if len(seeds) > 1:
            for line in seeds:
                _draw_line(axes, line, number, linestyle="-", linewidth=0.8, alpha=0.3, marker=None)
    for number, seeds in enumerate(chart.methods):  # after all the pale ones, so that none covers them
        _draw_line(axes, mean_line(seeds), number, linewidth=1.8)


def mean_line(seeds: Sequence[Points]) -> list[tuple[float, float]]:
    """At the iterations that all seeds have: a mean over some of them would jump where one ends."""
    values = [dict(line) for line in seeds]
    shared = set.intersection(*(set(line) for line in values)) if values else set()
    return [(x, fsum(line[x] for line in values) / len(values)) for x in sorted(shared)]
