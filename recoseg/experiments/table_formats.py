"""The table of a grid as Markdown, CSV, LaTeX, and for the terminal."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING

from recoseg.experiments.columns import COLUMNS, DATASETS
from recoseg.experiments.summary import Line
from recoseg.experiments.tables import MINUS, NONE, GridTable, heading

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

IN_LATEX = {
    **{letter: rf"\{letter}" for letter in "%_&#${}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", MINUS: "$-$", NONE: "--",
}  # fmt: skip


def markdown(table: GridTable) -> str:
    """Legible as it is too: columns are aligned."""
    parts = [" ".join(table.caption)]
    for column in table.columns:
        lines = [
            (line, [cell.replace("|", r"\|") for cell in table.cells(line)]) for line in table.block(column)
        ]
        rows = [marked(cells, "**%s**") if line.best else cells for line, cells in lines]
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
            f"    {latex_row(table.head)}",
        ]
        for column in columns:
            title = rf"\multicolumn{{{len(table.head)}}}{{l}}{{{in_latex(heading(column))}}}"
            floats += [r"    \midrule", rf"    {title} \\", r"    \midrule"]
            floats += [f"    {latex_row(table.cells(line), best=line.best)}" for line in table.block(column)]
        floats += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(floats)


def latex_row(cells: Sequence[str], *, best: bool = False) -> str:
    words = [in_latex(cell) for cell in cells]
    return " & ".join(marked(words, r"\textbf{%s}") if best else words) + r" \\"


def in_latex(text: str) -> str:
    return "".join(IN_LATEX.get(letter, letter) for letter in text)


def comma_separated(table: GridTable) -> str:
    """Plain numbers, a line for each row in each column; empty where there is nothing."""
    out = StringIO()
    rows = [plain_values(table, line) for line in table.lines]
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def plain_values(table: GridTable, line: Line) -> dict[str, object]:
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
        "mean_iou": rounded(line.mean),
        "lowest": rounded(line.lowest),
        "highest": rounded(line.highest),
        "baseline": line.baseline,
        "difference": rounded(line.difference),
        "best": "yes" if line.best else None,
        "boundary_iou": rounded(line.boundary_iou),
        "seeds": " ".join(map(str, line.scores)),
        "missing_seeds": " ".join(map(str, line.missing)),
        "paper_mean_iou": paper and paper.mean,
        "paper_range": paper and paper.spread,
        "paper_difference": rounded(line.paper_difference),
        "paper_table": paper and paper.table,
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def terminal(table: GridTable) -> Group:
    """For rich to print; 80 columns are enough."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Text | Table] = []
    for column in table.columns:
        parts += [Text(heading(column), style="bold"), terminal_block(table, table.block(column)), Text()]
    return Group(*parts, Text(" ".join(table.caption)))


def terminal_block(table: GridTable, lines: Sequence[Line]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    block = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="none", padding=(0, 1, 0, 0))
    block.add_column(table.head[0], overflow="fold", vertical="bottom")
    for name in table.head[1:]:
        block.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for line in lines:
        cells = [Text(cell) for cell in table.cells(line)]
        if line.best:
            cells[1].stylize("bold")
        block.add_row(*cells, style="" if line.scores else "dim")
    return block


def marked(cells: Sequence[str], form: str) -> list[str]:
    """The cells of a line with the best mean."""
    return [cells[0], form % cells[1], *cells[2:]]


FORMATS: dict[str, Callable[[GridTable], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
