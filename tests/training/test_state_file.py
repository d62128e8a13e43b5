"""The state of a run: back as it was, or not at all."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from recoseg.errors import UserError
from recoseg.training.state import before, load_state, put_back, read_state, save_state

PARTS = {"method": {"w": torch.arange(40.0)}, "optimisers": {"student": {"lr": 0.1}}}


def is_that_of(state, iteration: int) -> bool:
    return (
        state["iteration"] == iteration
        and torch.equal(state["method"]["w"], PARTS["method"]["w"])
        and state["optimisers"] == PARTS["optimisers"]
    )


def test_there_is_no_state_before_the_first(tmp_path) -> None:
    assert load_state(tmp_path / "state.pt") == (None, None)


def test_the_last_state_comes_back_as_it_was_and_the_one_before_is_kept(tmp_path) -> None:
    path = tmp_path / "state.pt"
    for iteration in (3, 6, 9):
        save_state(path, iteration, PARTS)
    state, warning = load_state(path)
    assert is_that_of(state, 9)
    assert warning is None
    assert is_that_of(read_state(before(path)), 6)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.previous.pt", "state.pt"]


def test_any_flipped_bit_is_noticed_or_does_no_harm(tmp_path) -> None:
    path = tmp_path / "state.pt"
    save_state(path, 7, PARTS)
    data = path.read_bytes()
    noticed = 0
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        state = read_state(path)
        noticed += state is None
        assert state is None or is_that_of(state, 7), f"byte {place}"
    assert noticed > len(data) / 9  # much of a small file is padding


def test_a_file_cut_short_anywhere_is_noticed(tmp_path) -> None:
    path = tmp_path / "state.pt"
    save_state(path, 7, PARTS)
    data = path.read_bytes()
    for length in range(0, len(data), 5):
        path.write_bytes(data[:length])
        assert read_state(path) is None


def test_a_damaged_state_falls_back_to_the_one_before_with_a_warning(tmp_path) -> None:
    path = tmp_path / "state.pt"
    save_state(path, 3, PARTS)
    save_state(path, 6, PARTS)
    path.write_bytes(path.read_bytes()[:200])
    state, warning = load_state(path)
    assert is_that_of(state, 3)
    assert warning == f"{path} is damaged; going on from the state before it, iteration 3"
    put_back(path)
    assert is_that_of(load_state(path)[0], 3)
    assert load_state(path)[1] is None


def test_a_missing_state_falls_back_too(tmp_path) -> None:
    path = tmp_path / "state.pt"
    save_state(path, 3, PARTS)
    save_state(path, 6, PARTS)
    path.unlink()
    state, warning = load_state(path)
    assert is_that_of(state, 3)
    assert "is missing" in warning


@pytest.mark.parametrize("spare", [b"", None])
def test_two_damaged_states_are_an_error(tmp_path, spare) -> None:
    path = tmp_path / "state.pt"
    path.write_bytes(b"no state")
    if spare is not None:
        before(path).write_bytes(spare)
    with pytest.raises(UserError, match="is damaged, and there is no whole state before it"):
        load_state(path)


def test_a_file_system_without_links_keeps_the_state_before_as_well(tmp_path, monkeypatch) -> None:
    def refuse(source, target):
        raise PermissionError(1, "Operation not permitted")  # what exFAT says

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "state.pt"
    for iteration in (3, 6, 9):
        save_state(path, iteration, PARTS)
    assert is_that_of(read_state(path), 9)
    assert is_that_of(read_state(before(path)), 6)


def test_a_state_of_another_format_is_refused(tmp_path) -> None:
    for content in ({"format": 99, "iteration": 1}, torch.ones(2)):
        torch.save(content, tmp_path / "state.pt")
        with pytest.raises(UserError, match="another version"):
            load_state(tmp_path / "state.pt")


class Hostile:
    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def test_code_in_a_state_is_never_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "state.pt"
    save_state(path, 3, PARTS)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(
                name, pickle.dumps(Hostile(), protocol=2) if name.endswith("data.pkl") else content
            )
    assert read_state(path) is None
    assert not (tmp_path / "executed").exists()
