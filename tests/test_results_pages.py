"""RESULTS.md, README.md and docs/training.md say what the committed results are."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from recoseg.errors import UserError
from recoseg.experiments.tables.results import read_results

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("write_pages", ROOT / "results" / "write_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["RESULTS.md", "README.md"])
def test_the_tables_of_a_page_are_those_of_the_results(pages, name) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert pages.PLACE.search(page)
    assert pages.filled(page) == page


@pytest.mark.parametrize("name", ["RESULTS.md", "README.md", "docs/choosing.md"])
def test_the_numbers_in_sentences_are_those_of_the_results(pages, name) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert pages.PLACE_OF_FIGURES.search(page)
    assert pages.filled(page) == page
    stale = pages.PLACE_OF_FIGURES.sub(r"\g<1>invented\g<3>", page)
    assert "invented" in stale
    assert pages.filled(stale) == page


def test_no_gain_of_reco_is_beyond_chance_as_the_pages_say(pages) -> None:
    rows = "classmix reco-classmix cutmix reco-cutmix classmix-plain reco-classmix-plain"
    compared = pages.comparison(f"{rows} pairs")
    assert compared.count("against") == 4  # one more on Cityscapes
    assert "**" not in compared


def test_ranges_in_sentences_are_of_all_runs(pages) -> None:
    """Not of some of them, as "6 to 35 minutes" was of runs that take up to 79."""
    lines = [json.loads(line) for line in pages.RESULTS.read_text(encoding="utf-8").splitlines()]
    minutes = [line["seconds"] / 60 for line in lines]
    errors = [100 * line["calibration_error"] for line in lines if line["column"] == "camvid-20"]
    numbers = pages.figures()
    assert numbers["minutes"] == f"{min(minutes):.0f} to {max(minutes):.0f}"
    assert numbers["calibration camvid"] == f"{min(errors):.1f} to {max(errors):.1f}"


def test_the_costs_of_methods_are_those_that_were_measured(pages) -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert pages.PLACE_OF_COSTS.search(page)
    assert pages.filled(page) == page
    stale = page.replace("| Supervised | ", "| Supervised | 9", 1)
    assert stale != page
    assert pages.filled(stale) == page


def test_every_chart_of_the_pages_is_there_and_holds_no_image() -> None:
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("RESULTS.md", "README.md"))
    charts = set(re.findall(r"\((docs/results/[^)]+\.svg)\)", text))
    assert charts
    for chart in charts:
        assert "<image" not in (ROOT / chart).read_text(encoding="utf-8")


def test_a_chart_may_have_rows_of_its_own(pages, monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr(
        pages, "table", lambda words, kind, path, force: drawn.append((words, kind, Path(path).name))
    )
    pages.draw(
        "![a](docs/results/one-2.svg)\n\n<!-- chart one-2 classmix -->\n![b](docs/results/one-2-curves.svg)\n"
    )
    assert drawn == [("one-2", "--chart", "one-2.svg"), ("one-2 classmix", "--curves", "one-2-curves.svg")]


def test_a_table_that_says_something_else_is_noticed(pages) -> None:
    page = "a\n<!-- table cityscapes-20 classmix -->\n\n| invented |\n\n<!-- end -->\nb\n"
    filled = pages.filled(page)
    assert "| invented |" not in filled
    assert "| ClassMix" in filled
    assert filled.startswith("a\n<!-- table cityscapes-20 classmix -->\n")
    assert filled.endswith("<!-- end -->\nb\n")


def test_a_place_names_rows_and_seeds(pages) -> None:
    table = pages.table("cityscapes-20 supervised classmix seeds 1", "--format", "markdown")
    assert "mean IoU in per cent on val, seed 1 alone;" in table
    assert re.findall(r"^\| (\w+)", table, re.MULTILINE) == ["method", "Supervised", "ClassMix"]


@pytest.mark.parametrize("name", ["small.jsonl"])
def test_every_result_names_its_profile_and_all_that_it_depends_on(name) -> None:
    results = read_results(ROOT / "results" / name)
    assert len({result.place for result in results}) == len(results)
    for result in results:
        assert result.profile == "small"
        assert result.settings["train.seed"] == result.seed
        assert result.curve[-1][0] == result.iterations == result.settings["train.iterations"]
        assert not any("/" in str(value) for value in result.settings.values())


def test_results_that_are_none_are_refused(tmp_path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text('{"profile": "small"}\n')
    with pytest.raises(UserError, match=r"results\.jsonl line 1: column is missing"):
        read_results(file)
