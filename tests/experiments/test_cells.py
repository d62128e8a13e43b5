"""Cells: folders, commands, and rows that share a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from recoseg.errors import UserError
from recoseg.experiments.cells import Cell, cell_at, cells_of
from recoseg.experiments.grids import GRIDS
from recoseg.experiments.profiles import load_profile


@pytest.fixture
def cell():
    def at(row: str, column: str = "cityscapes-20", **more) -> Cell:
        settings = {"out": Path("runs"), "data": {"cityscapes": "/data/cs"}, "lists": None, **more}
        return cell_at(load_profile("paper"), column, row, 3, **settings)

    return at


def test_a_cell_has_a_folder_a_log_and_commands(cell) -> None:
    one = cell("classmix")
    assert one.name == "cityscapes-20/classmix/seed-3"
    assert one.folder == Path("runs/paper/cityscapes-20/classmix/seed-3")
    assert one.log == Path("runs/paper/cityscapes-20/classmix/seed-3.log")
    begin, data = one.begin(), ["--data.root", "/data/cs"]
    assert begin[:3] == ["train", "--config", str(one.config)]
    assert begin[-5:] == [*data, "--no-page", "--out", str(one.folder)]
    assert one.go_on() == ["train", "--resume", str(one.folder), *data, "--no-page"]
    scores = f"{one.folder}/scores.json"
    assert one.score() == ["evaluate", str(one.folder), "--subset", "val", *data, "--out", scores, "--force"]


@pytest.mark.parametrize(
    ("row", "owner"),
    [
        ("queries-256", "reco-classmix"),
        ("keys-512", "reco-classmix"),
        ("keys-per-query", "reco-classmix"),
        ("teacher-average", "reco-classmix"),
        ("queries-128", "queries-128"),
        ("keys-shared", "keys-shared"),
        ("reco-classmix-v2", "reco-classmix-v2"),
        ("supervised-v2", "supervised-v2"),
    ],
)
def test_equal_settings_share_one_folder(cell, row, owner) -> None:
    one = cell(row)
    assert (one.row, one.owner) == (row, owner)
    assert one.folder.parent.name == owner
    assert one.settings() == cell(owner).settings()


def test_who_owns_a_run_depends_on_the_profile() -> None:
    """In profile small ReCo has shared keys."""
    small = load_profile("small")
    for row, owner in (("keys-shared", "reco-classmix"), ("keys-per-query", "keys-per-query")):
        one = cell_at(small, "cityscapes-20", row, 0, out=Path("runs"), data={}, lists=None)
        assert one.owner == owner


def test_cells_come_seed_by_seed() -> None:
    cells = cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(4, 2), out=Path("runs"))
    rows = ("supervised", "classmix", "reco-classmix")
    assert [(one.seed, one.row) for one in cells] == [(seed, row) for seed in (4, 2) for row in rows]


def test_a_dataset_that_the_profile_lacks_is_named_with_the_columns_that_are_left() -> None:
    small = load_profile("small")
    left = "--only cityscapes-1-pixel cityscapes-1% cityscapes-5% cityscapes-25%"
    with pytest.raises(
        UserError, match=rf"small has no voc, .* use --profile paper; or leave it out: {left}$"
    ):
        cells_of(GRIDS["partial-labels"], small, seeds=[0], out=Path("runs"))
    with pytest.raises(UserError, match=r"small has no voc, .* use --profile paper$"):  # nothing is left
        cells_of(GRIDS["voc-partitions"], small, seeds=[0], out=Path("runs"))


def test_a_published_list_is_named_after_its_column(cell) -> None:
    one = cell("cutmix", "voc-92", lists=Path("/lists"))
    assert one.words[-2:] == ("--split.labelled_list", "/lists/voc-92.txt")
    assert one.settings() == cell("cutmix", "voc-92").settings()  # wherever it lies
