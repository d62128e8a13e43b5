"""What the results of a grid come to: a line for each method in each column, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from recoseg.errors import UserError
from recoseg.evaluate.resampling import Interval
from recoseg.evaluate.seed_statistics import is_ahead, mean_interval, score_interval
from recoseg.experiments.plan.grids import COLUMNS, ROWS, Grid
from recoseg.experiments.tables.results import Cost, PaperFigure, Result, paper_figure, paper_tables
from recoseg.text import listed


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
    boundary_f: float | None = None
    cost: Cost | None = None  # of a run
    difference: float | None = None  # to the baseline: the mean over seeds that both have
    difference_interval: Interval | None = None  # 95 %, of that mean
    best: bool = False
    paper: PaperFigure | None = None
    paper_difference: float | None = None
    gap: float | None = None  # how far the mean is from that of the same network with all labels
    paper_gap: float | None = None

    @property
    def is_baseline(self) -> bool:
        return self.row == self.baseline

    @property
    def mean(self) -> float | None:
        return mean_of(list(self.scores.values()))

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the mean over seeds."""
        return score_interval(list(self.scores.values()), highest=100.0)

    @property
    def is_apart(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.difference_interval is not None and not self.difference_interval.holds(0)


def summarise(grid: Grid, results: Sequence[Result]) -> list[Line]:
    """All lines of a grid, column by column."""
    require_comparable(results)
    lines = []
    for column in grid.columns:
        found = [result for result in results if result.column == column and result.seed in grid.seeds]
        lines += _with_best(_lines_of(grid, column, found)) + _lines_of_others(grid, column)
    return _with_gaps(grid, lines) if grid.gaps else lines


def _with_gaps(grid: Grid, lines: Sequence[Line]) -> list[Line]:
    """How far each line is from all labels: ours from supervised learning with the same network; the
    paper's from what its table has for the same system, or for supervised learning."""
    whole = {(line.row or line.title, COLUMNS[line.column].dataset): line
             for line in lines if line.column.endswith("-all")}  # fmt: skip

    def with_gap(line: Line) -> Line:
        if line.column.endswith("-all"):
            return line
        dataset = COLUMNS[line.column].dataset
        model = ROWS[line.row].model if line.row else None
        ours = whole.get(("supervised-v2" if model == "deeplab_v2" else "supervised", dataset))
        own = whole.get((line.title, dataset)) or whole.get((f"{line.title}, all labels", dataset))
        gap = ours.mean - line.mean if ours and ours.mean is not None and line.mean is not None else None
        full = (own or ours) if line.paper else None
        paper_gap = full.paper.mean - line.paper.mean if full and full.paper and line.paper else None
        return replace(line, gap=gap, paper_gap=paper_gap)

    return [with_gap(line) for line in lines]


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


def _lines_of(grid: Grid, column: str, results: Sequence[Result]) -> list[Line]:
    of_row: dict[str, dict[int, Result]] = {}
    for result in sorted(results, key=lambda result: result.seed):
        of_row.setdefault(result.row, {})[result.seed] = result
    baseline = baseline_of(grid, column)
    base = _percents(of_row.get(baseline, {}))
    paper_base = paper_figure(grid.table, baseline, column)
    lines = []
    for row in (row for row, where in grid.pairs if where == column):
        found = of_row.get(row, {})
        scores = _percents(found)
        paper = paper_figure(grid.table, row, column)
        differences = [scores[seed] - base[seed] for seed in scores if seed in base]
        line = Line(
            column=column,
            row=row,
            title=ROWS[row].title,
            baseline=baseline,
            scores=scores,
            missing=tuple(seed for seed in grid.seeds if seed not in scores),
            boundary_iou=_mean_percent(result.boundary_iou for result in found.values()),
            boundary_f=_mean_percent(result.boundary_f_score for result in found.values()),
            difference=mean_of(differences),
            difference_interval=mean_interval(differences),
            paper=paper,
            paper_difference=paper.mean - paper_base.mean if paper and paper_base else None,
        )
        lines.append(line)
    return lines


def _lines_of_others(grid: Grid, column: str) -> list[Line]:
    """Methods that we do not have, as the paper's table quotes them."""
    name, baseline = f"{grid.table}-others", baseline_of(grid, column)
    base = paper_figure(grid.table, baseline, column)
    lines = []
    for title in paper_tables().get(name, {}):
        paper = paper_figure(name, title, column) if title != "title" else None
        if paper:
            difference = paper.mean - base.mean if base else None
            line = Line(column=column, row=None, title=title, baseline=baseline, scores={})
            lines.append(replace(line, paper=paper, paper_difference=difference))
    return lines


def _with_best(lines: Sequence[Line]) -> list[Line]:
    """Mark the best of rows with all seeds: with one seed the highest score and what reads like it, with
    several a mean that is ahead of all others by more than chance; one row alone is no best."""
    whole = {line.row: line for line in lines if line.scores and not line.missing}
    highest = max((round(line.mean or 0, 1) for line in whole.values()), default=None)

    def is_best(line: Line) -> bool:
        others = [list(other.scores.values()) for row, other in whole.items() if row != line.row]
        if line.row not in whole or not others:
            return False
        if len(line.scores) == 1:
            return round(line.mean or 0, 1) == highest
        return is_ahead(list(line.scores.values()), others)

    return [replace(line, best=is_best(line)) for line in lines]


def _percents(results: Mapping[int, Result]) -> dict[int, float]:
    return {seed: 100 * result.mean_iou for seed, result in results.items()}


def _mean_percent(shares: Iterable[float | None]) -> float | None:
    return mean_of([100 * share for share in shares if share is not None])


def mean_of(values: Sequence[float]) -> float | None:
    """Exact sums: equal scores in another order are a tie."""
    return fsum(values) / len(values) if values else None
