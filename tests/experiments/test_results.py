"""Results as they are kept: one a line, read back equal, and put in place of older ones."""

from __future__ import annotations

import json

import pytest

from recoseg.errors import UserError
from recoseg.experiments.results import add_results, load_result, read_results


def test_a_result_reads_back_equal(tmp_path, result_of) -> None:
    result = result_of(
        "classmix", "scenes-10", 2, 41.5, curve=((100, 0.3), (200, 0.4)), iou={"sky": 0.9, "car": None},
        settings={"augment.crop": [32, 32], "contrast": None}, boundary_iou=0.25,
    )  # fmt: skip
    result.save(tmp_path / "result.json")
    assert load_result(tmp_path / "result.json") == result


def test_a_file_of_results_keeps_others_and_replaces_the_same_cell(tmp_path, result_of) -> None:
    path = tmp_path / "results.jsonl"
    first = [result_of("classmix", "scenes-10", seed, 40.0) for seed in (1, 0)]
    add_results(path, first)
    newer = [result_of("classmix", "scenes-10", 1, 50.0), result_of("supervised", "scenes-10", 0, 30.0)]
    add_results(path, newer)
    kept = [(result.row, result.seed, result.mean_iou) for result in read_results(path)]
    assert kept == [("classmix", 0, 0.4), ("classmix", 1, 0.5), ("supervised", 0, 0.3)]
    assert len(path.read_text().splitlines()) == 3
    before = path.read_bytes()
    add_results(path, newer)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON, or cut short"),
        ("[]", "must be an object, not a list"),
        ("{}", "profile is missing"),
        ('"words"', 'must be an object, not "words"'),
        ("\xff", "not UTF-8 text"),
    ],
)
def test_what_is_no_result_is_one_clear_line(tmp_path, text, says) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=rf"results\.jsonl line 1: {says}"):
        read_results(path)


def test_an_unknown_field_and_a_missing_file_are_told(tmp_path, result_of) -> None:
    path = tmp_path / "results.jsonl"
    result_of("classmix", "scenes-10", 0, 40.0).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "surprise": 1}))
    with pytest.raises(UserError, match="surprise"):
        read_results(path)
    with pytest.raises(UserError, match="no results at"):
        read_results(tmp_path / "nowhere.jsonl")
