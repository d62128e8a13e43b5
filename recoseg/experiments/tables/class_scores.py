"""Scores of single classes, and others beside mean IoU: means over seeds, a column for each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from recoseg.errors import UserError
from recoseg.evaluate.seed_statistics import is_ahead
from recoseg.experiments.plan.grids import ROWS, Grid
from recoseg.experiments.tables.grid_table import heading
from recoseg.experiments.tables.results import Result
from recoseg.score_names import SCORE_NAMES
from recoseg.tables import Table
from recoseg.text import hundredths, listed

_LESS_IS_BETTER = "Calibration error"

_OTHERS: dict[str, Callable[[Result], float | None]] = {
    SCORE_NAMES["iou"].overall_title: lambda result: result.mean_iou,
    SCORE_NAMES["accuracy"].overall_title: lambda result: result.accuracy,
    SCORE_NAMES["boundary_iou"].overall_title: lambda result: result.boundary_iou,
    SCORE_NAMES["boundary_f"].overall_title: lambda result: result.boundary_f_score,
    _LESS_IS_BETTER: lambda result: result.calibration_error,
}
"""Scores below those of the classes."""


@dataclass(frozen=True)
class ClassScores:
    """`lines`: a class, or another score -> for each method the shares of its seeds that have one."""

    column: str
    profile: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    lines: dict[str, list[list[float]]]

    def table(self) -> Table:
        seeds = listed([str(seed) for seed in self.seeds])
        over = f"means over seeds {seeds}" if len(self.seeds) > 1 else f"seed {seeds} alone"
        what = "IoU of each class and other scores in per cent"
        bold = "ahead of all others by their 95% intervals" if len(self.seeds) > 1 else "highest"
        return Table(
            head=("class", *self.methods),
            rows=[[name, *map(hundredths, means(values))] for name, values in self.lines.items()],
            title=f"{heading(self.column)}: {what}, {over}, profile {self.profile}; bold: {bold}.",
            bold=[
                (row, 1 + place)
                for row, (name, values) in enumerate(self.lines.items())
                for place in _best(name, values, len(self.seeds))
            ],
            label=f"{self.column}-classes",
        )

    def records(self) -> list[dict[str, object]]:
        """Plain numbers: a record for each class and method."""
        place = {"profile": self.profile, "column": self.column}
        seeds = " ".join(map(str, self.seeds))
        return [
            {**place, "score": name, "method": method, "percent": value and 100 * value, "seeds": seeds}
            for name, values in self.lines.items()
            for method, value in zip(self.methods, means(values), strict=True)
        ]


def class_scores(grid: Grid, column: str, results: Sequence[Result]) -> ClassScores:
    """Of all rows that have results, at least one, over the seeds that all of them have: equal terms."""
    found: dict[str, dict[int, Result]] = {}
    for result in results:
        if result.column == column and result.seed in grid.seeds:
            found.setdefault(result.row, {})[result.seed] = result
    rows = [row for row in grid.rows if row in found]
    seeds = sorted(set.intersection(*(set(found[row]) for row in rows)))
    if not seeds:
        raise UserError(f"{heading(column)}: no seed is done for all methods; choose methods with --only")
    chosen = [[found[row][seed] for seed in seeds] for row in rows]
    names = list(chosen[0][0].iou)
    for other in (result for runs in chosen for result in runs if set(result.iou) != set(names)):
        raise UserError(f"{heading(column)}: {other.row}, seed {other.seed}, was scored on other classes")
    scores = {name: (lambda result, name=name: result.iou.get(name)) for name in names} | _OTHERS
    lines = {
        name: [[value for run in runs if (value := score(run)) is not None] for runs in chosen]
        for name, score in scores.items()
    }
    if not any(lines[_LESS_IS_BETTER]):  # older files have none
        del lines[_LESS_IS_BETTER]
    methods = tuple(ROWS[row].title for row in rows)
    return ClassScores(column, results[0].profile, methods, tuple(seeds), lines)


def means(values: Sequence[Sequence[float]]) -> list[float | None]:
    return [fmean(found) if found else None for found in values]


def _best(name: str, values: Sequence[Sequence[float]], num_seeds: int) -> list[int]:
    """Places of the best methods: with one seed all with the highest score as displayed, unless all have it;
    with several the one that is ahead of all others by more than chance."""
    sign = -1 if name == _LESS_IS_BETTER else 1
    signed = {place: [sign * value for value in found] for place, found in enumerate(values) if found}
    if num_seeds == 1:
        shown = {place: round(100 * value, 1) for place, (value,) in signed.items()}
        best = max(shown.values(), default=None)
        return [place for place in shown if shown[place] == best and len(set(shown.values())) > 1]
    complete = len(signed) == len(values) > 1 and all(len(found) == num_seeds for found in values)
    others = {place: [found for other, found in signed.items() if other != place] for place in signed}
    return [place for place in signed if complete and is_ahead(signed[place], others[place])]
