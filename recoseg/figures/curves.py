"""How runs went: one small chart for each score and each part of the loss, all runs in every chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.figures.sheet import INK, MUTED, Sheet, sheet, shortened, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = Sequence[tuple[float, float]]

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
MOST_DOTS = 30
STEPS = [1, 2, 5, 10]
MOST_COLUMNS = 3

# The layout, in inches.
CHART = (3.1, 2.0)
MARGINS = (0.65, 0.4)  # left of a chart, above it
FOOT = 0.3
LEGEND = 0.25


@dataclass(frozen=True)
class Chart:
    """One value over iterations: a line for each run, in the order of the runs; empty if it has none."""

    title: str
    lines: Sequence[Points]
    percent: bool = False


def draw_curves(path: Path, runs: Sequence[str], charts: Sequence[Chart]) -> None:
    """Charts of equal size from one iteration to the same last one, so that they can be read together."""
    columns = min(MOST_COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    pitch = MARGINS[0] + CHART[0], MARGINS[1] + CHART[1] + FOOT
    width = max(columns * pitch[0] + 0.2, 4.0)
    legend_rows = place_names(runs, width)
    above = LEGEND * len(legend_rows) + 0.05 if len(runs) > 1 else 0.0
    last = max((x for chart in charts for line in chart.lines for x, _ in line), default=1.0)
    with sheet(path, width=width, height=above + rows * pitch[1] + 0.2) as page:
        if len(runs) > 1:
            draw_names(page, legend_rows)
        for number, chart in enumerate(charts):
            row, column = divmod(number, columns)
            left, top = column * pitch[0] + MARGINS[0], above + row * pitch[1] + MARGINS[1]
            axes = page.axes(left, top, *CHART)
            draw_chart(axes, chart, last)
            if number + columns >= len(charts):
                axes.set_xlabel("iteration", fontsize=8, color=MUTED, labelpad=2)


def draw_chart(axes: Axes, chart: Chart, last: float) -> None:
    for number, points in enumerate(chart.lines):
        draw_line(axes, points, number, linewidth=1.5)
    dress(axes, chart.title, last, percent=chart.percent)
    if all(y >= 0 for points in chart.lines for _, y in points):
        axes.set_ylim(bottom=0)  # so that heights compare


def draw_line(axes: Axes, points: Points, number: int, **how: Any) -> None:
    """In the colour and dashes of run `number`, with a dot at each point while they are few."""
    if points:
        colour, dashes = LINES[number % len(LINES)]
        across, up = zip(*points, strict=True)
        marker = "o" if len(points) <= MOST_DOTS else None
        look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3, "clip_on": False}
        axes.plot(across, up, **{**look, **how})


def dress(axes: Axes, title: str, last: float, *, percent: bool) -> None:
    """Title, ticks and grid of a chart over iterations."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_title(title, fontsize=10, loc="left", color=INK, pad=6)
    axes.set_xlim(0, last * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
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
    left = MARGINS[0]
    for number, run in enumerate(runs):
        name = shortened(run, 40)
        room = 0.5 + text_width(len(name), 9) + 0.2
        if rows[-1] and left + room > width:
            rows.append([])
            left = MARGINS[0]
        rows[-1].append((left, number, name))
        left += room
    return rows


def draw_names(page: Sheet, rows: Sequence[Sequence[tuple[float, int, str]]], *, below: float = 0.1) -> None:
    from matplotlib.lines import Line2D

    for row, entries in enumerate(rows):
        top = below + (row + 0.4) * LEGEND
        for left, number, name in entries:
            colour, dashes = LINES[number % len(LINES)]
            ends = [left / page.width, (left + 0.42) / page.width], [1 - top / page.height] * 2
            page.figure.add_artist(Line2D(*ends, color=colour, linestyle=dashes, linewidth=1.8))
            page.text(left + 0.5, top, name, fontsize=9)
