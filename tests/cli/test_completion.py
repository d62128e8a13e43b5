"""The script for the Tab key, and what a shell offers with it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recoseg.cli.main import COMMANDS, main

OFFERS = {
    "recoseg tr": {"train"},
    "recoseg ": set(COMMANDS),
    "recoseg train --conf": {"--config"},
    "recoseg experiments run --prof": {"--profile"},
    "recoseg export run --format ": {"onnx", "torch"},
    "recoseg predict runs/first ph": {"photos"},
    "recoseg train --config mi": {"mine.yaml"},
}


@pytest.fixture(scope="module")
def script() -> str:
    pytest.importorskip("shtab", reason="needs recoseg[completion]")
    command = [sys.executable, "-m", "recoseg", "completion", "bash"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("line", OFFERS)
def test_bash_offers_commands_options_choices_and_files(line: str, script: str, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "mine.yaml").touch()
    words = line.split(" ")
    ask = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_recoseg"
    code = f"{script}\n{ask}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert set(done.stdout.split()) == OFFERS[line]


def test_completion_without_its_extra_is_one_line(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "recoseg: recoseg completion needs shtab: pip install 'recoseg[completion]'\n"
    )


def test_an_unknown_shell_is_refused_with_those_there_are(capsys) -> None:
    assert main(["completion", "csh"]) == 2
    assert "fish" in capsys.readouterr().err
