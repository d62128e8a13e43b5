"""The charts of a grid: its scores as dots, and how fast its methods learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recoseg.errors import UserError
from recoseg.experiments.results import Result
from recoseg.experiments.summary import Line
from recoseg.experiments.tables import GridTable, heading
from recoseg.figures.curves import Points
from recoseg.figures.grid_chart import ChartPanel, ChartRow, draw_grid_chart
from recoseg.figures.heading import Heading
from recoseg.figures.score_curves import ScoreChart, draw_score_curves


def draw_table(path: Path, table: GridTable) -> None:
    """Every block of the table as a panel, without the methods that the paper alone has."""
    about = f"mean IoU in per cent on {table.scored}: a dot for each seed, a bar at their mean"
    ranges = "; lines beside the paper's means: its range over three runs" if table.has_ranges else ""
    panels = [panel_of(heading(column), table.block(column)) for column in table.columns]
    draw_grid_chart(path, panels, heading=heading_of(table, f"{about}{ranges}; dashed: {table.baselines}"))


def panel_of(title: str, lines: Sequence[Line]) -> ChartPanel:
    shown = [line for line in lines if line.row is not None]
    rows = [
        ChartRow(
            line.title,
            scores=tuple(line.scores.values()),
            paper=(line.paper.mean, line.paper.spread) if line.paper else None,
        )
        for line in shown
    ]
    baseline = next(number for number, line in enumerate(shown) if line.is_baseline)
    tables = dict.fromkeys(line.paper.table for line in shown if line.paper)
    return ChartPanel(title, rows, baseline, source=f"paper, {' and '.join(tables)}" if tables else "paper")


def draw_learning(path: Path, table: GridTable, results: Sequence[Result]) -> None:
    """Scores over iterations, a chart for each column with curves."""
    curves: dict[tuple[str, str], list[Points]] = {}
    for result in results:
        if result.curve and result.seed in table.seeds:
            curves.setdefault((result.column, result.row), []).append(result.curve)
    there = [line for line in table.lines if line.row and (line.column, line.row) in curves]
    shown = {line.row: line.title for line in there if line.row}
    counts = {
        row: [len(curves.get((line.column, row), ())) for line in table.lines if line.row == row]
        for row in shown
    }
    charts = [
        ScoreChart(heading(column), [curves.get((column, row), ()) for row in shown])
        for column in table.columns
        if any((column, row) in curves for row in shown)
    ]
    if not charts:
        raise UserError(f"no run of grid {table.name} has scores over iterations yet; run it first")
    about = (
        "mean IoU on validation images while training: strong lines are means over seeds, pale ones the seeds"
    )
    names = [title + seeds_of(counts[row], len(table.seeds)) for row, title in shown.items()]
    draw_score_curves(path, names, charts, heading=heading_of(table, about))


def seeds_of(counts: Sequence[int], asked: int) -> str:
    """How many seeds a method has in each chart, where that is fewer than it should have."""
    fewest, most = min(counts), max(counts)
    if fewest == asked:
        return ""
    return f" ({fewest} of {asked} seeds)" if fewest == most else f" ({fewest} to {most} of {asked} seeds)"


def heading_of(table: GridTable, about: str) -> Heading:
    what = ", ".join(filter(None, [f"Grid {table.name}", table.length]))
    return Heading(f"{table.title} (profile {table.profile})", f"{what}; {about}.")
