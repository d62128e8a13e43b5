"""Doing one cell, with commands that only pretend."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
import torch

from recoseg.config import RunConfig
from recoseg.config.load import flat, from_flat, to_yaml
from recoseg.experiments.plan.cells import Cell, cell_at
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.running import execute as module
from recoseg.experiments.running.execute import (
    CellError,
    CellInUseError,
    CellState,
    CellStoppedError,
    execute,
    machine,
    put_aside,
    state_of,
    training_seconds,
    trouble,
)
from recoseg.training.run_folder import RunFolder


@pytest.fixture
def cell(tmp_path) -> Cell:
    return cell_at(load_profile("tiny"), "scenes-10", "classmix", 0, out=tmp_path, data={}, lists=None)


@pytest.fixture
def ran(cell, monkeypatch, result_of):
    """`ran("begun", 0, 1)`: the commands of a cell in that state, whose commands end with these codes."""
    monkeypatch.setattr(module, "result_of", lambda *_, **__: result_of("classmix", "scenes-10", 0, 1.0))
    monkeypatch.setattr(module, "SECONDS_TO_NOTICE", 0.0)

    def run(kind: str, *codes: int, **more: object) -> list[str]:
        monkeypatch.setattr(module, "state_of", lambda _: CellState(kind, **more))
        left, commands = list(codes), []

        def start(command, log):
            commands.append(" ".join(word for word in command[:2] if not word.startswith("/")))
            cell.folder.mkdir(parents=True, exist_ok=True)
            log.write_text("some progress\nrecoseg: the reason\n\n")
            return left.pop(0)

        execute(cell, start, threads=1)
        return commands

    return run


@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        ("new", ["train --config", "evaluate"]),
        ("begun", ["train --resume", "evaluate"]),
        ("trained", ["evaluate"]),
    ],
)
def test_what_is_left_depends_on_how_far_a_cell_is(ran, cell, kind, commands) -> None:
    assert ran(kind, 0, 0) == commands
    assert (cell.folder / "result.json").is_file()


def test_a_cell_that_is_done_runs_nothing_and_keeps_its_result(ran, cell, result_of) -> None:
    assert ran("done", result=result_of("classmix", "scenes-10", 0, 40.0)) == []
    assert not (cell.folder / "result.json").exists()  # nothing was written again


def test_the_last_line_of_a_command_that_fails_is_the_reason(ran, cell) -> None:
    with pytest.raises(CellError, match=r"^the reason$"):
        ran("new", 1)
    with pytest.raises(CellError, match="ended by SIGKILL; the same command goes on with it"):
        ran("new", -9)
    with pytest.raises(CellError, match="the reason"):
        ran("new", 0, 1)
    assert not (cell.folder / "result.json").exists()


def test_a_command_that_was_interrupted_has_not_failed(ran) -> None:
    with pytest.raises(CellStoppedError):
        ran("begun", 130)


def test_a_folder_that_others_use_or_began_otherwise_is_left_alone(ran, cell) -> None:
    with pytest.raises(CellInUseError):
        ran("running")
    with pytest.raises(CellError, match=r"was begun with other settings: optimiser.lr, train.clip"):
        ran("other", differences=("optimiser.lr", "train.clip"))
    assert not cell.folder.exists()


def test_a_cell_that_another_process_begins_is_left_to_it(cell, monkeypatch, result_of) -> None:
    """Also before its run is there, and between training and scoring, when nobody trains in its folder."""
    monkeypatch.setattr(module, "result_of", lambda *_, **__: result_of("classmix", "scenes-10", 0, 1.0))
    monkeypatch.setattr(module, "SECONDS_TO_NOTICE", 0.0)
    commands: list[str] = []

    def start_other(command, log):
        raise AssertionError("the cell is being done")

    def start(command, log):
        commands.append(command[0])
        with pytest.raises(CellInUseError):
            execute(cell, start_other, threads=1)
        cell.folder.mkdir(parents=True, exist_ok=True)
        return 0

    execute(cell, start, threads=1)
    assert commands == ["train", "evaluate"]


def test_a_folder_that_is_about_to_be_free_is_waited_for(cell, monkeypatch) -> None:
    """Processes that a killed one leaves behind hold it a little longer."""
    states = [CellState("running"), CellState("running"), CellState("begun")]
    monkeypatch.setattr(module, "state_of", lambda _: states.pop(0))
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    assert module.state_when_free(cell).kind == "begun"
    assert states == []


def test_what_is_put_aside_never_replaces_anything(tmp_path) -> None:
    for number in (1, 2):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "file").write_text(str(number))
        put_aside(tmp_path / "run")
        assert (tmp_path / f"run.broken-{number}" / "file").read_text() == str(number)
    (tmp_path / "run").mkdir()
    put_aside(tmp_path / "run")  # empty: as good as new
    assert (tmp_path / "run").is_dir()


def test_a_command_that_said_nothing_is_told_by_its_code(tmp_path) -> None:
    (tmp_path / "log").write_text("\n")
    assert trouble(3, tmp_path / "log") == "exit code 3"


def test_the_machine_is_told_with_its_threads(monkeypatch) -> None:
    monkeypatch.setattr(module.torch.cuda, "get_device_name", lambda device: f"a GPU, {device}")
    assert machine(1, torch.device("cpu")).endswith(", 1 thread")
    assert machine(2, torch.device("cpu")).endswith(", 2 threads")
    assert machine(2, torch.device("cuda")) == "a GPU, cuda"


def changed(config: RunConfig, more: dict[str, object] | None) -> RunConfig:
    return from_flat({**flat(config), **(more or {})})


def begin(cell: Cell, more: dict[str, object] | None = None, *, losses: int = 0) -> None:
    """What a run leaves after so many iterations of two seconds each, with a line for every tenth."""
    cell.folder.mkdir(parents=True)
    (cell.folder / "split.json").write_text("{}")
    (cell.folder / "config.yaml").write_text(to_yaml(changed(cell.config, more)))
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
    assert "losses.jsonl line 1: iteration must be a whole number" in state_of(cell).trouble
    result_of("supervised", "scenes-10", 0, 40.0).save(cell.folder / "result.json")
    assert "result.json is of row supervised, not classmix" in state_of(cell).trouble


def test_other_settings_are_named_but_not_those_that_change_nothing(cell) -> None:
    begin(cell, {"optimiser.lr": 0.5, "train.workers": 1, "train.log_every": 7})
    state = state_of(cell)
    assert (state.kind, state.differences) == ("other", ("optimiser.lr",))
    (cell.folder / "config.yaml").write_text(to_yaml(changed(cell.config, {"train.workers": 1})))
    assert state_of(cell).kind == "begun"  # the file is read anew when it has changed


def test_the_clocks_of_all_processes_that_trained_are_added_up() -> None:
    def seconds(*values: float) -> float:
        return training_seconds([{"seconds": value} for value in values])

    assert seconds() == 0
    assert seconds(1, 2, 3) == 3
    assert seconds(1, 5, 2, 4) == 9
    assert seconds(5, 2, 1) == 8
