"""How far a cell is, by the files in its folder."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from recoseg.config.load import load, to_yaml
from recoseg.experiments.cells import Cell, cell_at
from recoseg.experiments.profiles import load_profile
from recoseg.experiments.states import state_of, training_seconds
from recoseg.train.run_folder import RunFolder


@pytest.fixture
def cell(tmp_path) -> Cell:
    return cell_at(load_profile("tiny"), "scenes-10", "classmix", 0, out=tmp_path, data={}, lists=None)


def begin(cell: Cell, *more: str, losses: int = 0) -> None:
    """What a run leaves after so many iterations of two seconds each, with a line for every tenth."""
    cell.folder.mkdir(parents=True)
    (cell.folder / "split.json").write_text("{}")
    (cell.folder / "config.yaml").write_text(to_yaml(load(cell.config, (*cell.words, *more))))
    lines = [
        {"iteration": number, "lr": 0.1, "loss": 1.0, "seconds": 2.0 * number}
        for number in range(10, losses + 1, 10)
    ]
    (cell.folder / "losses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_cell_without_a_run_is_new(cell) -> None:
    assert state_of(cell).kind == "new"
    cell.folder.mkdir(parents=True)
    (cell.folder / "split.json").write_text("{}")
    assert state_of(cell).kind == "new"  # the config is written last
    assert state_of(cell).share_left == 1


def test_a_run_that_ended_early_is_begun_and_one_at_work_is_running(cell) -> None:
    begin(cell, losses=60)
    state = state_of(cell)
    assert (state.kind, state.iteration, state.iterations, state.seconds) == ("begun", 60, 300, 120)
    assert state.share_left == pytest.approx(0.8)
    with closing(RunFolder(cell.folder).lock()):
        assert state_of(cell).kind == "running"
    assert state_of(cell).kind == "begun"


def test_a_run_is_trained_when_its_last_evaluation_is_of_the_last_iteration(cell) -> None:
    begin(cell, losses=300)
    metrics = cell.folder / "metrics.jsonl"
    (cell.folder / "weights.safetensors").touch()
    scores = {"mean_iou": 0.1, "accuracy": 0.1, "iou": [0.1], "class_accuracy": [0.1], "confusion": [[1]]}
    lines = [json.dumps({"iteration": number, **scores, "losses": {}}) + "\n" for number in (200, 300)]
    metrics.write_text(lines[0])
    assert state_of(cell).kind == "begun"
    metrics.write_text("".join(lines))
    assert state_of(cell).kind == "trained"


def test_a_run_is_done_when_its_result_is_there(cell, result_of) -> None:
    begin(cell)
    result = result_of("classmix", "scenes-10", 0, 40.0)
    result.save(cell.folder / "result.json")
    state = state_of(cell)
    assert (state.kind, state.result) == ("done", result)
    assert state.share_left == 0


def test_a_damaged_run_is_a_state_with_its_reason(cell, result_of) -> None:
    begin(cell)
    (cell.folder / "losses.jsonl").write_text('{"iteration": "x"}\n')
    assert state_of(cell).kind == "damaged"
    assert "losses.jsonl line 1: lr is missing" in state_of(cell).trouble
    result_of("supervised", "scenes-10", 0, 40.0).save(cell.folder / "result.json")
    assert "result.json is of row supervised, not classmix" in state_of(cell).trouble


def test_other_settings_are_named_but_not_those_that_change_nothing(cell) -> None:
    begin(cell, "--optimiser.lr", "0.5", "--train.workers", "1", "--train.log_every", "7")
    state = state_of(cell)
    assert (state.kind, state.differences) == ("other", ("optimiser.lr",))
    (cell.folder / "config.yaml").write_text(
        to_yaml(load(cell.config, (*cell.words, "--train.workers", "1")))
    )
    assert state_of(cell).kind == "begun"  # the file is read anew when it has changed


def test_the_clocks_of_all_processes_that_trained_are_added_up() -> None:
    def seconds(*values: float) -> float:
        return training_seconds([{"seconds": value} for value in values])

    assert seconds() == 0
    assert seconds(1, 2, 3) == 3
    assert seconds(1, 5, 2, 4) == 9
    assert seconds(5, 2, 1) == 8
