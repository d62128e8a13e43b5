"""Cells: folders, commands, and rows that share a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from recoseg.config.load import flat, from_plain, load, to_yaml
from recoseg.config.setting import fields, parts
from recoseg.config.settings import RunConfig
from recoseg.config.split_settings import SplitSettings
from recoseg.errors import UserError
from recoseg.experiments.plan.cells import FILES, Cell, cell_at, cells_of, differing, portable
from recoseg.experiments.plan.grids import COLUMNS, GRIDS, Grid
from recoseg.experiments.plan.profiles import Profile, load_profile, shipped


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
    data = ["--data.root", "/data/cs"]
    config = "runs/paper/cityscapes-20/classmix/seed-3.yaml"
    assert one.begin() == ["train", "--config", config, "--no-page", "--out", str(one.folder)]
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
    assert one.settings == cell(owner).settings


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
    assert one.config.split.labelled_list == "/lists/voc-92.txt"
    assert one.settings == cell("cutmix", "voc-92").settings  # wherever it lies


def paper_cell(
    row: str, column: str = "cityscapes-20", *, profile: str = "paper", seed: int = 0, **more
) -> Cell:
    return cell_at(
        load_profile(profile), column, row, seed, out=Path("runs"), data=more.get("data", {}), lists=None
    )


def changed(one: Cell, other: Cell) -> dict[str, object]:
    """Settings of the second that the first has otherwise."""
    before, after = one.settings, other.settings
    return {name: after.get(name) for name in differing(before, after)}


@pytest.mark.parametrize("profile", shipped())
@pytest.mark.parametrize("name", GRIDS)
def test_every_run_of_every_grid_loads_where_the_profile_has_its_dataset(name, profile) -> None:
    loaded, grid = load_profile(profile), GRIDS[name]
    pairs = tuple(pair for pair in grid.pairs if COLUMNS[pair[1]].dataset in loaded.configs)
    cells = cells_of(
        Grid("", pairs, None),
        loaded,
        seeds=grid.seeds,
        out=Path("runs"),
        data=dict.fromkeys(loaded.configs, "."),
    )
    assert len(cells) == len(pairs) * len(grid.seeds)
    for one in cells[: len(pairs)]:
        if COLUMNS[one.column].dataset != "scenes":
            assert from_plain(yaml.safe_load(to_yaml(one.config))) == one.config  # as `recoseg train` will
            assert one.config.train.seed == one.seed
    places = {(one.folder, str(one.settings)) for one in cells}
    folders, settings = ({place[number] for place in places} for number in (0, 1))
    assert len(places) == len(folders)  # whoever shares a folder has the same settings
    assert len(places) == len(settings)  # and the reverse


def test_profile_paper_has_pairs_of_all_grids_but_camvid_and_scenes() -> None:
    paper = load_profile("paper")
    both = {"ceiling", "leaders", "key-sharing", "graph-temperature", "class-weights", "twenty-labels"}
    both |= {"feature-bank", "sampling"}
    for name, grid in GRIDS.items():
        has = {COLUMNS[column].dataset in paper.configs for column in grid.columns}
        assert has == (
            {False}
            if name in ("camvid-20", "methods", "scenes")
            else {True, False}
            if name in both
            else {True}
        )


def test_a_supervised_step_of_the_paper_takes_twice_the_labelled_crops() -> None:
    for dataset, crops in (("cityscapes", 2), ("voc", 10), ("sun", 5)):
        column = f"{dataset}-all"
        for row in ("supervised", "reco-supervised"):
            assert paper_cell(row, column).settings["train.labelled_per_step"] == 2 * crops
        assert paper_cell("classmix", column).settings["train.labelled_per_step"] == crops


@pytest.mark.parametrize(
    ("row", "differences"),
    [
        ("queries-32", {"contrast.num_queries": 32}),
        ("keys-64", {"contrast.num_keys": 64}),
        ("unlabelled-2", {"split.unlabelled": "2%"}),
        ("easy-active", {"contrast.queries": "easy"}),
        ("teacher-batch", {"method.teacher_norm": "batch"}),
        ("reco-classmix-weighted", {"train.class_weights": "root"}),
        ("queries-256", {}),
    ],
)
def test_a_variant_changes_nothing_else(row, differences) -> None:
    assert changed(paper_cell("reco-classmix"), paper_cell(row)) == differences


def test_the_contrast_is_all_that_reco_adds() -> None:
    plain, reco = paper_cell("classmix").settings, paper_cell("reco-classmix").settings
    assert {name.partition(".")[0] for name in differing(plain, reco)} == {"contrast"}


def test_another_deeplab_keeps_the_encoder_and_its_weights() -> None:
    for row in ("supervised", "reco-classmix"):
        before, after = paper_cell(row, "voc-100").settings, paper_cell(f"{row}-v2", "voc-100").settings
        assert after["model.name"] == "deeplab_v2"
        assert (after["model.encoder"], after["model.pretrained"]) == ("resnet101", "imagenet")
        assert after["model.output_stride"] == 8  # its own
        assert all(name.startswith("model.") for name in differing(before, after))


def test_another_deeplab_in_place_of_some_other_network_is_refused(tmp_path) -> None:
    (tmp_path / "own.yaml").write_text("data: pascal_voc\nmodel: {name: factory, factory: 'a:b'}\n")
    profile = Profile("own", {"voc": str(tmp_path / "own.yaml")})
    with pytest.raises(UserError, match="deeplab_v2 in place of factory"):
        cell_at(profile, "voc-100", "supervised-v2", 0, out=Path("runs"), data={}, lists=None)


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("cityscapes-20", {"split.seed", "train.seed"}),
        ("cityscapes-5%", {"split.seed", "train.seed"}),
        ("cityscapes-all", {"train.seed"}),
        ("voc-92", {"train.seed"}),
    ],
)
def test_a_seed_changes_the_draw_of_labels_and_the_training_and_nothing_else(column, names) -> None:
    first, other = paper_cell("classmix", column), paper_cell("classmix", column, seed=7)
    assert changed(first, other) == dict.fromkeys(names, 7)


def test_a_column_is_all_that_says_which_labels_are_seen(tmp_path) -> None:
    (tmp_path / "own.yaml").write_text(
        "data: {name: folder}\nsplit: {labels: 4, random: true, seed: 9}\nmodel: {name: deeplab_v2}\n"
    )
    profile = Profile("own", {"cityscapes": str(tmp_path / "own.yaml")})
    usual = {f"split.{field.name}": getattr(SplitSettings(), field.name) for field in fields(SplitSettings)}
    for column, given in (
        ("cityscapes-all", {}),
        ("cityscapes-20", {"split.partition": "cityscapes-20"}),
        ("cityscapes-1-pixel", {"split.pixels": "1"}),
    ):
        one = cell_at(profile, column, "supervised", 0, out=Path("runs"), data={}, lists=None)
        has = {name: value for name, value in one.settings.items() if name.startswith("split.")}
        assert has == {**usual, **given}


def test_a_profile_adds_settings_to_its_methods_and_a_row_has_the_last_word(tmp_path) -> None:
    (tmp_path / "own.yaml").write_text("data: scenes\n")
    profile = Profile(
        "own",
        {"scenes": str(tmp_path / "own.yaml")},
        methods={"supervised": {"method.average": 0.9}, "mean_teacher": {"method.decay": 0.5}},
        contrast={"contrast.keys": "shared", "contrast.num_queries": 7},
    )

    def settings(row: str):
        return cell_at(profile, "scenes-10", row, 0, out=Path("runs"), data={}, lists=None).settings

    assert settings("supervised")["method.average"] == 0.9
    assert settings("classmix")["method.decay"] == 0.5
    assert settings("reco-classmix")["contrast.num_queries"] == 7
    assert settings("reco-supervised")["contrast.keys"] == "shared"
    assert settings("keys-per-query")["contrast.keys"] == "per_query"


def test_files_are_compared_by_name_and_all_settings_of_files_are_known(tmp_path) -> None:
    (tmp_path / "net.pth").touch()
    config = load(None, ["--model.pretrained", str(tmp_path / "net.pth"), "--split.labels", "3"])
    assert flat(config)["model.pretrained"] == str(tmp_path / "net.pth")
    assert portable(config)["model.pretrained"] == "net.pth"
    assert "data.root" not in portable(load(None, ["--data", str(tmp_path)]))
    found = set()
    for section in fields(RunConfig):
        for kind in parts(section.type).sections.values():
            paths = [field for field in fields(kind) if parts(field.type).extra.get("is_path")]
            found |= {f"{section.name}.{field.name}" for field in paths}
    assert found == FILES | {"data.root"}


def test_a_measured_bit_depth_is_no_other_setting() -> None:
    assert differing({"data.bit_depth": 12}, {"data.bit_depth": None, "train.seed": 0}) == ("train.seed",)
    assert differing({"data.bit_depth": 12}, {"data.bit_depth": 16}) == ("data.bit_depth",)
