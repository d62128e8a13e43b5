"""The table of a grid as Markdown, CSV, LaTeX, for the terminal, and as charts."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import COLUMNS, DATASETS
from recoseg.experiments.tables.grid_table import MINUS, GridTable, Line, heading
from recoseg.experiments.tables.results import Result
from recoseg.figures.grid_chart import ChartPanel, ChartRow, draw_grid_chart
from recoseg.figures.line_charts import Points, ScoreChart, draw_score_curves
from recoseg.figures.sheet import Heading
from recoseg.text import DASH

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


_IN_LATEX = {
    **{letter: rf"\{letter}" for letter in "%_&#${}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "<": "$<$", MINUS: "$-$", DASH: "--",
}  # fmt: skip


def markdown(table: GridTable) -> str:
    """Legible as it is too: columns are aligned."""
    parts = [" ".join(table.caption)]
    for column in table.columns:
        lines = [
            (line, [cell.replace("|", r"\|") for cell in table.cells(line)]) for line in table.block(column)
        ]
        rows = [_marked(cells, "**%s**") if line.best else cells for line, cells in lines]
        parts += [f"### {heading(column)}", aligned([table.head, *rows])]
    return "\n\n".join(parts) + "\n"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A head and its rows; the first column to the left, figures to the right."""
    widths = [max(len(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        for cells in (rows[0], rule, *rows[1:])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(table: GridTable) -> str:
    """For booktabs: a float for each dataset, since all of them may not fit on a page."""
    caption = in_latex(" ".join(table.caption))
    floats = []
    for dataset, columns in groupby(table.columns, key=lambda column: COLUMNS[column].dataset):
        floats += [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \label{{tab:{table.name}-{dataset}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
            r"    \toprule",
            f"    {_latex_row(table.head)}",
        ]
        for column in columns:
            title = rf"\multicolumn{{{len(table.head)}}}{{l}}{{{in_latex(heading(column))}}}"
            floats += [r"    \midrule", rf"    {title} \\", r"    \midrule"]
            floats += [f"    {_latex_row(table.cells(line), best=line.best)}" for line in table.block(column)]
        floats += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(floats)


def _latex_row(cells: Sequence[str], *, best: bool = False) -> str:
    words = [in_latex(cell) for cell in cells]
    return " & ".join(_marked(words, r"\textbf{%s}") if best else words) + r" \\"


def in_latex(text: str) -> str:
    return "".join(_IN_LATEX.get(letter, letter) for letter in text)


def comma_separated(table: GridTable) -> str:
    """Plain numbers, a line for each row in each column; empty where there is nothing."""
    out = StringIO()
    rows = [_plain_values(table, line) for line in table.lines]
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _plain_values(table: GridTable, line: Line) -> dict[str, object]:
    column, paper = COLUMNS[line.column], line.paper
    return {
        "grid": table.name,
        "profile": table.profile,
        "column": line.column,
        "dataset": DATASETS[column.dataset],
        "labels": column.title,
        "scored_on": column.subset,
        "row": line.row,
        "method": line.title,
        "mean_iou": _rounded(line.mean),
        "lowest": _rounded(line.lowest),
        "highest": _rounded(line.highest),
        "baseline": line.baseline,
        "interval_low": _rounded(line.interval and line.interval.low),
        "interval_high": _rounded(line.interval and line.interval.high),
        "difference": _rounded(line.difference),
        "difference_low": _rounded(line.difference_interval and line.difference_interval.low),
        "difference_high": _rounded(line.difference_interval and line.difference_interval.high),
        "best": "yes" if line.best else None,
        "boundary_iou": _rounded(line.boundary_iou),
        "boundary_f": _rounded(line.boundary_f),
        "minutes": line.cost and line.cost.minutes,
        "gigabytes": line.cost and line.cost.gigabytes,
        "seeds": " ".join(map(str, line.scores)),
        "missing_seeds": " ".join(map(str, line.missing)),
        "paper_mean_iou": paper and paper.mean,
        "paper_range": paper and paper.spread,
        "paper_difference": _rounded(line.paper_difference),
        "paper_table": paper and paper.table,
        "gap": _rounded(line.gap),
        "paper_gap": _rounded(line.paper_gap),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def terminal(table: GridTable) -> Group:
    """For rich to print; 80 columns are enough."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Text | Table] = []
    for column in table.columns:
        parts += [Text(heading(column), style="bold"), _terminal_block(table, table.block(column)), Text()]
    return Group(*parts, Text(" ".join(table.caption)))


def _terminal_block(table: GridTable, lines: Sequence[Line]) -> Table:
    from rich.text import Text

    block = empty_block(table.head)
    for line in lines:
        cells = [Text(cell) for cell in table.cells(line)]
        if line.best:
            cells[1].stylize("bold")
        block.add_row(*cells, style="" if line.scores else "dim")
    return block


def empty_block(head: Sequence[str]) -> Table:
    """Headings stand word below word, so that columns are as narrow as their figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    block = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="none", padding=(0, 1, 0, 0))
    block.add_column(head[0], overflow="fold", vertical="bottom")
    for name in head[1:]:
        block.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    return block


def _marked(cells: Sequence[str], form: str) -> list[str]:
    """The cells of a line with the best mean."""
    return [cells[0], form % cells[1], *cells[2:]]


FORMATS: dict[str, Callable[[GridTable], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}


# Side by side: a line for each method with all its columns, as the paper prints its tables.


def side_by_side(
    table: GridTable, *, plain: Callable[[str], str] = str, strong: Callable[[str], str] = str
) -> list[list[str]]:
    """A head, and for each method its mean and interval in every column, beside the paper's where it has any.

    `plain` writes all that there is to write, `strong` the best means.
    """
    lines = {(line.row or line.title, line.column): line for line in table.lines}
    methods = {line.row or line.title: line.title for line in table.lines}
    in_paper = {line.column for line in table.lines if line.paper}

    def cells_of(column: str, line: Line | None) -> list[str]:
        score = _score_beside(table.cells(line), line, plain, strong) if line else plain(DASH)
        paper = table.cells(line)[table.head.index("paper")] if line and line.paper else DASH
        return [score, plain(paper)] if column in in_paper else [score]

    heads = [[heading(column), *(["paper"] if column in in_paper else [])] for column in table.columns]
    return [
        [plain(cell) for cell in ("method", *chain.from_iterable(heads))],
        *(
            [
                plain(title),
                *chain.from_iterable(
                    cells_of(column, lines.get((method, column))) for column in table.columns
                ),
            ]
            for method, title in methods.items()
        ),
    ]


def _score_beside(
    cells: Sequence[str], line: Line, plain: Callable[[str], str], strong: Callable[[str], str]
) -> str:
    """Such as "54.7 (51.6–57.7)", and how many of the seeds where some are missing."""
    _, mean, interval, _, seeds, *_ = cells
    more = f" ({interval})" if interval != DASH else ""
    more += f", {seeds} seeds" if line.scores and line.missing else ""
    return (strong if line.best else plain)(mean) + plain(more)


def markdown_beside(table: GridTable) -> str:
    rows = side_by_side(table, plain=lambda text: text.replace("|", r"\|"), strong="**{}**".format)
    return f"{' '.join(table.caption_beside)}\n\n{aligned(rows)}\n"


def latex_beside(table: GridTable) -> str:
    """For booktabs, in one float."""
    head, *rows = side_by_side(table, plain=in_latex, strong=r"\textbf{{{}}}".format)
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{in_latex(' '.join(table.caption_beside))}}}",
            rf"  \label{{tab:{table.name}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"    \toprule",
            rf"    {' & '.join(head)} \\",
            r"    \midrule",
            *(rf"    {' & '.join(row)} \\" for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def terminal_beside(table: GridTable) -> Group:
    """For rich to print; several columns are enough for 80 letters."""
    from rich.console import Group
    from rich.text import Text

    head, *rows = side_by_side(table)
    block = empty_block(head)
    for row in rows:
        block.add_row(*map(Text, row))
    return Group(block, Text(), Text(" ".join(table.caption_beside)))


BESIDE: dict[str, Callable[[GridTable], str]] = {"markdown": markdown_beside, "latex": latex_beside}


# Charts.


def draw_table(path: Path, table: GridTable) -> None:
    """Every block of the table as a panel, without the methods that the paper alone has."""
    panels = [panel_of(heading(column), table.block(column)) for column in table.columns]
    pairs = any(panel.has_pairs for panel in panels)
    colours = "grey alone, blue with ReCo on top, " if pairs else ""
    about = f"mean IoU in per cent on {table.scored}: {colours}a dot for each seed, a bar at their mean"
    ranges = "; lines beside the paper's means: its range over three runs" if table.has_ranges else ""
    draw_grid_chart(path, panels, heading=_heading_of(table, f"{about}{ranges}; dashed: {table.baselines}"))


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
        ScoreChart(heading(column), [curves.get((column, row), ()) for row in shown])
        for column in table.columns
        if any((column, row) in curves for row in shown)
    ]
    if not charts:
        raise UserError(f"no run of grid {table.name} has scores over iterations yet; run it first")
    about = (
        "mean IoU on validation images while training: strong lines are means over seeds, pale ones the seeds"
    )
    names = [title + seeds_of(counts[row], len(table.seeds)) for row, title in shown.items()]
    draw_score_curves(path, names, charts, heading=_heading_of(table, about))


def seeds_of(counts: Sequence[int], asked: int) -> str:
    """How many seeds a method has in each chart, where that is fewer than it should have."""
    fewest, most = min(counts), max(counts)
    if fewest == asked:
        return ""
    return f" ({fewest} of {asked} seeds)" if fewest == most else f" ({fewest} to {most} of {asked} seeds)"


def _heading_of(table: GridTable, about: str) -> Heading:
    what = ", ".join(filter(None, [f"Grid {table.name}", table.length]))
    return Heading(f"{table.title} (profile {table.profile})", f"{what}; {about}.")
