"""The table of a grid: its caption, and its blocks of lines, in words that all formats share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recoseg.errors import UserError
from recoseg.experiments.columns import COLUMNS, DATASETS
from recoseg.experiments.grids import Grid
from recoseg.experiments.methods import ROWS
from recoseg.experiments.results import Result
from recoseg.experiments.summary import Line, summarise
from recoseg.words import listed

OURS = ("method", "mean IoU", "range", "against baseline", "seeds")
PAPERS = ("paper", "paper against baseline")
NONE, MINUS = "–", "\N{MINUS SIGN}"


@dataclass(frozen=True)
class GridTable:
    """`lines` are those of all columns, a block each."""

    name: str
    title: str
    profile: str
    seeds: tuple[int, ...]
    iterations: tuple[int, ...]  # of its runs: one number, if all took as many
    lines: tuple[Line, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.column for line in self.lines))

    @property
    def head(self) -> tuple[str, ...]:
        """What the paper says nothing of is left out."""
        has_figures = any(line.paper for line in self.lines)
        compares = any(line.paper_difference is not None and not line.is_baseline for line in self.lines)
        return OURS + PAPERS[: has_figures + compares]

    @property
    def caption(self) -> tuple[str, ...]:
        """Sentences: what it is, what was measured, and what it is compared with."""
        return tuple(
            sentence
            for sentence in (f"{self.title}.", self.measured, self.compared, self.quoted, self.not_run)
            if sentence
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
            f"seed {self.seeds[0]} alone; the best is bold."
            if self.one_seed
            else f"mean and range over seeds {listed([str(seed) for seed in self.seeds])}; "
            "of the rows with all seeds, the best mean is bold."
        )
        return f"{origin}; mean IoU in per cent on {self.scored}, {seeds}"

    @property
    def compared(self) -> str:
        how = "" if self.one_seed else "; differences are means over the seeds that both have"
        return f"Baseline: {self.baselines}{how}."

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
        return (line.title, *words_of(line))[: len(self.head)]


def grid_table(name: str, grid: Grid, results: Sequence[Result], *, profile: str) -> GridTable:
    """The table of a grid from results of a profile; it may have none yet."""
    others = sorted({result.profile for result in results} - {profile})
    if others:
        raise UserError(f"a table of profile {profile} has no place for results of {', '.join(others)}")
    lines = summarise(grid, results)
    shown = [
        result
        for result in results
        if (result.row, result.column) in grid.pairs and result.seed in grid.seeds
    ]
    iterations = tuple(sorted({result.iterations for result in shown}))
    return GridTable(name, grid.title, profile, tuple(grid.seeds), iterations, tuple(lines))


def heading(column: str) -> str:
    """Such as "Cityscapes, 20 labelled images"."""
    return f"{DATASETS[COLUMNS[column].dataset]}, {COLUMNS[column].title}"


def words_of(line: Line) -> tuple[str, str, str, str, str, str]:
    """Mean, range, difference, seeds, the paper's figure and its difference."""
    if line.row is None:
        ours = (NONE, NONE, NONE, NONE)
    elif line.mean is None:
        ours = ("not run", NONE, NONE, f"0 of {len(line.missing)}")
    else:
        several = len(line.scores) > 1
        ours = (
            f"{line.mean:.1f}",
            f"{line.lowest:.1f}–{line.highest:.1f}" if several else NONE,
            "baseline" if line.is_baseline else signed(line.difference, 1),
            f"{len(line.scores)} of {len(line.scores) + len(line.missing)}"
            if line.missing
            else str(len(line.scores)),
        )
    return (*ours, *paper_words(line))


def paper_words(line: Line) -> tuple[str, str]:
    if line.paper is None:
        return NONE, NONE
    spread = "" if line.paper.spread is None else f" ± {line.paper.spread:.2f}"
    difference = "baseline" if line.is_baseline else signed(line.paper_difference, 2)
    return f"{line.paper.mean:.2f}{spread}", difference


def signed(value: float | None, digits: int) -> str:
    """+1.2 or −0.3; nothing has a sign that rounds to 0."""
    if value is None:
        return NONE
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)
