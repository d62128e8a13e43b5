"""The demo."""

from __future__ import annotations

from recoseg.cli.demo import free_path

SMALL = ["--data.num-train=4", "--data.num-val=2", "--train.iterations=2", "--train.labelled-per-step=2"]


def test_the_demo_trains_and_says_where_its_page_is(recoseg, tmp_path) -> None:
    outcome = recoseg("demo", *SMALL)
    assert outcome.code == 0, outcome.err
    page = tmp_path / "runs" / "demo" / "index.html"
    assert page.is_file()
    assert page.as_uri() in outcome.out
    assert (tmp_path / "runs" / "demo" / "supervised" / "weights.safetensors").is_file()


def test_a_second_demo_goes_to_a_folder_of_its_own(tmp_path) -> None:
    assert free_path(tmp_path / "demo").name == "demo"
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo-2").mkdir()
    assert free_path(tmp_path / "demo").name == "demo-3"
