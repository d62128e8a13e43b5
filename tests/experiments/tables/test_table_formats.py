"""The table of a grid, as text of several kinds."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from recoseg.errors import UserError
from recoseg.experiments.plan.grids import GRIDS
from recoseg.experiments.tables.costs import measured_costs
from recoseg.experiments.tables.grid_table import GridTable, grid_table, heading, signed
from recoseg.experiments.tables.table_formats import (
    FORMATS,
    aligned,
    comma_separated,
    draw_learning,
    draw_table,
    in_latex,
    latex,
    latex_beside,
    markdown,
    markdown_beside,
    panel_of,
    seeds_of,
    side_by_side,
    terminal,
    terminal_beside,
)
from recoseg.figures.grid_chart import ChartRow
from recoseg.text import listed

CITY = "cityscapes-20"


@pytest.fixture
def table(result_of) -> GridTable:
    """Supervised has one seed, ClassMix and ReCo + ClassMix three, the others none."""
    scores = {"supervised": (26.0,), "classmix": (26.9, 27.4, 27.8), "reco-classmix": (28.0, 28.7, 29.0)}
    results = [
        result_of(row, CITY, seed, percent)
        for row, values in scores.items()
        for seed, percent in enumerate(values)
    ]
    return grid_table("cityscapes-20", GRIDS["cityscapes-20"], results, profile="tiny")


def rows_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_markdown_gives_every_figure_in_its_place(table) -> None:
    head, rule, *rows = rows_of(markdown(table))
    assert head[:4] == ["method", "mean IoU", "95% interval", "against baseline"]
    assert head[4:] == ["seeds", "paper", "paper against baseline"]
    assert rule[0] == "-" * len(rule[0])
    assert all(re.fullmatch("-+:", cell) for cell in rule[1:])
    by_method = {row[0]: row[1:] for row in rows}
    assert by_method["ClassMix"] == ["27.4", "26.2–28.5", "baseline", "3", "45.61 ± 0.69", "baseline"]
    assert by_method["ReCo + ClassMix"] == ["**28.6**", "27.3–29.8", "+1.2*", "3", "49.86 ± 0.28", "+4.25"]
    assert by_method["Supervised"] == ["26.0", "–", "−0.9", "1 of 3", "38.12 ± 0.08", "−7.49"]
    assert by_method["S4GAN"] == ["not run", "–", "–", "0 of 3", "37.65 ± 0.62", "−7.96"]
    assert by_method["ReCo + Supervised"] == ["not run", "–", "–", "0 of 3", "–", "–"]


def test_markdown_is_aligned_and_has_a_heading_for_each_column() -> None:
    text = markdown(grid_table("partial-labels", GRIDS["partial-labels"], [], profile="tiny"))
    assert (
        re.findall("^### (.*)$", text, flags=re.MULTILINE)[4]
        == "Cityscapes, 1 pixel of each class in every image"
    )
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
        assert len({line.count("|") for line in block.splitlines()}) == 1
        assert text[text.index(block) - 2 : text.index(block)] == "\n\n"  # or it would not be a table
    assert text.count("### ") == 8


def test_a_bar_in_a_cell_is_escaped_in_markdown(table) -> None:
    line = table.lines[0]
    odd = GridTable("a", "b", "c", (0,), (), (type(line)(**{**vars(line), "title": "a|b"}),))
    assert r"| a\|b" in markdown(odd)


def test_columns_of_text_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "bc"), ("def", "1")]).splitlines() == [
        "| a   | bc |",
        "| --- | -: |",
        "| def |  1 |",
    ]


def test_the_caption_names_grid_profile_images_iterations_baseline_and_table(table) -> None:
    caption = " ".join(table.caption)
    for said in (
        "Cityscapes with 20 labelled images. Grid cityscapes-20, profile tiny, 1,200 iterations;",
        "per cent on val,",
        "over seeds 0, 1 and 2;",
        "Baseline: ClassMix;",
        "Paper: Table 1 of",
        "± its range over three runs.",
        "14 of 21 runs are missing.",
    ):
        assert said in caption
    for write in (markdown, latex):
        assert "profile tiny" in write(table)


def test_captions_say_what_differs_between_columns(result_of) -> None:
    results = [
        result_of("supervised", "cityscapes-all", 0, 50.0, iterations=1000),
        result_of("supervised", "camvid-all", 0, 60.0, iterations=2000),
    ]
    ceiling = grid_table("ceiling", GRIDS["ceiling"], results, profile="tiny")
    caption = " ".join(ceiling.caption)
    assert "1,000 and 2,000 iterations" in caption
    assert "on val of Cityscapes and test of CamVid" in caption
    assert "seed 0 alone; the highest is bold. Baseline: Supervised. " in caption
    assert "missing" not in caption
    all_labels = grid_table("full-labels", GRIDS["full-labels"], [], profile="tiny")
    assert "Baseline: ClassMix or Supervised;" in all_labels.compared
    assert "iterations" not in " ".join(all_labels.caption)  # nobody knows yet


def test_iterations_are_of_the_runs_in_the_table_alone(result_of) -> None:
    results = [
        result_of("classmix", CITY, 0, 30.0, iterations=10),
        result_of("classmix", CITY, 9, 30.0, iterations=20),  # a seed that nobody asked for
        result_of("classmix", "voc-60", 0, 30.0, iterations=30),  # a column of another grid
    ]
    assert grid_table("cityscapes-20", GRIDS["cityscapes-20"], results, profile="tiny").iterations == (10,)


def test_what_the_paper_does_not_have_takes_no_columns(result_of) -> None:
    ours = grid_table("camvid-20", GRIDS["camvid-20"], [], profile="tiny")
    assert ours.head[-1] == "seeds"
    assert "Paper" not in " ".join(ours.caption)
    without = replace(GRIDS["voc-partitions"], baseline="classmix")  # which the paper does not have there
    assert grid_table("voc-partitions", without, [], profile="tiny").head[-1] == "paper"


def test_quoted_methods_are_not_said_to_be_missing() -> None:
    text = markdown(grid_table("both-deeplabs", GRIDS["both-deeplabs"], [], profile="tiny"))
    assert ["CCT, PSPNet", "–", "–", "–", "–", "70.45 (4.80)", "−0.55"] in rows_of(text)
    assert "252 of 252 runs are missing" in text
    assert "In brackets: points below all labels." in text
    assert "methods without seeds are quoted there" in text


def test_a_wide_table_has_boundary_scores_before_the_papers_figures(result_of) -> None:
    scores = {"boundary_iou": 0.225, "boundary_f_score": 0.5}
    results = [result_of("reco-classmix", CITY, 0, 30.0, **scores), result_of("supervised", CITY, 0, 29.0)]
    table = grid_table(CITY, GRIDS[CITY], results, profile="tiny", wide=True)
    head, _, *rows = rows_of(markdown(table))
    assert head[4:] == ["seeds", "boundary IoU", "boundary F", "paper", "paper against baseline"]
    by_method = {row[0]: row[5:7] for row in rows}
    assert by_method["ReCo + ClassMix"] == ["22.5", "50.0"]
    assert by_method["Supervised"] == ["–", "–"]
    assert "Minutes" not in " ".join(table.caption)  # of another profile than the measured one


def test_a_wide_table_has_what_a_run_costs_where_that_was_measured() -> None:
    table = grid_table("key-sharing", GRIDS["key-sharing"], [], profile="small", wide=True)
    head, _, *rows = rows_of(markdown(table))
    assert head[4:9] == ["seeds", "boundary IoU", "boundary F", "minutes", "GB"]
    cost = measured_costs().rows["classmix"]
    mine = next(row[7:9] for row in rows if row[0] == "ClassMix")
    assert mine == [f"{cost.minutes:.0f}", f"{cost.gigabytes:.1f}"]
    assert {tuple(row[7:9]) for row in rows if row[0].startswith("keys")} == {("–", "–")}  # not measured
    assert "Minutes and peak memory" in " ".join(table.caption)
    narrow = grid_table("key-sharing", GRIDS["key-sharing"], [], profile="small")
    assert "minutes" not in narrow.head


def test_csv_has_a_line_for_each_pair_with_plain_numbers_and_nothing_where_there_is_none(table) -> None:
    rows = {row["row"]: row for row in csv.DictReader(StringIO(comma_separated(table)))}
    assert list(rows) == list(GRIDS["cityscapes-20"].rows)
    assert {row["grid"] for row in rows.values()} == {"cityscapes-20"}
    assert {row["profile"] for row in rows.values()} == {"tiny"}
    reco, missing = rows["reco-classmix"], rows["s4gan"]
    assert float(reco["mean_iou"]) == pytest.approx(28.5667, abs=1e-4)
    assert (float(reco["lowest"]), float(reco["highest"]), reco["seeds"]) == (28.0, 29.0, "0 1 2")
    assert (float(reco["difference"]), reco["baseline"], reco["best"]) == (1.2, "classmix", "yes")
    # 28.567 ± 4.3027 * 0.5132 / sqrt(3); differences of 1.1, 1.3 and 1.2 have an SD of 0.1
    assert (float(reco["interval_low"]), float(reco["interval_high"])) == pytest.approx(
        (27.292, 29.841), abs=1e-3
    )
    assert (float(reco["difference_low"]), float(reco["difference_high"])) == pytest.approx(
        (0.952, 1.448), abs=1e-3
    )
    assert (reco["paper_mean_iou"], reco["paper_range"], reco["paper_table"]) == ("49.86", "0.28", "Table 1")
    assert [missing[name] for name in ("mean_iou", "lowest", "highest", "difference", "best", "seeds")] == [
        ""
    ] * 6
    assert missing["missing_seeds"] == "0 1 2"
    assert rows["reco-supervised"]["paper_mean_iou"] == rows["reco-supervised"]["paper_table"] == ""


def test_latex_is_well_formed_and_escapes_what_latex_reads(result_of) -> None:
    results = [result_of("classmix", "voc-1%", seed, 40.0) for seed in range(3)]
    results += [result_of("cutmix", "voc-1%", seed, 39.0) for seed in range(3)]
    text = latex(grid_table("partial-labels", GRIDS["partial-labels"], results, profile="tiny"))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2  # one for each dataset
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:partial-labels-voc", "tab:partial-labels-cityscapes"]
    body = [line.strip() for line in text.splitlines() if line.strip().endswith(r"\\")]
    rows = [line for line in body if not line.startswith(r"\multicolumn")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {6}
    assert r"\multicolumn{7}{l}{Pascal VOC, 1\% of each class in every image} \\" in body
    assert r"ClassMix & \textbf{40.0} & 40.0--40.0 & baseline & 3 & 71.04 $\pm$ 0.18 & baseline \\" in body
    assert r"Supervised & not run & -- & -- & 0 of 3 & 66.17 $\pm$ 0.21 & $-$4.87 \\" in body
    assert not re.search(r"(?<!\\)[%_#]", text)
    assert text.isascii()


def test_latex_escapes_every_letter_that_means_something() -> None:
    assert in_latex("50% a_b & c") == r"50\% a\_b \& c"
    assert in_latex("\\{$}#") == r"\textbackslash{}\{\$\}\#"


@pytest.mark.parametrize("name", list(GRIDS))
def test_the_terminal_needs_no_more_than_80_columns(name, result_of) -> None:
    grid = replace(GRIDS[name], seeds=(0, 1, 2))
    results = [result_of(row, column, seed, 91.0 + seed) for row, column in grid.pairs for seed in (0, 1)]
    full = grid_table(name, grid, results, profile="tiny")
    console = Console(width=80, file=StringIO(), color_system=None)
    console.print(terminal(full))
    said = console.file.getvalue()
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said  # nothing was cut off
    for column in grid.columns:
        assert heading(column) in said
    assert said.count("91.5") == said.count("85.1–97.9") == len(grid.pairs)
    assert len(re.findall(r"\b2 of 3\b", said)) == len(grid.pairs)


def test_the_terminal_shows_the_best_in_bold(table) -> None:
    console = Console(width=80, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(terminal(table))
    said = console.file.getvalue()
    assert re.search(r"\x1b\[1m *28\.6", said)
    assert not re.search(r"\x1b\[1m *27\.4", said)


def test_a_grid_without_results_is_a_table_that_says_so() -> None:
    empty = grid_table("scenes", GRIDS["scenes"], [], profile="tiny")
    for write in FORMATS.values():
        assert write(empty)
    assert markdown(empty).count("not run") == 3
    assert "**" not in markdown(empty)


def test_results_of_another_profile_are_refused(result_of) -> None:
    with pytest.raises(UserError, match="profile paper has no place for results of tiny"):
        grid_table("scenes", GRIDS["scenes"], [result_of("classmix", "scenes-10", 0, 3.0)], profile="paper")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.24, "+1.2"), (-0.26, "−0.3"), (-0.04, "0.0"), (0.04, "0.0"), (0.0, "0.0"), (None, "–")],
)
def test_differences_have_signs_unless_they_round_to_nothing(value, text) -> None:
    assert signed(value, 1) == text


def test_words_are_listed_as_people_do() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.fixture
def results(result_of) -> list:
    curve = [[100, 0.1], [200, 0.3]]
    return [
        result_of(row, CITY, seed, percent + seed, curve=curve)
        for row, percent in (("supervised", 20.0), ("classmix", 30.0))
        for seed in (0, 1)
    ]


def test_a_panel_has_the_scores_the_papers_figures_and_the_baseline_of_its_block(results) -> None:
    table = grid_table("sampling", GRIDS["sampling"], results, profile="tiny")
    panel = panel_of("a title", table.block(CITY))
    assert panel.rows[0] == ChartRow("ClassMix", (pytest.approx(30.0), pytest.approx(31.0)), (45.61, 0.69))
    assert panel.rows[1] == ChartRow("random queries, random keys", (), (46.56, None))
    assert panel.baseline == 0
    assert panel.source == "paper, Table 1 and Table 4"


def test_where_every_method_is_there_with_reco_too_a_panel_has_pairs_the_best_first(result_of) -> None:
    percent = {"supervised": 50.0, "reco-supervised": 51.0, "vat": 53.0, "reco-vat": 52.0, "reco-dmt": 55.0}
    results = [result_of(row, "camvid-20", 0, score) for row, score in percent.items()]
    table = grid_table("methods", GRIDS["methods"], results, profile="tiny")
    block = table.block("camvid-20")
    panel = panel_of("a", block)
    shown = [(row.title, tuple(row.scores), row.with_reco) for row in panel.rows[:4]]
    assert shown[:3] == [
        ("DMT", (), (pytest.approx(55.0),)),
        ("VAT", (pytest.approx(53.0),), (pytest.approx(52.0),)),
        ("Supervised", (pytest.approx(50.0),), (pytest.approx(51.0),)),
    ]
    assert shown[3][1:] == ((), ())  # those that were not run come last
    assert panel.baseline == 2
    assert len(panel.rows) == 17
    assert not panel_of("a", [line for line in block if line.row != "reco-vat"]).has_pairs
    assert not panel_of("a", grid_table("mixes", GRIDS["mixes"], [], profile="tiny").block(CITY)).has_pairs


def test_the_chart_of_pairs_says_what_its_colours_mean(result_of, tmp_path) -> None:
    table = grid_table("leaders", GRIDS["leaders"], [], profile="tiny")
    draw_table(tmp_path / "a.svg", table)
    assert "grey alone" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_methods_that_the_paper_alone_has_are_not_drawn() -> None:
    table = grid_table("both-deeplabs", GRIDS["both-deeplabs"], [], profile="tiny")
    assert [row.title for row in panel_of("a", table.block("voc-all")).rows] == [
        "Supervised, DeepLabV2",
        "Supervised",
    ]


def test_the_chart_of_a_grid_names_its_profile_and_what_was_not_run(results, tmp_path) -> None:
    table = grid_table("cityscapes-20", GRIDS["cityscapes-20"], results, profile="tiny")
    draw_table(tmp_path / "a.svg", table)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "(profile tiny)" in text
    assert "Grid cityscapes-20, 1,200 iterations; mean IoU in per cent on val" in text
    assert text.count(">not run<") == 5
    assert ">20.5<" in text
    assert ">49.86<" in text


def test_learning_is_drawn_of_the_rows_that_have_curves_and_tells_their_seeds(results, tmp_path) -> None:
    grid = GRIDS["cityscapes-20"]
    table = grid_table("cityscapes-20", grid, results, profile="tiny")
    draw_learning(tmp_path / "a.svg", table, results)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">ClassMix (2 of 3 seeds)<" in text
    assert ">Supervised (2 of 3 seeds)<" in text
    assert ">ReCo + ClassMix" not in text  # it has no curve
    whole = grid_table("cityscapes-20", replace(grid, seeds=(0, 1)), results, profile="tiny")
    draw_learning(tmp_path / "b.svg", whole, results)
    assert ">ClassMix<" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_seeds_are_told_where_some_are_missing() -> None:
    assert seeds_of([3, 3], 3) == ""
    assert seeds_of([1, 1], 3) == " (1 of 3 seeds)"
    assert seeds_of([3, 0, 2], 3) == " (0 to 3 of 3 seeds)"


def test_learning_without_any_curve_is_an_error_in_one_line(tmp_path) -> None:
    table = grid_table("cityscapes-20", GRIDS["cityscapes-20"], [], profile="tiny")
    with pytest.raises(UserError, match="no run of grid cityscapes-20 has scores over iterations yet"):
        draw_learning(tmp_path / "a.svg", table, [])
    assert not list(tmp_path.iterdir())


@pytest.fixture
def both(result_of) -> GridTable:
    """All runs on CamVid; on Cityscapes Supervised whole, ClassMix with one seed, ReCo + ClassMix without."""
    scores = {
        ("supervised", "camvid-20"): (50.0, 52.0, 51.0),
        ("classmix", "camvid-20"): (53.0, 55.0, 54.0),
        ("reco-classmix", "camvid-20"): (55.0, 57.1, 55.9),
        ("supervised", CITY): (30.0, 31.0, 32.0),
        ("classmix", CITY): (33.0,),
    }
    results = [
        result_of(row, column, seed, percent)
        for (row, column), values in scores.items()
        for seed, percent in enumerate(values)
    ]
    return grid_table("twenty-labels", GRIDS["twenty-labels"], results, profile="tiny")


def test_side_by_side_a_method_has_one_line_and_the_paper_stands_beside_its_column(both) -> None:
    head, *rows = side_by_side(both, strong="best {}".format)
    assert head == ["method", "CamVid, 20 labelled images", "Cityscapes, 20 labelled images", "paper"]
    assert rows == [
        ["Supervised", "51.0 (48.5–53.5)", "31.0 (28.5–33.5)", "38.12 ± 0.08"],
        ["ClassMix", "54.0 (51.5–56.5)", "33.0, 1 of 3 seeds", "45.61 ± 0.69"],
        ["ReCo + ClassMix", "best 56.0 (53.4–58.6)", "not run", "49.86 ± 0.28"],
    ]


def test_side_by_side_every_budget_is_a_column_and_what_a_grid_has_not_is_a_dash(result_of) -> None:
    table = grid_table("full-labels", GRIDS["full-labels"], [], profile="tiny")
    head, *rows = side_by_side(table)
    assert head.count("paper") == len(GRIDS["full-labels"].columns)
    assert len(rows) == len({line.row or line.title for line in table.lines})
    by_method = {row[0]: dict(zip(head[1::2], row[1::2], strict=True)) for row in rows}
    assert by_method["S4GAN"]["Cityscapes, 20 labelled images"] == "not run"
    assert by_method["S4GAN"]["Cityscapes, all labels"] == "–"


def test_side_by_side_there_are_no_differences_to_explain(both) -> None:
    for text in (markdown_beside(both), latex_beside(both)):
        assert "Baseline" not in text
        assert "5 of 18 runs are missing" in text


def test_side_by_side_the_best_is_bold_in_each_format(both) -> None:
    assert "**56.0** (53.4–58.6) |" in markdown_beside(both)
    assert r"& \textbf{56.0} (53.4--58.6) & not run & 49.86 $\pm$ 0.28 \\" in latex_beside(both)
    assert latex_beside(both).count(r"\textbf") == 1


def test_side_by_side_two_datasets_fit_into_a_terminal(both) -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal_beside(both))
    text = console.export_text()
    assert "33.0, 1 of 3 seeds" in text
    assert "…" not in text
