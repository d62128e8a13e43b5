"""The columns: which labels each lets a run see, and which images are scored."""

from __future__ import annotations

from recoseg.experiments.columns import COLUMNS, DATASETS
from recoseg.splits.partitions import PARTITIONS


def test_every_partition_of_the_paper_is_a_column_of_its_dataset() -> None:
    for name in PARTITIONS:
        column = COLUMNS[name]
        assert column.settings == ("--split.partition", name)
        assert name.startswith(f"{column.dataset}-")
        assert column.subset == "val"


def test_published_lists_and_all_labels_are_not_drawn() -> None:
    lists = {name for name, column in COLUMNS.items() if column.published_list}
    assert lists == {"voc-92", "voc-183", "voc-366", "voc-732"}
    fixed = {name for name, column in COLUMNS.items() if not column.seeded}
    assert fixed == lists | {"voc-all", "cityscapes-all", "sun-all", "camvid-all"}


def test_pixels_are_a_number_or_a_share() -> None:
    assert COLUMNS["voc-1-pixel"].settings == ("--split.pixels", "1")
    assert COLUMNS["cityscapes-25%"].settings == ("--split.pixels", "25%")
    assert COLUMNS["cityscapes-1-pixel"].title == "1 pixel of each class in every image"


def test_camvid_is_scored_on_its_test_images_and_every_dataset_has_a_title() -> None:
    assert {name for name, column in COLUMNS.items() if column.subset == "test"} == {
        "camvid-20",
        "camvid-all",
    }
    assert {column.dataset for column in COLUMNS.values()} == set(DATASETS)
