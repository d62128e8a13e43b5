"""The table of a grid as charts: scores as dots, and scores over iterations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recoseg.errors import UserError
from recoseg.experiments.tables.grid_table import GridTable, heading
from recoseg.experiments.tables.lines import Line
from recoseg.experiments.tables.results import Result
from recoseg.figures.grid_chart import ChartPanel, ChartRow, draw_grid_chart
from recoseg.figures.line_charts import Chart, Points, draw_charts


def draw_table(path: Path, table: GridTable) -> None:
    """Every block of the table as a panel, without the methods that the paper alone has."""
    panels = [panel_of(heading(column), table.block(column)) for column in table.columns]
    pairs = any(panel.has_pairs for panel in panels)
    colours = "grey alone, blue with ReCo on top, " if pairs else ""
    about = f"mean IoU in per cent on {table.scored}: {colours}a dot for each seed, a bar at their mean"
    ranges = "; lines beside the paper's means: its range over three runs" if table.has_ranges else ""
    about = f"{about}{ranges}; dashed: {table.baselines}"
    draw_grid_chart(path, panels, title=_title(table), about=_about(table, about))


def panel_of(title: str, lines: Sequence[Line]) -> ChartPanel:
    """A row for each line; where every method is there without and with ReCo, for both, the best first."""
    shown = [line for line in lines if line.row is not None]
    paired = _in_pairs(shown)
    if paired:
        rows = [
            ChartRow(alone.title, tuple(alone.scores.values()), with_reco=tuple(reco.scores.values()))
            for alone, reco in paired
        ]
        baseline = next(number for number, pair in enumerate(paired) if pair[0].is_baseline)
        return ChartPanel(title, rows, baseline)
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


def _in_pairs(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """Each method alone and with ReCo, the best first; none where a partner or the paper's figures would be
    left out."""
    by_row = {line.row: line for line in lines}
    pairs = [(line, by_row[f"reco-{line.row}"]) for line in lines if f"reco-{line.row}" in by_row]
    if 2 * len(pairs) != len(lines) or any(line.paper for line in lines):
        return []
    return sorted(pairs, key=lambda pair: -max(line.mean or 0.0 for line in pair))


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
        Chart(heading(column), [curves.get((column, row), ()) for row in shown], percent=True)
        for column in table.columns
        if any((column, row) in curves for row in shown)
    ]
    if not charts:
        raise UserError(f"no run of grid {table.name} has scores over iterations yet; run it first")
    about = (
        "mean IoU on validation images while training: strong lines are means over seeds, pale ones the seeds"
    )
    names = [title + seeds_of(counts[row], len(table.seeds)) for row, title in shown.items()]
    draw_charts(path, names, charts, title=_title(table), about=_about(table, about), from_zero=False)


def seeds_of(counts: Sequence[int], asked: int) -> str:
    """How many seeds a method has in each chart, where that is fewer than it should have."""
    fewest, most = min(counts), max(counts)
    if fewest == asked:
        return ""
    return f" ({fewest} of {asked} seeds)" if fewest == most else f" ({fewest} to {most} of {asked} seeds)"


def _title(table: GridTable) -> str:
    return f"{table.title} (profile {table.profile})"


def _about(table: GridTable, what: str) -> str:
    return f"{', '.join(filter(None, [f'Grid {table.name}', table.length]))}; {what}."
