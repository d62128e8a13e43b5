"""The demo."""

from __future__ import annotations

from recoseg.cli.demo import free_path

SMALL = [
    "--data.num-train=4", "--data.num-val=2", "--train.iterations=2", "--train.labelled-per-step=2",
    "--split.labels=3",
]  # fmt: skip


def test_the_demo_trains_and_says_where_its_page_is(recoseg, tmp_path) -> None:
    outcome = recoseg("demo", *SMALL)
    assert outcome.code == 0, outcome.err
    page = tmp_path / "runs" / "demo" / "index.html"
    assert page.is_file()
    assert page.as_uri() in outcome.out
    runs = [tmp_path / "runs" / "demo" / name for name in ("supervised", "ClassMix", "ClassMix + ReCo")]
    assert all((run / "weights.safetensors").is_file() for run in runs)
    assert len({(run / "split.json").read_text() for run in runs}) == 1
    assert len({len((run / "metrics.jsonl").read_text().splitlines()) for run in runs}) == 1
    for run in runs:
        assert outcome.out.count(f"{run.name}: trained; mean IoU ") == 1
    table = outcome.out[outcome.out.index("difference") :]
    assert all(run.name in table for run in runs)
    assert "points" in table
    assert max(len(line) for line in table.splitlines() if "%" in line) < 80
    html = page.read_text()
    assert html.index('class="lead"') < html.index('class="strip"') < html.index("<table")


def test_a_second_demo_goes_to_a_folder_of_its_own(tmp_path) -> None:
    assert free_path(tmp_path / "demo").name == "demo"
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo-2").mkdir()
    assert free_path(tmp_path / "demo").name == "demo-3"


def test_a_run_that_fails_ends_the_demo_with_one_line_of_its_own(recoseg, tmp_path) -> None:
    outcome = recoseg("demo", *SMALL, "--split.labels=9")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.startswith("recoseg: ")
    assert any(f"{name}: " in outcome.err for name in ("supervised", "ClassMix", "ClassMix + ReCo"))
    assert "9" in outcome.err
    assert not (tmp_path / "runs" / "demo" / "index.html").exists()


def test_a_misspelt_setting_is_told_before_anything_is_made(recoseg, tmp_path) -> None:
    outcome = recoseg("demo", "--train.iteration=5")
    assert outcome.code in (1, 2)
    assert "iterations" in outcome.err
    assert not (tmp_path / "runs").exists()
