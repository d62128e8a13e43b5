"""Rows compared seed by seed."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from recoseg.errors import UserError
from recoseg.experiments.tables.comparison import Comparison, compare_rows, legend, tables_of
from recoseg.tables import terminal

COLUMN = "camvid-20"
PAIR = ("classmix", "reco-classmix")


@pytest.fixture
def arms(result_of):
    """Differences 1, 2 and 3."""
    scores = {"classmix": (50.0, 52.0, 51.0), "reco-classmix": (51.0, 54.0, 54.0)}
    return [
        result_of(row, COLUMN, seed, score, machine="AMD, 1 thread")
        for row, values in scores.items()
        for seed, score in enumerate(values)
    ]


def test_a_comparison_is_that_of_the_pairs(arms) -> None:
    (found,), notes = compare_rows(arms[::-1], [PAIR])
    assert notes == []
    assert [first.seed for first, _ in found.runs] == [0, 1, 2]
    assert (found.difference.mean, found.difference.spread) == pytest.approx((2.0, 1.0))
    (table,) = tables_of([found], size=1.0)
    first, second = table.rows
    line = dict(zip(table.head, second, strict=True))
    assert first[:4] == ["ClassMix", "3", "51.0", "1.0"]
    assert (line["mean"], line["SD"], line["diff."], line["SD diff"]) == ("53.0", "1.7", "+2.0", "1.0")
    assert line["95% interval"] == "−0.5, +4.5"
    assert (line["p t"], line["p flip"], line["p Holm"]) == (".074", ".250", ".074")
    assert line["more seeds"] == "7"  # 10 for an effect of one SD


def test_a_difference_is_bold_only_where_its_interval_excludes_0(arms, result_of) -> None:
    better = [result_of("cutmix", COLUMN, seed, score) for seed, score in enumerate((60.0, 62.0, 60.9))]
    found, _ = compare_rows([*arms, *better], [PAIR, ("classmix", "cutmix")])
    (table,) = tables_of(found, size=1.0)
    assert [row[4] for row in table.rows[1:]] == ["+2.0", "+10.0"]
    assert table.bold == [(2, 4)]


def test_holms_correction_is_over_all_columns(arms, result_of) -> None:
    other = [result_of(one.row, "cityscapes-20", one.seed, 100 * one.mean_iou) for one in arms]
    found, _ = compare_rows([*arms, *other], [PAIR])
    tables = tables_of(found, size=1.0)
    assert [table.title.partition(",")[0] for table in tables] == ["CamVid", "Cityscapes"]
    assert [table.rows[1][-2] for table in tables] == [".148"] * 2
    assert "corrected for 2 comparisons" in legend(2, 1.0)


def test_seeds_without_a_partner_are_left_out_and_named(arms, result_of) -> None:
    alone = [result_of("classmix", COLUMN, seed, 99.0, machine="AMD, 1 thread") for seed in (7, 4)]
    (found,), (note,) = compare_rows([*arms, *alone], [PAIR])
    assert len(found.runs) == 3
    assert "left out" in note
    assert note.endswith("seed 4 and 7")


@pytest.mark.parametrize(("kept", "number"), [(1, "1 pair"), (0, "0 pairs")])
def test_fewer_than_two_pairs_are_not_compared(arms, kept, number) -> None:
    found, notes = compare_rows(
        [*arms[:3], *arms[3 : 3 + kept]][: 3 + kept] if kept else [*arms[:2], arms[5]], [PAIR]
    )
    assert found == []
    assert f"not compared, {number} of seeds" in notes[0]


def test_arms_of_other_machines_or_threads_are_named(arms, result_of) -> None:
    other = result_of("reco-classmix", COLUMN, 1, 54.0, machine="AMD, 2 threads")
    unknown = result_of("reco-classmix", COLUMN, 2, 54.0, machine="")
    (found,), (note,) = compare_rows([*arms[:4], other, unknown], [PAIR])
    assert len(found.runs) == 3
    assert "machine and number of threads (AMD, 1 thread, AMD, 2 threads and an unknown one)" in note
    assert note.endswith("seed 1 and 2")


def test_scores_on_other_data_are_refused(arms, result_of) -> None:
    with pytest.raises(UserError, match="other data"):
        compare_rows([*arms, result_of("cutmix", COLUMN, 0, 50.0, pixels=5)], [PAIR])


def test_a_terminal_of_80_columns_is_enough_for_the_longest_names(result_of) -> None:
    scores = {
        "supervised": (9.0, 50.0, 99.0),
        "reco-mean-teacher": (99.0, 3.0, 7.0),
        "keys-per-query": (1.0, 2.0, 3.0),
    }
    results = [
        result_of(row, COLUMN, seed, score)
        for row, values in scores.items()
        for seed, score in enumerate(values)
    ]
    found, _ = compare_rows(results, [("supervised", row) for row in scores if row != "supervised"])
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal(*tables_of(found, size=0.01)))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert isinstance(found[0], Comparison)
