"""The rows: each is what its title says, and a variant changes nothing but that."""

from __future__ import annotations

import pytest

from recoseg.config.load import flat, from_flat
from recoseg.experiments.plan.cells import cell_at
from recoseg.experiments.plan.grids import COLUMNS, DATASETS, GRIDS, METHODS, ROWS, VARIANTS
from recoseg.experiments.plan.profiles import Profile
from recoseg.splits.published import PARTITIONS


@pytest.mark.parametrize(
    ("row", "method", "mix", "contrast"),
    [
        ("supervised", "supervised", None, False),
        ("s4gan", "s4gan", None, False),
        ("cutout", "mean_teacher", "cutout", False),
        ("cutmix", "mean_teacher", "cutmix", False),
        ("classmix", "mean_teacher", "classmix", False),
        ("reco-supervised", "supervised", None, True),
        ("reco-cutout", "mean_teacher", "cutout", True),
        ("reco-cutmix", "mean_teacher", "cutmix", True),
        ("reco-classmix", "mean_teacher", "classmix", True),
    ],
)
def test_a_method_is_what_its_name_says_whatever_the_config_had(tmp_path, row, method, mix, contrast) -> None:
    for number, before in enumerate(("", "method: {name: mean_teacher, mix: none}\ncontrast: reco\n")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"data: scenes\n{before}")
        profile = Profile("own", {"scenes": str(path)})
        config = cell_at(profile, "scenes-10", row, 0, out=tmp_path, data={}, lists=None).config
        assert config.method.name == method
        assert getattr(config.method, "mix", None) == mix
        assert (config.contrast is not None) == contrast
    assert row in METHODS


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        ("queries-32", {"contrast.num_queries": 32}),
        ("queries-256", {}),
        ("keys-64", {"contrast.num_keys": 64}),
        ("keys-512", {}),
        ("unlabelled-2", {"split.unlabelled": "2%"}),
        ("random-random", {"contrast.queries": "pixels", "contrast.negatives": "pixels"}),
        ("active-random", {"contrast.negatives": "pixels"}),
        ("easy-active", {"contrast.queries": "easy"}),
        ("keys-shared", {}),
        ("keys-per-query", {"contrast.keys": "per_query"}),
        ("teacher-batch", {"method.teacher_norm": "batch"}),
        ("teacher-average", {}),
    ],
)
def test_a_variant_changes_one_thing_of_reco_with_classmix(row, changed) -> None:
    plain = flat(from_flat(METHODS["reco-classmix"].settings))
    varied = flat(from_flat({**VARIANTS[row].settings, **VARIANTS[row].changes}))
    assert varied == {**plain, **changed}
    assert VARIANTS[row].title != METHODS["reco-classmix"].title


def test_titles_tell_rows_apart() -> None:
    titles = [row.title for row in ROWS.values()]
    assert len(set(titles)) == len(titles)


def test_every_partition_of_the_paper_is_a_column_of_its_dataset() -> None:
    for name in PARTITIONS:
        column = COLUMNS[name]
        assert column.settings == {"split.partition": name}
        assert name.startswith(f"{column.dataset}-")
        assert column.subset == "val"


def test_published_lists_and_all_labels_are_not_drawn() -> None:
    lists = {name for name, column in COLUMNS.items() if column.published_list}
    assert lists == {"voc-92", "voc-183", "voc-366", "voc-732"}
    fixed = {name for name, column in COLUMNS.items() if not column.seeded}
    assert fixed == lists | {"voc-all", "cityscapes-all", "sun-all", "camvid-all"}


def test_pixels_are_a_number_or_a_share() -> None:
    assert COLUMNS["voc-1-pixel"].settings == {"split.pixels": "1"}
    assert COLUMNS["cityscapes-25%"].settings == {"split.pixels": "25%"}
    assert COLUMNS["cityscapes-1-pixel"].title == "1 pixel of each class in every image"


def test_camvid_is_scored_on_its_test_images_and_every_dataset_has_a_title() -> None:
    assert {name for name, column in COLUMNS.items() if column.subset == "test"} == {
        "camvid-20",
        "camvid-all",
    }
    assert {column.dataset for column in COLUMNS.values()} == set(DATASETS)


@pytest.mark.parametrize(
    ("name", "rows", "columns", "runs"),
    [
        ("full-labels", 7, 12, 180),  # 3 datasets x (3 budgets x 6 methods + all labels x 2) x 3 seeds
        ("cityscapes-20", 7, 1, 21),
        ("camvid-20", 3, 1, 9),
        ("twenty-labels", 3, 2, 18),
        ("ceiling", 1, 2, 2),
        ("voc-partitions", 9, 4, 108),
        ("partial-labels", 4, 8, 96),
        ("both-deeplabs", 12, 10, 252),  # 8 partitions x 2 networks, all labels of 2 datasets x 2 networks
        ("queries", 5, 1, 15),
        ("keys", 5, 1, 15),
        ("unlabelled-share", 5, 1, 15),
        ("mixes", 6, 1, 18),
        ("sampling", 5, 2, 30),
        ("key-sharing", 3, 2, 18),
        ("graph-temperature", 3, 2, 18),
        ("class-weights", 6, 2, 36),
        ("feature-bank", 4, 2, 24),
        ("teacher-norm", 3, 1, 9),
        ("methods", 34, 1, 102),
        ("leaders", 10, 2, 60),
        ("scenes", 3, 1, 9),
    ],
)
def test_a_grid_has_so_many_rows_columns_and_runs(name, rows, columns, runs) -> None:
    grid = GRIDS[name]
    assert (len(grid.rows), len(grid.columns)) == (rows, columns)
    assert len(grid.pairs) * len(grid.seeds) == runs
    assert len(set(grid.pairs)) == len(grid.pairs)


def test_all_grids_are_counted_above() -> None:
    assert len(GRIDS) == 21


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_names_rows_and_columns_that_exist_and_has_its_baseline_in_every_table_that_compares(
    name,
) -> None:
    grid = GRIDS[name]
    assert set(grid.rows) <= set(ROWS)
    assert set(grid.columns) <= set(COLUMNS)
    assert grid.baseline in grid.rows


def test_full_labels_has_the_papers_budgets_and_methods() -> None:
    pairs = set(GRIDS["full-labels"].pairs)
    few = {"supervised", "s4gan", "cutout", "cutmix", "classmix", "reco-classmix"}
    budgets = {"voc": (60, 200, 600), "cityscapes": (20, 50, 150), "sun": (50, 150, 500)}
    expected = {(row, f"{name}-{labels}") for name, many in budgets.items() for labels in many for row in few}
    expected |= {(row, f"{name}-all") for name in budgets for row in ("supervised", "reco-supervised")}
    assert pairs == expected


def test_every_row_and_column_is_in_some_grid() -> None:
    pairs = [pair for grid in GRIDS.values() for pair in grid.pairs]
    assert {row for row, _ in pairs} == set(ROWS)
    assert {column for _, column in pairs} == set(COLUMNS)
