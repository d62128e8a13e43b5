"""The table of a grid: a line for each method in each column, beside the paper's figures, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from recoseg.errors import UserError
from recoseg.evaluate.resampling import Interval
from recoseg.evaluate.seed_statistics import is_ahead, mean_interval, score_interval
from recoseg.experiments.plan.grids import COLUMNS, DATASETS, ROWS, Grid
from recoseg.experiments.tables.costs import Cost, measured_costs
from recoseg.experiments.tables.results import PaperFigure, Result, paper_figure, paper_tables
from recoseg.text import DASH, listed


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


# The table, in words that all formats share.

_OURS = ("method", "mean IoU", "95% interval", "against baseline", "seeds")
_WIDE = ("boundary IoU", "boundary F")
_COSTS = ("minutes", "GB")
_PAPERS = ("paper", "paper against baseline")
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class GridTable:
    """`lines` are those of all columns, a block each."""

    name: str
    title: str
    profile: str
    seeds: tuple[int, ...]
    iterations: tuple[int, ...]  # of its runs: one number, if all took as many
    lines: tuple[Line, ...]
    wide: bool = False  # with boundary scores, and what a run costs where that is known

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.column for line in self.lines))

    @property
    def head(self) -> tuple[str, ...]:
        """What the paper says nothing of is left out."""
        has_figures = any(line.paper for line in self.lines)
        compares = any(line.paper_difference is not None and not line.is_baseline for line in self.lines)
        wide = _WIDE + (_COSTS if self.has_costs else ()) if self.wide else ()
        return _OURS + wide + _PAPERS[: has_figures + compares]

    @property
    def has_costs(self) -> bool:
        return self.wide and any(line.cost for line in self.lines)

    @property
    def caption(self) -> tuple[str, ...]:
        """Sentences: what it is, what was measured, and what it is compared with."""
        return tuple(
            sentence
            for sentence in (
                f"{self.title}.",
                self.measured,
                self.compared,
                self.brackets,
                "Minutes and peak memory of a run are measured apart, on one thread of a quiet machine."
                if self.has_costs
                else "",
                self.quoted,
                self.not_run,
            )
            if sentence
        )

    @property
    def caption_beside(self) -> tuple[str, ...]:
        """The same for a table side by side, which has no differences."""
        return tuple(
            filter(None, (f"{self.title}.", self.measured, self.brackets, self.quoted, self.not_run))
        )

    @property
    def length(self) -> str:
        """How long its runs are, or nothing while there is none."""
        return f"{listed([f'{count:,}' for count in self.iterations])} iterations" if self.iterations else ""

    @property
    def baselines(self) -> str:
        """The row that others are compared with; a column without it has another."""
        return " or ".join(dict.fromkeys(ROWS[line.baseline].title for line in self.lines))

    @property
    def has_ranges(self) -> bool:
        """Whether the paper gives any."""
        return any(line.paper and line.paper.spread is not None for line in self.lines)

    @property
    def scored(self) -> str:
        """The images that were scored, by dataset where that differs."""
        subsets = {COLUMNS[column].dataset: COLUMNS[column].subset for column in self.columns}
        if len(set(subsets.values())) == 1:
            return next(iter(subsets.values()))
        return listed([f"{subset} of {DATASETS[name]}" for name, subset in subsets.items()])

    @property
    def one_seed(self) -> bool:
        return len(self.seeds) == 1

    @property
    def measured(self) -> str:
        origin = ", ".join(filter(None, [f"Grid {self.name}", f"profile {self.profile}", self.length]))
        seeds = (
            f"seed {self.seeds[0]} alone; the highest is bold."
            if self.one_seed
            else f"mean and its 95% interval over seeds {listed([str(seed) for seed in self.seeds])}; "
            "a bold row has all seeds and is ahead of all others by the 95% intervals of the differences."
        )
        return f"{origin}; mean IoU in per cent on {self.scored}, {seeds}"

    @property
    def compared(self) -> str:
        if self.one_seed:
            return f"Baseline: {self.baselines}."
        return (
            f"Baseline: {self.baselines}; differences are means over the seeds that both have, "
            "with * where their 95% interval excludes 0."
        )

    @property
    def brackets(self) -> str:
        gaps = any(line.gap is not None or line.paper_gap is not None for line in self.lines)
        return "In brackets: points below all labels." if gaps else ""

    @property
    def quoted(self) -> str:
        where = listed(list(dict.fromkeys(line.paper.table for line in self.lines if line.paper)))
        runs = ", ± its range over three runs" if self.has_ranges else ""
        others = (
            "; methods without seeds are quoted there" if any(line.row is None for line in self.lines) else ""
        )
        return f"Paper: {where} of Liu et al. (2021){runs}{others}." if where else ""

    @property
    def not_run(self) -> str:
        missing = sum(len(line.missing) for line in self.lines)
        there = sum(len(line.scores) for line in self.lines)
        return f"{missing} of {missing + there} runs are missing." if missing else ""

    def block(self, column: str) -> list[Line]:
        return [line for line in self.lines if line.column == column]

    def cells(self, line: Line) -> tuple[str, ...]:
        """What a line says, below `head`."""
        wide = _wide_as_text(line) if self.wide else ()
        costs = _costs_as_text(line) if self.has_costs else ()
        return (line.title, *_ours_as_text(line), *wide, *costs, *_paper_as_text(line))[: len(self.head)]


def grid_table(
    name: str, grid: Grid, results: Sequence[Result], *, profile: str, wide: bool = False
) -> GridTable:
    """The table of a grid from results of a profile; it may have none yet."""
    others = sorted({result.profile for result in results} - {profile})
    if others:
        raise UserError(f"a table of profile {profile} has no place for results of {', '.join(others)}")
    lines = [
        replace(line, cost=measured_costs().of(line.row, line.column, profile))
        for line in summarise(grid, results)
    ]
    shown = [
        result
        for result in results
        if (result.row, result.column) in grid.pairs and result.seed in grid.seeds
    ]
    iterations = tuple(sorted({result.iterations for result in shown}))
    return GridTable(name, grid.title, profile, tuple(grid.seeds), iterations, tuple(lines), wide)


def heading(column: str) -> str:
    """Such as "Cityscapes, 20 labelled images"."""
    return f"{DATASETS[COLUMNS[column].dataset]}, {COLUMNS[column].title}"


def _ours_as_text(line: Line) -> tuple[str, str, str, str]:
    """Mean, its interval, difference and seeds."""
    if line.row is None:
        return DASH, DASH, DASH, DASH
    if line.mean is None:
        return "not run", DASH, DASH, f"0 of {len(line.missing)}"
    interval = line.interval
    return (
        f"{line.mean:.1f}{_in_brackets(line.gap, 1)}",
        f"{interval.low:.1f}–{interval.high:.1f}" if interval else DASH,
        "baseline" if line.is_baseline else signed(line.difference, 1) + "*" * line.is_apart,
        f"{len(line.scores)} of {len(line.scores) + len(line.missing)}"
        if line.missing
        else str(len(line.scores)),
    )


def _wide_as_text(line: Line) -> tuple[str, ...]:
    return tuple(
        DASH if figure is None else f"{figure:.1f}" for figure in (line.boundary_iou, line.boundary_f)
    )


def _costs_as_text(line: Line) -> tuple[str, str]:
    return (f"{line.cost.minutes:.0f}", f"{line.cost.gigabytes:.1f}") if line.cost else (DASH, DASH)


def _paper_as_text(line: Line) -> tuple[str, str]:
    if line.paper is None:
        return DASH, DASH
    spread = "" if line.paper.spread is None else f" ± {line.paper.spread:.2f}"
    difference = "baseline" if line.is_baseline else signed(line.paper_difference, 2)
    return f"{line.paper.mean:.2f}{spread}{_in_brackets(line.paper_gap, 2)}", difference


def _in_brackets(gap: float | None, digits: int) -> str:
    return "" if gap is None else f" ({gap:.{digits}f})".replace("-", MINUS)


def signed(value: float | None, digits: int) -> str:
    """+1.2 or −0.3; nothing has a sign that rounds to 0."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)
