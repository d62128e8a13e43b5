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
from recoseg.experiments.tables.grid_table import GridTable, grid_table, heading, signed
from recoseg.experiments.tables.results import measured_costs
from recoseg.tables import comma_separated, latex, markdown, terminal

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
    head, rule, *rows = rows_of(markdown(table.tables()))
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
    partial = grid_table("partial-labels", GRIDS["partial-labels"], [], profile="tiny")
    text = markdown(partial.tables(), caption=partial.caption(), title="### %s")
    assert (
        re.findall("^### (.*)$", text, flags=re.MULTILINE)[4]
        == "Cityscapes, 1 pixel of each class in every image"
    )
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(line) for line in block.splitlines()}) == 1
        assert len({line.count("|") for line in block.splitlines()}) == 1
        assert text[text.index(block) - 2 : text.index(block)] == "\n\n"  # or it would not be a table
    assert text.count("### ") == 8


def test_the_caption_names_grid_profile_images_iterations_baseline_and_table(table) -> None:
    caption = table.caption()
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


def test_captions_say_what_differs_between_columns(result_of) -> None:
    results = [
        result_of("supervised", "cityscapes-all", 0, 50.0, iterations=1000),
        result_of("supervised", "camvid-all", 0, 60.0, iterations=2000),
    ]
    ceiling = grid_table("ceiling", GRIDS["ceiling"], results, profile="tiny")
    caption = ceiling.caption()
    assert "1,000 and 2,000 iterations" in caption
    assert "on val of Cityscapes and test of CamVid" in caption
    assert "seed 0 alone; the highest is bold. Baseline: Supervised. " in caption
    assert "missing" not in caption
    all_labels = grid_table("full-labels", GRIDS["full-labels"], [], profile="tiny")
    assert "Baseline: ClassMix or Supervised;" in all_labels.caption()
    assert "iterations" not in all_labels.caption()  # nobody knows yet


def test_iterations_are_of_the_runs_in_the_table_alone(result_of) -> None:
    results = [
        result_of("classmix", CITY, 0, 30.0, iterations=10),
        result_of("classmix", CITY, 9, 30.0, iterations=20),  # a seed that nobody asked for
        result_of("classmix", "voc-60", 0, 30.0, iterations=30),  # a column of another grid
    ]
    assert grid_table("cityscapes-20", GRIDS["cityscapes-20"], results, profile="tiny").iterations == (10,)


def test_what_the_paper_does_not_have_takes_no_columns(result_of) -> None:
    ours = grid_table("camvid-20", GRIDS["camvid-20"], [], profile="tiny")
    assert ours.tables()[0].head[-1] == "seeds"
    assert "Paper" not in ours.caption()
    without = replace(GRIDS["voc-partitions"], baseline="classmix")  # which the paper does not have there
    assert grid_table("voc-partitions", without, [], profile="tiny").tables()[0].head[-1] == "paper"


def test_quoted_methods_are_not_said_to_be_missing() -> None:
    table = grid_table("both-deeplabs", GRIDS["both-deeplabs"], [], profile="tiny")
    text = markdown(table.tables(), caption=table.caption())
    assert ["CCT, PSPNet", "–", "–", "–", "–", "70.45 (4.80)", "−0.55"] in rows_of(text)
    assert "252 of 252 runs are missing" in text
    assert "In brackets: points below all labels." in text
    assert "methods without seeds are quoted there" in text


def test_a_wide_table_has_boundary_scores_before_the_papers_figures(result_of) -> None:
    scores = {"boundary_iou": 0.225, "boundary_f_score": 0.5}
    results = [result_of("reco-classmix", CITY, 0, 30.0, **scores), result_of("supervised", CITY, 0, 29.0)]
    table = grid_table(CITY, GRIDS[CITY], results, profile="tiny", wide=True)
    head, _, *rows = rows_of(markdown(table.tables()))
    assert head[4:] == ["seeds", "boundary IoU", "boundary F", "paper", "paper against baseline"]
    by_method = {row[0]: row[5:7] for row in rows}
    assert by_method["ReCo + ClassMix"] == ["22.5", "50.0"]
    assert by_method["Supervised"] == ["–", "–"]
    assert "Minutes" not in table.caption()  # of another profile than the measured one


def test_a_wide_table_has_what_a_run_costs_where_that_was_measured() -> None:
    table = grid_table("key-sharing", GRIDS["key-sharing"], [], profile="small", wide=True)
    head, _, *rows = rows_of(markdown(table.tables()))
    assert head[4:9] == ["seeds", "boundary IoU", "boundary F", "minutes", "GB"]
    cost = measured_costs().rows["classmix"]
    mine = next(row[7:9] for row in rows if row[0] == "ClassMix")
    assert mine == [f"{cost.minutes:.0f}", f"{cost.gigabytes:.1f}"]
    assert {tuple(row[7:9]) for row in rows if row[0].startswith("keys")} == {("–", "–")}  # not measured
    assert "Minutes and peak memory" in table.caption()
    narrow = grid_table("key-sharing", GRIDS["key-sharing"], [], profile="small")
    assert "minutes" not in narrow.tables()[0].head


def test_csv_has_a_line_for_each_pair_with_plain_numbers_and_nothing_where_there_is_none(table) -> None:
    rows = {row["row"]: row for row in csv.DictReader(StringIO(comma_separated(table.records())))}
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
    table = grid_table("partial-labels", GRIDS["partial-labels"], results, profile="tiny")
    text = latex(table.tables(), caption=table.caption())
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


@pytest.mark.parametrize("name", list(GRIDS))
def test_the_terminal_needs_no_more_than_80_columns(name, result_of) -> None:
    grid = replace(GRIDS[name], seeds=(0, 1, 2))
    results = [result_of(row, column, seed, 91.0 + seed) for row, column in grid.pairs for seed in (0, 1)]
    full = grid_table(name, grid, results, profile="tiny")
    console = Console(width=80, file=StringIO(), color_system=None)
    console.print(terminal(*full.tables(), caption=full.caption()))
    said = console.file.getvalue()
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said  # nothing was cut off
    for column in grid.columns:
        assert heading(column) in said
    assert said.count("91.5") == said.count("85.1–97.9") == len(grid.pairs)
    assert len(re.findall(r"\b2 of 3\b", said)) == len(grid.pairs)


def test_a_grid_without_results_is_a_table_that_says_so() -> None:
    empty = grid_table("scenes", GRIDS["scenes"], [], profile="tiny")
    assert markdown(empty.tables()).count("not run") == 3
    assert "**" not in markdown(empty.tables())
    assert comma_separated(empty.records()).count("\n") == 4


def test_results_of_another_profile_are_refused(result_of) -> None:
    with pytest.raises(UserError, match="profile paper has no place for results of tiny"):
        grid_table("scenes", GRIDS["scenes"], [result_of("classmix", "scenes-10", 0, 3.0)], profile="paper")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.24, "+1.2"), (-0.26, "−0.3"), (-0.04, "0.0"), (0.04, "0.0"), (0.0, "0.0"), (None, "–")],
)
def test_differences_have_signs_unless_they_round_to_nothing(value, text) -> None:
    assert signed(value, 1) == text


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
    table = both.side_by_side()
    head, rows = table.head, table.rows
    assert head == ["method", "CamVid, 20 labelled images", "Cityscapes, 20 labelled images", "paper"]
    assert rows == [
        ["Supervised", "51.0 (48.5–53.5)", "31.0 (28.5–33.5)", "38.12 ± 0.08"],
        ["ClassMix", "54.0 (51.5–56.5)", "33.0, 1 of 3 seeds", "45.61 ± 0.69"],
        ["ReCo + ClassMix", "56.0 (53.4–58.6)", "not run", "49.86 ± 0.28"],
    ]
    assert table.bold == [(2, 1)]


def test_side_by_side_every_budget_is_a_column_and_what_a_grid_has_not_is_a_dash(result_of) -> None:
    table = grid_table("full-labels", GRIDS["full-labels"], [], profile="tiny")
    head, rows = table.side_by_side().head, table.side_by_side().rows
    assert head.count("paper") == len(GRIDS["full-labels"].columns)
    assert len(rows) == len({line.row or line.title for line in table.lines})
    by_method = {row[0]: dict(zip(head[1::2], row[1::2], strict=True)) for row in rows}
    assert by_method["S4GAN"]["Cityscapes, 20 labelled images"] == "not run"
    assert by_method["S4GAN"]["Cityscapes, all labels"] == "–"


def test_side_by_side_there_are_no_differences_to_explain(both) -> None:
    assert "Baseline" not in both.caption(beside=True)
    assert "5 of 18 runs are missing" in both.caption(beside=True)


def test_side_by_side_the_best_is_bold_in_each_format(both) -> None:
    assert "**56.0** (53.4–58.6) |" in markdown([both.side_by_side()])
    assert r"& \textbf{56.0} (53.4--58.6) & not run & 49.86 $\pm$ 0.28 \\" in latex([both.side_by_side()])
    assert latex([both.side_by_side()]).count(r"\textbf") == 1


def test_side_by_side_two_datasets_fit_into_a_terminal(both) -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal(both.side_by_side()))
    text = console.export_text()
    assert "33.0, 1 of 3 seeds" in text
    assert "…" not in text
