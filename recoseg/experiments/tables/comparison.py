"""Compare rows of a grid seed by seed: paired differences, their intervals, p-values and sample sizes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from recoseg.evaluate.seed_statistics import PairedDifference, holm, paired_difference, pairs_needed
from recoseg.experiments.plan.grids import ROWS
from recoseg.experiments.tables.grid_table import heading, require_comparable, signed
from recoseg.experiments.tables.results import Result
from recoseg.experiments.tables.table_formats import empty_block
from recoseg.text import DASH, how_many, listed

if TYPE_CHECKING:
    from rich.console import Group

HEAD = ("method", "seeds", "mean", "SD", "diff.", "95% interval", "SD diff", "p t", "p flip", "p Holm",
        "more seeds")  # fmt: skip

Pair = tuple[str, str]
"""Two rows: the second is compared with the first."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Second minus first in a column, in points; scores are per cent of the seeds that both have."""

    column: str
    first: str
    second: str
    seeds: tuple[int, ...]
    first_scores: tuple[float, ...]
    second_scores: tuple[float, ...]
    paired: PairedDifference
    holm_p_value: float
    more_seeds: int


def compare_rows(
    results: Sequence[Result], pairs: Sequence[Pair], *, size: float
) -> tuple[list[Comparison], list[str]]:
    """Compare pairs of rows in every column that has both; also return what to know about the seeds.

    `size` is the difference in points that `more_seeds` resolves.
    """
    require_comparable(results)
    scores: dict[tuple[str, str], dict[int, Result]] = {}
    for result in sorted(results, key=lambda result: result.seed):
        scores.setdefault((result.column, result.row), {})[result.seed] = result
    paired: list[tuple[str, Pair, list[tuple[Result, Result]]]] = []
    notes: list[str] = []
    for column in dict.fromkeys(result.column for result in results):
        for pair in pairs:
            first, second = (scores.get((column, row), {}) for row in pair)
            both = [(first[seed], second[seed]) for seed in first if seed in second]
            if first and second:
                notes += _notes(column, pair, first, second, both)
            if len(both) > 1:
                paired.append((column, pair, both))
    percents = [
        [tuple(100 * run.mean_iou for run in arm) for arm in zip(*both, strict=True)] for *_, both in paired
    ]
    found = [paired_difference(*arms) for arms in percents]
    corrected = holm([one.p_value for one in found])
    return [
        Comparison(
            column=column,
            first=pair[0],
            second=pair[1],
            seeds=tuple(run.seed for run, _ in both),
            first_scores=arms[0],
            second_scores=arms[1],
            paired=one,
            holm_p_value=p_value,
            more_seeds=max(0, pairs_needed(one.spread, size) - len(both)),
        )
        for (column, pair, both), arms, one, p_value in zip(paired, percents, found, corrected, strict=True)
    ], notes


def _notes(
    column: str,
    pair: Pair,
    first: dict[int, Result],
    second: dict[int, Result],
    both: list[tuple[Result, Result]],
) -> list[str]:
    """A line each for seeds without a partner, for too few pairs, and for arms from different machines."""
    where, notes = f"{column}, {pair[1]} against {pair[0]}", []
    if len(both) < 2:
        notes.append(f"{where}: not compared, {how_many(len(both), 'pair')} of seeds; two are needed")
    if alone := sorted(first.keys() ^ second.keys()):
        notes.append(f"{where}: left out {_seeds_as_text(alone)}, which only one of the two has")
    apart = [(one, other) for one, other in both if one.machine != other.machine or not one.machine]
    if apart:
        seeds = _seeds_as_text([one.seed for one, _ in apart])
        machines = listed(
            list(dict.fromkeys(run.machine or "unknown" for runs in apart for run in runs)), last="or"
        )
        notes.append(
            f"{where}: {seeds} may differ by rounding alone; both arms should come from one machine "
            f"and number of threads, not from {machines}"
        )
    return notes


def _seeds_as_text(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {listed([str(seed) for seed in seeds])}"


@dataclass(frozen=True)
class ComparisonTable:
    """Comparisons with one row in one column; `caption` names both."""

    comparisons: tuple[Comparison, ...]

    @property
    def caption(self) -> str:
        one = self.comparisons[0]
        return f"{heading(one.column)}: against {ROWS[one.first].title}"

    def cells(self, bold: str, write: Callable[[str], str] = str) -> list[list[str]]:
        """The head and all lines as text; differences with an interval that excludes 0 are bold."""
        rows = [[write(word) for word in HEAD]]
        arm = {
            seed: score
            for one in self.comparisons
            for seed, score in zip(one.seeds, one.first_scores, strict=True)
        }
        first = ROWS[self.comparisons[0].first].title
        rows.append([write(cell) for cell in (first, *_arm_as_text(list(arm.values())), *[DASH] * 7)])
        for one in self.comparisons:
            paired = one.paired
            difference = write(signed(paired.mean, 1))
            cells = (
                f"{signed(paired.interval.low, 1)}, {signed(paired.interval.high, 1)}",
                f"{paired.spread:.1f}",
                *map(_as_p_value, (paired.p_value, paired.flip_p_value, one.holm_p_value)),
                f"{one.more_seeds:,}",
            )
            rows.append([
                *map(write, (ROWS[one.second].title, *_arm_as_text(one.second_scores))),
                difference if paired.interval.holds(0) else bold % difference,
                *map(write, cells),
            ])  # fmt: skip
        return rows


def terminal(table: ComparisonTable) -> Group:
    """For rich to print; 80 columns are enough."""
    from rich.console import Group
    from rich.text import Text

    head, *rows = table.cells("[bold]%s[/]")
    block = empty_block(head)
    for row in rows:
        block.add_row(*(Text.from_markup(cell, emoji=False) for cell in row))
    return Group(Text(table.caption, style="bold"), block, Text())


def tables_of(comparisons: Sequence[Comparison]) -> list[ComparisonTable]:
    """A table for each column and first row."""
    grouped = groupby(comparisons, key=lambda one: (one.column, one.first))
    return [ComparisonTable(tuple(group)) for _, group in grouped]


def legend(number: int, size: float) -> str:
    """Explain the columns."""
    return (
        "Mean IoU in per cent; differences in points, over the seeds that both rows have; bold: the interval "
        "excludes 0. SD: standard deviation of one run over seeds, and of the differences. Interval and p t: "
        "paired t. p flip: sign flips of the differences. "
        f"p Holm: p t, corrected for {how_many(number, 'comparison')}. More seeds: to resolve a "
        f"difference of {size:g} with a power of 80 %, two-sided at 5 %."
    )


def comma_separated(comparisons: Sequence[Comparison]) -> str:
    """Plain numbers, a line for each comparison."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["column", "first", "second", "seeds", "first_mean", "first_sd", "second_mean", "second_sd",
         "difference", "interval_low", "interval_high", "difference_sd", "p_t", "p_flip", "p_holm",
         "more_seeds"]
    )  # fmt: skip
    for one in comparisons:
        paired = one.paired
        figures = (
            *_arm(one.first_scores), *_arm(one.second_scores), paired.mean, *paired.interval, paired.spread,
            paired.p_value, paired.flip_p_value, one.holm_p_value,
        )  # fmt: skip
        seeds = " ".join(map(str, one.seeds))
        writer.writerow([one.column, one.first, one.second, seeds, *(f"{figure:.6g}" for figure in figures),
                         one.more_seeds])  # fmt: skip
    return out.getvalue()


def _arm(scores: Sequence[float]) -> tuple[float, float]:
    return fmean(scores), stdev(scores)


def _arm_as_text(scores: Sequence[float]) -> tuple[str, str, str]:
    mean, spread = _arm(scores)
    return str(len(scores)), f"{mean:.1f}", f"{spread:.1f}"


def _as_p_value(p_value: float) -> str:
    """Such as .031, as narrow as possible."""
    if p_value < 0.0005:
        return "<.001"
    return f"{p_value:.3f}".lstrip("0") if p_value < 0.9995 else "1"
