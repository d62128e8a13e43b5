"""Doing one cell, with commands that only pretend."""

from __future__ import annotations

import pytest
import torch

from recoseg.experiments import execute as module
from recoseg.experiments.cells import Cell, cell_at
from recoseg.experiments.execute import (
    CellError,
    CellInUseError,
    CellStoppedError,
    execute,
    machine,
    put_aside,
    trouble,
)
from recoseg.experiments.profiles import load_profile
from recoseg.experiments.states import CellState


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
