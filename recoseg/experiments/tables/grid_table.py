"""The table of a grid in words: its tables, its caption, its plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import COLUMNS, DATASETS, ROWS, Grid
from recoseg.experiments.tables.lines import Line, summarise
from recoseg.experiments.tables.results import Result, measured_costs
from recoseg.tables import MINUS, Table
from recoseg.text import DASH, listed


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

    def block(self, column: str) -> list[Line]:
        return [line for line in self.lines if line.column == column]

    def tables(self) -> list[Table]:
        """A table for each column."""
        write = self._cells()
        return [
            Table(
                head=tuple(write),
                rows=[[cell(line) for cell in write.values()] for line in self.block(column)],
                title=heading(column),
                bold=[(row, 1) for row, line in enumerate(self.block(column)) if line.best],
                dim=[row for row, line in enumerate(self.block(column)) if not line.scores],
                label=f"{self.name}-{COLUMNS[column].dataset}",
            )
            for column in self.columns
        ]

    def _cells(self) -> dict[str, Callable[[Line], str]]:
        """Heading -> text of a line. Figures that the paper does not have take no column."""
        cells: dict[str, Callable[[Line], str]] = {
            "method": lambda line: line.title,
            "mean IoU": _mean_as_text,
            "95% interval": _interval_as_text,
            "against baseline": lambda line: _difference(line, line.difference, 1) + "*" * line.is_apart,
            "seeds": _seeds_as_text,
        }
        if self.wide:
            cells["boundary IoU"] = lambda line: _rounded(line.boundary_iou, 1)
            cells["boundary F"] = lambda line: _rounded(line.boundary_f, 1)
        if self.has_costs:
            cells["minutes"] = lambda line: _rounded(line.cost.minutes if line.cost else None, 0)
            cells["GB"] = lambda line: _rounded(line.cost.gigabytes if line.cost else None, 1)
        if any(line.paper for line in self.lines):
            cells["paper"] = _paper_as_text
        if any(line.paper_difference is not None and not line.is_baseline for line in self.lines):
            cells["paper against baseline"] = lambda line: (
                _difference(line, line.paper_difference, 2) if line.paper else DASH
            )
        return cells

    def side_by_side(self) -> Table:
        """A row for each method: its mean and interval in every column, the paper's mean where it has any."""
        lines = {(line.row or line.title, line.column): line for line in self.lines}
        in_paper = {line.column for line in self.lines if line.paper}
        rows: list[list[str]] = []
        bold: list[tuple[int, int]] = []
        for method, title in {line.row or line.title: line.title for line in self.lines}.items():
            row = [title]
            for column in self.columns:
                line = lines.get((method, column))
                bold += [(len(rows), len(row))] if line and line.best else []
                row.append(_score_and_interval(line) if line else DASH)
                row += [_paper_as_text(line) if line else DASH] if column in in_paper else []
            rows.append(row)
        heads = [[heading(column), *(["paper"] if column in in_paper else [])] for column in self.columns]
        head = ["method", *chain.from_iterable(heads)]
        return Table(head=head, rows=rows, bold=bold, label=self.name)

    def records(self) -> list[dict[str, object]]:
        """Plain numbers: a record for each row in each column."""
        return [self._record(line) for line in self.lines]

    def _record(self, line: Line) -> dict[str, object]:
        column, paper, interval, apart = (
            COLUMNS[line.column],
            line.paper,
            line.interval,
            line.difference_interval,
        )
        return {
            "grid": self.name,
            "profile": self.profile,
            "column": line.column,
            "dataset": DATASETS[column.dataset],
            "labels": column.title,
            "scored_on": column.subset,
            "row": line.row,
            "method": line.title,
            "mean_iou": line.mean,
            "lowest": min(line.scores.values(), default=None),
            "highest": max(line.scores.values(), default=None),
            "baseline": line.baseline,
            "interval_low": interval and interval.low,
            "interval_high": interval and interval.high,
            "difference": line.difference,
            "difference_low": apart and apart.low,
            "difference_high": apart and apart.high,
            "best": "yes" if line.best else None,
            "boundary_iou": line.boundary_iou,
            "boundary_f": line.boundary_f,
            "minutes": line.cost and line.cost.minutes,
            "gigabytes": line.cost and line.cost.gigabytes,
            "seeds": " ".join(map(str, line.scores)),
            "missing_seeds": " ".join(map(str, line.missing)),
            "paper_mean_iou": paper and paper.mean,
            "paper_range": paper and paper.spread,
            "paper_difference": line.paper_difference,
            "paper_table": paper and paper.table,
            "gap": line.gap,
            "paper_gap": line.paper_gap,
        }

    def caption(self, *, beside: bool = False) -> str:
        """What the table is, what was measured and what it is compared with; `beside` without differences."""
        one_seed = len(self.seeds) == 1
        seeds = (
            f"seed {self.seeds[0]} alone; the highest is bold."
            if one_seed
            else f"mean and its 95% interval over seeds {listed(list(map(str, self.seeds)))}; "
            "a bold row has all seeds and is ahead of all others by the 95% intervals of the differences."
        )
        differences = (
            "; differences are means over the seeds that both have, "
            "with * where their 95% interval excludes 0"
        )
        tables = list(dict.fromkeys(line.paper.table for line in self.lines if line.paper))
        quoted = any(line.row is None for line in self.lines)
        paper = (
            f"Paper: {listed(tables)} of Liu et al. (2021)"
            f"{', ± its range over three runs' if self.has_ranges else ''}"
            f"{'; methods without seeds are quoted there' if quoted else ''}."
        )
        missing = sum(len(line.missing) for line in self.lines)
        runs = missing + sum(len(line.scores) for line in self.lines)
        sentences = {
            f"{self.title}.": True,
            f"{self.origin}; mean IoU in per cent on {self.scored}, {seeds}": True,
            f"Baseline: {self.baselines}{'' if one_seed else differences}.": not beside,
            "In brackets: points below all labels.": any(
                line.gap is not None or line.paper_gap is not None for line in self.lines
            ),
            "Minutes and peak memory of a run are measured apart, on one thread of a quiet machine.": (
                self.has_costs and not beside
            ),
            paper: bool(tables),
            f"{missing} of {runs} runs are missing.": missing > 0,
        }
        return " ".join(sentence for sentence, applies in sentences.items() if applies)

    @property
    def origin(self) -> str:
        """Grid, profile and the length of its runs, where there are some."""
        length = f", {self.length}" if self.length else ""
        return f"Grid {self.name}, profile {self.profile}{length}"

    @property
    def length(self) -> str:
        return f"{listed([f'{count:,}' for count in self.iterations])} iterations" if self.iterations else ""

    @property
    def baselines(self) -> str:
        """The row that others are compared with; a column without it has another."""
        return " or ".join(dict.fromkeys(ROWS[line.baseline].title for line in self.lines))

    @property
    def has_costs(self) -> bool:
        return self.wide and any(line.cost for line in self.lines)

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
    shown = [one for one in results if (one.row, one.column) in grid.pairs and one.seed in grid.seeds]
    iterations = tuple(sorted({result.iterations for result in shown}))
    return GridTable(name, grid.title, profile, tuple(grid.seeds), iterations, tuple(lines), wide)


def heading(column: str) -> str:
    """Such as "Cityscapes, 20 labelled images"."""
    return f"{DATASETS[COLUMNS[column].dataset]}, {COLUMNS[column].title}"


# Cells.


def _mean_as_text(line: Line) -> str:
    if line.mean is None:
        return DASH if line.row is None else "not run"
    return f"{line.mean:.1f}{_in_brackets(line.gap, 1)}"


def _interval_as_text(line: Line) -> str:
    return f"{line.interval.low:.1f}–{line.interval.high:.1f}" if line.interval else DASH


def _seeds_as_text(line: Line) -> str:
    number = len(line.scores)
    if line.missing:
        return f"{number} of {number + len(line.missing)}"
    return DASH if line.row is None else str(number)


def _score_and_interval(line: Line) -> str:
    """Such as "54.7 (51.6–57.7)", and the number of seeds where some are missing."""
    interval = f" ({_interval_as_text(line)})" if line.interval else ""
    seeds = f", {_seeds_as_text(line)} seeds" if line.scores and line.missing else ""
    return _mean_as_text(line) + interval + seeds


def _paper_as_text(line: Line) -> str:
    if line.paper is None:
        return DASH
    spread = "" if line.paper.spread is None else f" ± {line.paper.spread:.2f}"
    return f"{line.paper.mean:.2f}{spread}{_in_brackets(line.paper_gap, 2)}"


def _difference(line: Line, value: float | None, digits: int) -> str:
    return "baseline" if line.is_baseline and value is not None else signed(value, digits)


def _rounded(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _in_brackets(gap: float | None, digits: int) -> str:
    return "" if gap is None else f" ({gap:.{digits}f})".replace("-", MINUS)


def signed(value: float | None, digits: int) -> str:
    """+1.2 or −0.3; nothing has a sign that rounds to 0."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)
