"""Profiles: shipped ones, one's own, and every mistake in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recoseg.config import load
from recoseg.errors import UserError
from recoseg.experiments.plan.cells import cell_at, comparable, differing
from recoseg.experiments.plan.grids import METHODS
from recoseg.experiments.plan.profiles import load_profile, shipped


@pytest.fixture
def own(tmp_path, monkeypatch):
    """`own("configs: ...")` writes mine.yaml in the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "mine.yaml") -> str:
        (tmp_path / name).write_text(text)
        return name

    return write


def test_shipped_profiles_are_found_by_name_and_every_config_of_theirs_is_there() -> None:
    assert {"paper", "small", "tiny"} <= set(shipped())
    for name in shipped():
        profile = load_profile(name)
        assert profile.name == name
        for dataset in profile.configs:
            assert profile.config(dataset).is_file(), (name, dataset)


@pytest.mark.parametrize(("name", "decay"), [("paper", 0.99), ("small", 0.983), ("tiny", 0.9)])
def test_all_rows_that_use_unlabelled_images_are_scored_by_the_same_average(name, decay) -> None:
    profile = load_profile(name)
    column = {"paper": "voc-60", "small": "cityscapes-20", "tiny": "scenes-10"}[name]
    for row in METHODS:
        cell = cell_at(profile, column, row, 0, out=Path("runs"), data={}, lists=None)
        settings = cell.settings
        if (name, METHODS[row].method) == ("paper", "unimatch_v2"):
            assert settings["method.decay"] == 0.996  # the authors': this average labels, too
        elif METHODS[row].method != "supervised":
            assert settings.get("method.decay", settings.get("method.average")) == decay, row


ROWS = {"reco-classmix": None, "classmix": "for ClassMix alone", "supervised": "for supervised"}
"""A row -> what stands before its settings in the head of a config of the paper."""


@pytest.mark.parametrize(
    ("config", "column"), [("pascal_voc", "voc-60"), ("cityscapes", "cityscapes-20"), ("sun_rgbd", "sun-50")]
)
def test_profile_paper_equals_the_configs_of_the_paper(config, column) -> None:
    profile = load_profile("paper")
    head = profile.config(column.partition("-")[0]).read_text()
    for row, label in ROWS.items():
        words = re.search(rf"{label}: +(.*)", head)[1].split() if label else []
        settings = comparable(load(config, ["--data.root=.", *words]))
        cell = cell_at(profile, column, row, 0, out=Path("runs"), data={}, lists=None)
        assert differing(settings, cell.settings) == (), row
    cell = cell_at(profile, column, "reco-classmix", 0, out=Path("runs"), data={}, lists=None)
    assert (cell.settings["method.supervised_start"], cell.settings["method.ramp"]) == (0, 0)
    assert (cell.settings["contrast.keys"], cell.settings["contrast.ramp"]) == ("per_query", 0)


def test_the_original_mean_teacher_has_a_ramp_of_its_own_where_mixes_have_none() -> None:
    ramps = {}
    for row in ("mean-teacher", "reco-mean-teacher", "classmix"):
        cell = cell_at(load_profile("paper"), "voc-92", row, 0, out=Path("runs"), data={}, lists=None)
        ramps[row] = cell.settings["method.ramp"]
    assert ramps == {"mean-teacher": 6000, "reco-mean-teacher": 6000, "classmix": 0}


def test_a_profile_of_ones_own_names_shipped_configs_or_files_beside_it(own, tmp_path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "my_voc.yaml").write_text("data: pascal_voc\n")
    own("configs: {voc: my_voc.yaml, sun: sun_rgbd}\nsupervised_crops: 3\n", "sub/mine.yaml")
    profile = load_profile("sub/mine.yaml")
    assert (profile.name, profile.supervised_crops) == ("mine", 3)
    assert profile.config("voc") == tmp_path / "sub" / "my_voc.yaml"
    assert profile.config("sun").name == "sun_rgbd.yaml"
    assert profile.config("sun").is_absolute()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "configs is missing"),
        ("just words", "expected settings as 'key: value'"),
        ("configs: {voc: [", "not valid YAML"),
        ("configs: voc", 'configs must be an object, not "voc"'),
        ("configs: {vok: pascal_voc}", r"unknown dataset in .*mine.yaml: 'vok'; did you mean 'voc'\?"),
        ("configs: {1: pascal_voc}", "configs has a key that must be text, not a whole number"),
        ("config: {voc: pascal_voc}", r"unknown setting 'config'; did you mean 'configs'\?"),
        ("configs: {voc: pascal_voc}\nsupervised_crops: 0", "supervised_crops must be"),
        ("configs: {voc: pascal_voc}\nsupervised_crops: true", "supervised_crops must be"),
        ("configs: {voc: pascal_voc}\nmean_teacher: 3", "methods.mean_teacher must be an object, not 3"),
    ],
)
def test_a_mistake_in_a_profile_names_the_file_and_what_is_expected(own, text, message) -> None:
    with pytest.raises(UserError, match=message):
        load_profile(own(text))


def test_what_is_not_there_is_named_with_what_is(own) -> None:
    with pytest.raises(UserError, match=r"no profile 'papers'; did you mean 'paper'\?.*YAML file"):
        load_profile("papers")
    with pytest.raises(UserError, match=r"profile tiny has no voc, only scenes; use --profile paper"):
        load_profile("tiny").config("voc")
    with pytest.raises(UserError, match="no config file 'my_voc'"):
        load_profile(own("configs: {voc: my_voc}")).config("voc")


def test_ones_own_may_not_pass_for_a_shipped_one(own) -> None:
    with pytest.raises(UserError, match="a profile small is shipped; call yours otherwise"):
        load_profile(own("configs: {voc: pascal_voc}", "small.yaml"))
