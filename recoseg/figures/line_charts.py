"""Values over iterations: the scores and losses of some runs, or how fast the methods of a grid learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.figures.sheet import LINES, PAGE, annotate, sheet, shortened
from recoseg.training.log_curves import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = Sequence[Point]

_MOST_DOTS = 30
_MOST_COLUMNS = 3


@dataclass(frozen=True)
class Chart:
    """One value over iterations: for each series its lines, one a seed; empty if it has none."""

    title: str
    series: Sequence[Sequence[Points]]
    percent: bool = False


def draw_charts(
    path: Path,
    names: Sequence[str],
    charts: Sequence[Chart],
    *,
    title: str = "",
    about: str = "",
    across: str = "iteration",
    from_zero: bool = True,
) -> None:
    """Charts of equal size from 0 to the same last iteration, so that they can be read together.

    A series is its mean in full colour, and a pale line for each seed where there are several.
    """
    from matplotlib.lines import Line2D

    columns = min(_MOST_COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    last = max(
        (x for chart in charts for lines in chart.series for line in lines for x, _ in line), default=1
    )
    with sheet(path, width=max(PAGE * columns / _MOST_COLUMNS, 4.5), height=2.3 * rows + 0.6) as figure:
        figure.set_layout_engine("constrained", h_pad=0.08)
        places = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in places[len(charts) :]:
            axes.remove()
        for number, (axes, chart) in enumerate(zip(places, charts, strict=False)):
            draw_chart(axes, chart, from_zero=from_zero)
            axes.set_xlim(0, last * 1.02)
            if number + columns >= len(charts):
                axes.set_xlabel(across, fontsize=8)
        handles = [
            Line2D([], [], color=colour, linestyle=dashes, linewidth=1.8, label=shortened(name, 40))
            for name, (colour, dashes) in zip(names, LINES * len(names), strict=False)
        ]
        annotate(figure, title=title, about=about, handles=handles if len(names) > 1 else ())


def draw_chart(axes: Axes, chart: Chart, *, from_zero: bool) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for number, lines in enumerate(chart.series):
        for line in lines if len(lines) > 1 else ():
            _draw_line(axes, line, number, linestyle="-", linewidth=0.8, alpha=0.3, marker=None)
    for number, lines in enumerate(chart.series):  # after all the pale ones, so that none covers them
        _draw_line(axes, mean_line(lines), number, linewidth=1.6)
    if from_zero and all(y >= 0 for lines in chart.series for line in lines for _, y in line):
        axes.set_ylim(bottom=0)  # so that heights compare
    axes.set_title(chart.title, loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if chart.percent:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.grid(axis="y", linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.tick_params(length=0, labelsize=8)


def _draw_line(axes: Axes, points: Points, number: int, **how: Any) -> None:
    """In the colour and dashes of series `number`, with a dot at each point while they are few."""
    if points:
        colour, dashes = LINES[number % len(LINES)]
        marker = "o" if len(points) <= _MOST_DOTS else None
        look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3, "clip_on": False}
        axes.plot(*zip(*points, strict=True), **{**look, **how})


def mean_line(lines: Sequence[Points]) -> list[tuple[float, float]]:
    """At the iterations that all seeds have: a mean over some of them would jump where one ends."""
    values = [dict(line) for line in lines]
    shared = set.intersection(*(set(line) for line in values)) if values else set()
    return [(x, fsum(line[x] for line in values) / len(values)) for x in sorted(shared)]
