"""Compare rows of a grid seed by seed: paired differences, their intervals, p-values and sample sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, stdev

from recoseg.evaluate.seed_statistics import PairedDifference, holm, paired_difference, pairs_needed
from recoseg.experiments.plan.grids import ROWS
from recoseg.experiments.tables.grid_table import heading, signed
from recoseg.experiments.tables.lines import require_comparable
from recoseg.experiments.tables.results import Result
from recoseg.tables import Table
from recoseg.text import DASH, how_many, listed

_HEAD = ("method", "seeds", "mean", "SD", "diff.", "95% interval", "SD diff", "p t", "p flip", "p Holm",
         "more seeds")  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Second minus first in a column, in points; `runs` are pairs with the same seed."""

    column: str
    first: str
    second: str
    runs: tuple[tuple[Result, Result], ...]

    @property
    def where(self) -> str:
        return f"{self.column}, {self.second} against {self.first}"

    @property
    def difference(self) -> PairedDifference:
        first, second = zip(*self.runs, strict=True)
        return paired_difference(*([100 * run.mean_iou for run in arm] for arm in (first, second)))


def compare_rows(
    results: Sequence[Result], pairs: Sequence[tuple[str, str]]
) -> tuple[list[Comparison], list[str]]:
    """Compare pairs of rows in every column that has both; also return what to know about the seeds."""
    require_comparable(results)
    by_row: dict[tuple[str, str], dict[int, Result]] = {}
    for result in sorted(results, key=lambda result: result.seed):
        by_row.setdefault((result.column, result.row), {})[result.seed] = result
    found, notes = [], []
    for column in dict.fromkeys(result.column for result in results):
        for pair in pairs:
            first, second = (by_row.get((column, row), {}) for row in pair)
            both = tuple((first[seed], second[seed]) for seed in first if seed in second)
            one = Comparison(column, *pair, both)
            if first and second:
                notes += _notes(one, unpaired=sorted(first.keys() ^ second.keys()))
            if len(both) > 1:
                found.append(one)
    return found, notes


def _notes(one: Comparison, *, unpaired: Sequence[int]) -> list[str]:
    """A line each for too few pairs, seeds without a partner, and arms from different machines."""
    notes = []
    if len(one.runs) < 2:
        notes.append(f"{one.where}: not compared, {how_many(len(one.runs), 'pair')} of seeds; two are needed")
    if unpaired:
        seeds = listed([str(seed) for seed in unpaired])
        notes.append(f"{one.where}: left out (only one of the two has it): seed {seeds}")
    apart = [pair for pair in one.runs if pair[0].machine != pair[1].machine or not pair[0].machine]
    if apart:
        seeds = listed([str(first.seed) for first, _ in apart])
        machines = dict.fromkeys(run.machine or "an unknown one" for pair in apart for run in pair)
        notes.append(
            f"{one.where}: not from the same machine and number of threads ({listed(list(machines))}), so "
            f"rounding alone may explain the difference: seed {seeds}"
        )
    return notes


def tables_of(comparisons: Sequence[Comparison], size: float) -> list[Table]:
    """A table for each column and first row; Holm's correction is over all of them.

    Differences with an interval that excludes 0 are bold; `size` is the difference that "more seeds" resolve.
    """
    corrected = zip(comparisons, holm([one.difference.p_value for one in comparisons]), strict=True)
    tables = []
    for (column, first), group in groupby(corrected, key=lambda item: (item[0].column, item[0].first)):
        members = list(group)
        arm = {run.seed: run for one, _ in members for run, _ in one.runs}
        rows = [[ROWS[first].title, *_arm_as_text(list(arm.values())), *[DASH] * 7]]
        table = Table(
            head=_HEAD,
            rows=rows + [_cells(one, holm_p_value, size) for one, holm_p_value in members],
            title=f"{heading(column)}: against {ROWS[first].title}",
            bold=[
                (row, 4) for row, (one, _) in enumerate(members, 1) if not one.difference.interval.holds(0)
            ],
            label=f"compare-{column}-{first}",
        )
        tables.append(table)
    return tables


def _cells(one: Comparison, holm_p_value: float, size: float) -> list[str]:
    difference = one.difference
    low, high = difference.interval
    more = max(0, pairs_needed(difference.spread, size) - len(one.runs))
    return [
        ROWS[one.second].title,
        *_arm_as_text([run for _, run in one.runs]),
        signed(difference.mean, 1),
        f"{signed(low, 1)}, {signed(high, 1)}",
        f"{difference.spread:.1f}",
        *map(_as_p_value, (difference.p_value, difference.flip_p_value, holm_p_value)),
        f"{more:,}",
    ]


def legend(number: int, size: float) -> str:
    """Explain the columns."""
    return (
        "Mean IoU in per cent; differences in points, over the seeds that both rows have. Bold: the interval "
        "excludes 0. SD: standard deviation of one run over seeds; SD diff: of the differences. Interval "
        "and p t: paired t. p flip: sign flips of the differences. p Holm: p t, corrected for "
        f"{how_many(number, 'comparison')}. More seeds: to resolve a difference of {size:g} with a power of "
        "80 %, two-sided at 5 %."
    )


def _arm_as_text(runs: Sequence[Result]) -> tuple[str, str, str]:
    scores = [100 * run.mean_iou for run in runs]
    return str(len(scores)), f"{fmean(scores):.1f}", f"{stdev(scores):.1f}"


def _as_p_value(p_value: float) -> str:
    """Such as .031, as narrow as possible."""
    if p_value < 0.0005:
        return "<.001"
    return f"{p_value:.3f}".lstrip("0") if p_value < 0.9995 else "1"
