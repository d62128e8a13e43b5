"""The settings of `split`, from YAML and from the command line."""

from __future__ import annotations

import pytest

from recoseg.config import load, to_yaml
from recoseg.errors import UserError


@pytest.mark.parametrize(
    ("text", "pixels", "fraction"),
    [("pixels: 1", "1", None), ("pixels: 25%", "25%", None), ("fraction: 1/8", None, "1/8"),
     ("fraction: 0.125", None, "0.125")],
)  # fmt: skip
def test_yaml_numbers_and_text_mean_the_same(tmp_path, text, pixels, fraction) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"split: {{{text}}}\n")
    config = load(path)
    assert (config.split.pixels, config.split.fraction) == (pixels, fraction)
    path.write_text(to_yaml(config))
    assert load(path) == config


def test_lists_are_kept_as_absolute_paths(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("a\n")
    assert load(None, ["--split.labelled-list", "list.txt"]).split.labelled_list == str(tmp_path / "list.txt")


@pytest.mark.parametrize("name", ["labels", "images-per-class", "min-classes"])
def test_none_of_something_is_refused(name) -> None:
    with pytest.raises(UserError, match=f"split.{name.replace('-', '_')}: must be at least 1, got 0"):
        load(None, [f"--split.{name}", "0"])
