"""Scores of single classes, and others beside mean IoU: means over seeds, a column for each method."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import fmean
from typing import TYPE_CHECKING, Protocol

from recoseg.errors import UserError
from recoseg.evaluate.seed_statistics import is_ahead
from recoseg.experiments.plan.grids import ROWS, Grid
from recoseg.experiments.tables.grid_table import heading
from recoseg.experiments.tables.results import Result
from recoseg.experiments.tables.table_formats import aligned, in_latex
from recoseg.score_names import SCORE_NAMES
from recoseg.text import DASH, listed, printable

if TYPE_CHECKING:
    from rich.table import Table


_OTHERS: dict[str, Callable[[Result], float | None]] = {
    SCORE_NAMES["iou"].overall_title: lambda result: result.mean_iou,
    SCORE_NAMES["accuracy"].overall_title: lambda result: result.accuracy,
    SCORE_NAMES["boundary_iou"].overall_title: lambda result: result.boundary_iou,
    SCORE_NAMES["boundary_f"].overall_title: lambda result: result.boundary_f_score,
    "Calibration error": lambda result: result.calibration_error,
}
"""What stands below the classes."""

_LESS_IS_BETTER = ("Calibration error",)


@dataclass(frozen=True)
class _ClassScores:
    """`lines` are a class, or another score, and its means in per cent in the order of `methods`; `best` is
    the place of the best method of each line, if one is ahead."""

    column: str
    profile: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    lines: tuple[tuple[str, tuple[float | None, ...]], ...]
    best: tuple[tuple[int, ...], ...]

    @property
    def caption(self) -> str:
        seeds = listed([str(seed) for seed in self.seeds])
        over = f"means over seeds {seeds}" if len(self.seeds) > 1 else f"seed {seeds} alone"
        what = "IoU of each class and other scores in per cent"
        bold = "ahead of all others by their 95% intervals" if len(self.seeds) > 1 else "highest"
        return f"{heading(self.column)}: {what}, {over}, profile {self.profile}; bold: {bold}."

    def cells(self, bold: str, write: Callable[[str], str] = str) -> list[list[str]]:
        """The head and all lines as text, with the best of a line in bold."""
        rows = [[write(word) for word in ("class", *self.methods)]]
        for (name, values), best in zip(self.lines, self.best, strict=True):
            words = [write(DASH if value is None else f"{value:.1f}") for value in values]
            rows.append([
                write(name), *(bold % word if place in best else word for place, word in enumerate(words))
            ])  # fmt: skip
        return rows


def class_scores(grid: Grid, column: str, results: Sequence[Result]) -> _ClassScores:
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
    by_score = {
        name: [[value for run in runs if (value := score(run)) is not None] for runs in chosen]
        for name, score in scores.items()
    }
    by_score = {
        name: values for name, values in by_score.items() if name not in _LESS_IS_BETTER or any(values)
    }  # older files have none
    lines = tuple((name, tuple(map(_mean_percent, values))) for name, values in by_score.items())
    best = tuple(_best(name, values, len(seeds)) for name, values in by_score.items())
    methods = tuple(ROWS[row].title for row in rows)
    return _ClassScores(column, results[0].profile, methods, tuple(seeds), lines, best)


def _mean_percent(values: Sequence[float]) -> float | None:
    return 100 * fmean(values) if values else None


def _best(name: str, values: Sequence[Sequence[float]], num_seeds: int) -> tuple[int, ...]:
    """Places of the best methods: with one seed all that read alike, unless all do; with several the one
    that is ahead of all others by more than chance."""
    sign = -1 if name in _LESS_IS_BETTER else 1
    signed = {place: [sign * value for value in found] for place, found in enumerate(values) if found}
    if num_seeds == 1:
        read = {place: round(100 * value, 1) for place, (value,) in signed.items()}
        best = max(read.values(), default=None)
        return tuple(place for place in read if read[place] == best and len(set(read.values())) > 1)
    complete = len(signed) == len(values) > 1 and all(len(found) == num_seeds for found in values)
    others = {place: [found for other, found in signed.items() if other != place] for place in signed}
    return tuple(place for place in signed if complete and is_ahead(signed[place], others[place]))


class TextTable(Protocol):
    """A table that writes its own cells: the head, then all lines."""

    @property
    def caption(self) -> str: ...

    def cells(self, bold: str, write: Callable[[str], str] = str) -> list[list[str]]: ...


def markdown(tables: Sequence[TextTable]) -> str:
    cells = [table.cells("**%s**", lambda text: text.replace("|", r"\|")) for table in tables]
    return "\n".join(
        f"{table.caption}\n\n{aligned(rows)}\n" for table, rows in zip(tables, cells, strict=True)
    )


def latex(tables: Sequence[TextTable]) -> str:
    lines = []
    for table in tables:
        cells = table.cells(r"\textbf{%s}", in_latex)
        head, *rows = (" & ".join(row) + r" \\" for row in cells)
        lines += [f"% {table.caption}", rf"\begin{{tabular}}{{l{'r' * (len(cells[0]) - 1)}}}", r"  \toprule"]
        lines += [f"  {head}", r"  \midrule", *(f"  {row}" for row in rows)]
        lines += [r"  \bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def comma_separated(tables: Sequence[_ClassScores]) -> str:
    """Plain numbers, a line for each class and method."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["profile", "column", "score", "method", "percent", "seeds"])
    for table in tables:
        seeds = " ".join(map(str, table.seeds))
        for name, values in table.lines:
            for method, value in zip(table.methods, values, strict=True):
                percent = "" if value is None else round(value, 4)
                writer.writerow([table.profile, table.column, name, method, percent, seeds])
    return out.getvalue()


def terminal(table: _ClassScores) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, title=Text(table.caption), title_justify="left")
    cells = table.cells("[bold]%s[/]", lambda text: escape(printable(text)))
    head, *rows = ([Text.from_markup(cell, emoji=False) for cell in row] for row in cells)
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*row)
    return shown


FORMATS: dict[str, Callable[[Sequence[_ClassScores]], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
