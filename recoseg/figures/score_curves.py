"""How fast methods learn: mean IoU over iterations, a line for the mean of each method's seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.figures.curves import LEGEND, Points, draw_line, draw_names, dress, place_names
from recoseg.figures.heading import Heading
from recoseg.figures.sheet import MUTED, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 2

# The layout, in inches.
CHART = (4.6, 2.9)
LEFT, ABOVE, FOOT = 0.65, 0.4, 0.45


@dataclass(frozen=True)
class ScoreChart:
    """The curves of one column: for each method, in their order, those of its seeds; scores from 0 to 1."""

    title: str
    methods: Sequence[Sequence[Points]]


def draw_score_curves(
    path: Path, methods: Sequence[str], charts: Sequence[ScoreChart], *, heading: Heading
) -> None:
    """Charts side by side: means in full colour, and a pale line for each seed."""
    columns = min(MOST_COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    pitch = LEFT + CHART[0], ABOVE + CHART[1] + FOOT
    width = columns * pitch[0] + 0.2
    names = place_names(methods, width)
    above = heading.height(width)
    legend = LEGEND * len(names) + 0.05
    last = max(
        (x for chart in charts for seeds in chart.methods for line in seeds for x, _ in line), default=1
    )
    with sheet(path, width=width, height=above + legend + rows * pitch[1]) as page:
        heading.draw(page)
        draw_names(page, names, below=above)
        for number, chart in enumerate(charts):
            row, column = divmod(number, columns)
            axes = page.axes(column * pitch[0] + LEFT, above + legend + row * pitch[1] + ABOVE, *CHART)
            draw_methods(axes, chart)
            dress(axes, chart.title, last, percent=True)
            axes.set_xlabel("iteration", fontsize=8, color=MUTED, labelpad=2)


def draw_methods(axes: Axes, chart: ScoreChart) -> None:
    for number, seeds in enumerate(chart.methods):
        if len(seeds) > 1:
            for line in seeds:
                draw_line(axes, line, number, linestyle="-", linewidth=0.8, alpha=0.3, marker=None)
    for number, seeds in enumerate(chart.methods):  # after all the pale ones, so that none covers them
        draw_line(axes, mean_line(seeds), number, linewidth=1.8)


def mean_line(seeds: Sequence[Points]) -> list[tuple[float, float]]:
    """At the iterations that all seeds have: a mean over some of them would jump where one ends."""
    values = [dict(line) for line in seeds]
    shared = set.intersection(*(set(line) for line in values)) if values else set()
    return [(x, fsum(line[x] for line in values) / len(values)) for x in sorted(shared)]
