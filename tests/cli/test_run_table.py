"""The table of several runs, and what it says of how sure it is."""

from __future__ import annotations

import shutil

import pytest

from recoseg.cli.run_table import print_run_table
from recoseg.cli.terminal import new_console


@pytest.fixture
def table(recoseg, tmp_path, trained_run, small, capsys):
    """Of a run with these settings, and of a copy of it."""

    def told(*words: str, last: str = "differences") -> str:
        run = trained_run("run", *small, *words)
        shutil.copytree(run, tmp_path / "copy")
        capsys.readouterr()
        print_run_table([run, tmp_path / "copy"], new_console(), last=last)
        return capsys.readouterr().out

    return told


def test_a_difference_that_may_be_chance_is_named(table) -> None:
    told = table()
    assert "±0.0 (±0.0 to ±0.0)" in told
    assert "95% bootstrap intervals over 3 images" in told
    assert "May be chance on these 3 images: the difference of copy." in told


def test_one_image_has_no_intervals(table) -> None:
    told = table("--data.num-val=1")
    said = "One validation image: too few for confidence intervals."
    assert said in " ".join(told.split())
    assert "(" not in told


def test_very_many_images_have_none_either(table, monkeypatch) -> None:
    monkeypatch.setattr("recoseg.evaluate.survey.MOST_IMAGES", 2)
    told = table("--data.num-val=4", "--train.seed=8")
    assert "(" not in told
    assert "image" not in told
