"""One list of rows as text of four kinds."""

from __future__ import annotations

import csv
import re
from io import StringIO

from rich.console import Console

from recoseg.tables import Table, comma_separated, in_latex, latex, markdown, terminal

TABLE = Table(
    head=("class", "mean IoU"),
    rows=[("a|b_c", "1.0 (0.5)"), ("[red]", "12.0"), ("mean", "6.5")],
    title="Two classes",
    bold=[(0, 1)],
    label="two",
)


def printed(*tables: Table, caption: str = "", **how: object) -> str:
    console = Console(width=80, file=StringIO(), **how)
    console.print(terminal(*tables, caption=caption))
    return console.file.getvalue()


def test_markdown_is_aligned_and_escapes_bars() -> None:
    assert markdown([TABLE], caption="A caption.", title="### %s").splitlines() == [
        "A caption.",
        "",
        "### Two classes",
        "",
        r"| class  |      mean IoU |",
        r"| ------ | ------------: |",
        r"| a\|b_c | **1.0** (0.5) |",
        r"| [red]  |          12.0 |",
        r"| mean   |           6.5 |",
    ]


def test_latex_escapes_every_letter_that_means_something() -> None:
    assert in_latex("50% a_b & c") == r"50\% a\_b \& c"
    assert in_latex("\\{$}#") == r"\textbackslash{}\{\$\}\#"


def test_tables_of_one_label_share_a_float() -> None:
    other = Table(head=TABLE.head, rows=[("d", "2.0")], title="Another", label="two")
    text = latex([TABLE, other, Table(head=("x",), rows=[], label="three")], caption="A 100% caption.")
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:two", "tab:three"]
    assert text.count(r"\caption{A 100\% caption.}") == text.count(r"\end{table}") == 2
    assert r"a|b\_c & \textbf{1.0} (0.5) \\" in text
    assert r"\multicolumn{2}{l}{Another} \\" in text
    assert r"\caption{Two classes}" in latex([TABLE])


def test_csv_has_plain_numbers_and_nothing_where_there_is_none() -> None:
    text = comma_separated([{"a": 1 / 3, "b": None, "c": "x,y"}, {"a": 2, "b": 0.0, "c": ""}])
    assert list(csv.reader(StringIO(text))) == [["a", "b", "c"], ["0.3333", "", "x,y"], ["2", "0.0", ""]]


def test_the_terminal_stacks_headings_and_takes_names_as_they_are() -> None:
    lines = [line.rstrip() for line in printed(TABLE, caption="A caption.").splitlines()]
    assert lines[:3] == ["Two classes", "            mean", "class        IoU"]
    assert lines[4:] == ["a|b_c  1.0 (0.5)", "[red]       12.0", "mean         6.5", "", "A caption."]


def test_the_terminal_has_bold_cells_dim_rows_and_a_rule_above_totals() -> None:
    table = Table(head=TABLE.head, rows=TABLE.rows, bold=[(0, 1)], dim=[1], num_totals=1)
    text = printed(table, force_terminal=True, color_system="standard")
    assert "\x1b[1m1.0\x1b[0m (0.5)" in text
    assert re.search(r"\x1b\[2m *12\.0", text)
    assert re.search(r"\x1b\[1m *6\.5", text)
    plain = printed(table).splitlines()
    assert [number for number, line in enumerate(plain) if set(line.strip()) == {"─"}] == [2, 5]


def test_a_long_name_folds_and_numbers_stay_whole() -> None:
    table = Table(head=("class", *["score"] * 4), rows=[("a name " * 20, *["100.0 ± 0.12"] * 4)])
    text = printed(table)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("100.0 ± 0.12") == 4
