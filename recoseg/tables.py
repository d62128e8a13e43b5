"""Tables of text: one list of rows for the terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING

from recoseg.text import DASH, printable

if TYPE_CHECKING:
    from rich.console import Group

MINUS = "\N{MINUS SIGN}"
_IN_LATEX = {
    **{letter: rf"\{letter}" for letter in "%_&#${}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "<": "$<$", MINUS: "$-$", DASH: "--",
}  # fmt: skip

_RULES = "\n".join(["    ", "    ", " ── ", "    ", " ── ", "    ", "    ", "    "]) + "\n"
"""For rich: a rule below the head and one above the totals, nothing else."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells are text. The first `num_names` columns are names, on the left; the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    bold: Collection[tuple[int, int]] = ()  # (row, column) of cells whose first word is bold
    dim: Collection[int] = ()  # rows without results
    num_names: int = 1
    num_totals: int = 0  # rows at the end that sum up the others
    label: str = ""  # in LaTeX; tables with one label share a float

    def written(self, write: Callable[[str], str], bold: str) -> list[list[str]]:
        """Head and rows, their cells escaped by `write`, the bold ones in the form `bold`."""
        cells = [[write(cell) for cell in row] for row in (self.head, *self.rows)]
        for row, column in self.bold:
            word, space, rest = cells[row + 1][column].partition(" ")
            cells[row + 1][column] = bold % word + space + rest
        return cells


def markdown(tables: Iterable[Table], *, caption: str = "", title: str = "%s") -> str:
    """The caption, and each table below its title, with aligned columns: it is legible as text too."""
    parts = [caption] if caption else []
    for table in tables:
        cells = table.written(lambda text: text.replace("|", r"\|"), "**%s**")
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        is_name = [number < table.num_names for number in range(len(widths))]
        rule = ["-" * width if name else "-" * (width - 1) + ":"
                for width, name in zip(widths, is_name, strict=True)]  # fmt: skip
        lines = [
            [cell.ljust(width) if name else cell.rjust(width)
             for cell, width, name in zip(row, widths, is_name, strict=True)]
            for row in (cells[0], rule, *cells[1:])
        ]  # fmt: skip
        parts += [title % table.title] if table.title else []
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"


def in_latex(text: str) -> str:
    return "".join(_IN_LATEX.get(letter, letter) for letter in text)


def latex(tables: Iterable[Table], *, caption: str = "") -> str:
    """Floats for booktabs. Without a caption, each has the title of its table."""
    lines: list[str] = []
    for label, group in groupby(tables, key=lambda table: table.label):
        blocks = list(group)
        head = blocks[0].head
        lines += [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{in_latex(caption or blocks[0].title)}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{{'l' * blocks[0].num_names}{'r' * (len(head) - blocks[0].num_names)}}}",
            r"    \toprule",
            f"    {' & '.join(map(in_latex, head))} \\\\",
        ]
        for block in blocks:
            if caption and block.title:
                title = rf"\multicolumn{{{len(head)}}}{{l}}{{{in_latex(block.title)}}}"
                lines += [r"    \midrule", rf"    {title} \\"]
            rows = block.written(in_latex, r"\textbf{%s}")[1:]
            lines += [r"    \midrule", *(f"    {' & '.join(row)} \\\\" for row in rows)]
        lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def comma_separated(records: Sequence[Mapping[str, object]]) -> str:
    """A line for each record; None is empty, and numbers have at most four decimals."""
    out = StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
    return out.getvalue()


def terminal(*tables: Table, caption: str = "") -> Group:
    """For rich to print. Words of a heading stand below one another, so that 80 columns are enough."""
    from rich.box import Box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    parts: list[Text | RichTable] = []
    for number, table in enumerate(tables):
        shown = RichTable(
            box=Box(_RULES), show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0)
        )
        for column, name in enumerate(table.head):
            is_name = column < table.num_names
            shown.add_column(
                Text(name if is_name else name.replace("+ ", "+\N{NO-BREAK SPACE}").replace(" ", "\n")),
                justify="left" if is_name else "right",
                overflow="fold",
                no_wrap=not is_name,
                vertical="bottom",
            )
        for row, cells in enumerate(table.rows):
            is_total = row >= len(table.rows) - table.num_totals
            if is_total and row == len(table.rows) - table.num_totals:
                shown.add_section()
            words = [Text(printable(cell)) for cell in cells]
            for place, word in enumerate(words):
                if (row, place) in table.bold:
                    word.stylize("bold", 0, len(word.plain.partition(" ")[0]))
            shown.add_row(*words, style="bold" if is_total else "dim" if row in table.dim else "")
        parts += [Text()] if number else []
        parts += [Text(printable(table.title), style="bold")] if table.title else []
        parts.append(shown)
    return Group(*parts, *([Text(), Text(printable(caption))] if caption else []))
