"""What the results of a grid say: a line for each method in each column, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from recoseg.errors import UserError
from recoseg.experiments.columns import COLUMNS
from recoseg.experiments.grids import Grid
from recoseg.experiments.methods import ROWS
from recoseg.experiments.paper_figures import PaperFigure, paper_figure, tables
from recoseg.experiments.results import Result
from recoseg.words import listed


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row in a column, scores in per cent; what there is no result of is none."""

    column: str
    row: str | None  # none for a method that is in the paper's table alone
    title: str
    baseline: str  # the row that it is compared with
    scores: Mapping[int, float]  # seed -> mean IoU
    missing: tuple[int, ...] = ()  # seeds without a result
    boundary_iou: float | None = None
    difference: float | None = None  # to the baseline: the mean over seeds that both have
    best: bool = False
    paper: PaperFigure | None = None
    paper_difference: float | None = None

    @property
    def is_baseline(self) -> bool:
        return self.row == self.baseline

    @property
    def mean(self) -> float | None:
        return mean_of(list(self.scores.values()))

    @property
    def lowest(self) -> float | None:
        return min(self.scores.values(), default=None)

    @property
    def highest(self) -> float | None:
        return max(self.scores.values(), default=None)


def summarise(grid: Grid, results: Sequence[Result]) -> list[Line]:
    """All lines of a grid, column by column."""
    require_comparable(results)
    lines = []
    for column in grid.columns:
        found = [result for result in results if result.column == column and result.seed in grid.seeds]
        lines += with_best(lines_of(grid, column, found)) + lines_of_others(grid, column)
    return lines


def require_comparable(results: Sequence[Result]) -> None:
    for result in results:
        asked = COLUMNS[result.column].subset
        if result.subset != asked:
            raise UserError(f"{result.row} in {result.column} was scored on {result.subset}, not on {asked}")
    for column in dict.fromkeys(result.column for result in results):
        counts = sorted({result.pixels for result in results if result.column == column})
        if len(counts) > 1:
            pixels = listed([f"{count:,}" for count in counts])
            raise UserError(f"runs of {column} were scored on other data than each other: {pixels} pixels")


def baseline_of(grid: Grid, column: str) -> str:
    """The grid's baseline, or the first row of a column that does not have it, as those with all labels."""
    rows = [row for row, where in grid.pairs if where == column]
    return grid.baseline if grid.baseline in rows else rows[0]


def lines_of(grid: Grid, column: str, results: Sequence[Result]) -> list[Line]:
    of_row: dict[str, dict[int, Result]] = {}
    for result in sorted(results, key=lambda result: result.seed):
        of_row.setdefault(result.row, {})[result.seed] = result
    baseline = baseline_of(grid, column)
    base = percents(of_row.get(baseline, {}))
    paper_base = paper_figure(grid.table, baseline, column)
    lines = []
    for row in (row for row, where in grid.pairs if where == column):
        found = of_row.get(row, {})
        scores = percents(found)
        paper = paper_figure(grid.table, row, column)
        bounds = [100 * r.boundary_iou for r in found.values() if r.boundary_iou is not None]
        line = Line(
            column=column,
            row=row,
            title=ROWS[row].title,
            baseline=baseline,
            scores=scores,
            missing=tuple(seed for seed in grid.seeds if seed not in scores),
            boundary_iou=mean_of(bounds),
            difference=mean_of([scores[seed] - base[seed] for seed in scores if seed in base]),
            paper=paper,
            paper_difference=paper.mean - paper_base.mean if paper and paper_base else None,
        )
        lines.append(line)
    return lines


def lines_of_others(grid: Grid, column: str) -> list[Line]:
    """Methods that we do not have, as the paper's table quotes them."""
    name, baseline = f"{grid.table}-others", baseline_of(grid, column)
    base = paper_figure(grid.table, baseline, column)
    lines = []
    for title in tables().get(name, {}):
        paper = paper_figure(name, title, column) if title != "title" else None
        if paper:
            difference = paper.mean - base.mean if base else None
            line = Line(column=column, row=None, title=title, baseline=baseline, scores={})
            lines.append(replace(line, paper=paper, paper_difference=difference))
    return lines


def with_best(lines: Sequence[Line]) -> list[Line]:
    """The highest mean of rows with all seeds is marked, and all that read like it; one alone is no best."""
    whole = {line.row: round(line.mean, 1) for line in lines if line.mean is not None and not line.missing}
    highest = max(whole.values()) if len(whole) > 1 else None
    return [replace(line, best=line.row in whole and whole[line.row] == highest) for line in lines]


def percents(results: Mapping[int, Result]) -> dict[int, float]:
    return {seed: 100 * result.mean_iou for seed, result in results.items()}


def mean_of(values: Sequence[float]) -> float | None:
    """Exact sums: equal scores in another order are a tie."""
    return fsum(values) / len(values) if values else None
