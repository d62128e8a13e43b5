"""What the Tab key offers, as the shells ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recoseg.cli.completion import completions
from recoseg.cli.main import COMMANDS, main


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], ["train"]),
        (["train", "--method", ""], ["supervised", "mean_teacher"]),
        (["train", "--method.mix", "cut"], ["cutout", "cutmix"]),
        (["train", "--optimiser.lr"], ["--optimiser.lr"]),
        (["train", "--method.student_pass", "tog"], ["together"]),
        (["train", "--optimiser.nesterov", ""], ["true", "false"]),
        (["train", "--config", "own"], ["own_images"]),
        (["train", "--help", "opt"], ["optimiser"]),
        (["picture", "rel"], ["relations"]),
        (["experiments", "run", "--prof"], ["--profile"]),
        (["predict", "--conf"], ["--confidence"]),
        (["completion", "b"], []),  # a positional is left to the shell
    ],
)
def test_offers(words: list[str], expected: list[str]) -> None:
    offered = completions(words)
    assert all(word.startswith(words[-1]) for word in offered)
    assert set(expected) <= set(offered)


def test_all_commands_are_offered_first() -> None:
    assert set(COMMANDS) <= set(completions([""]))


@pytest.mark.parametrize("words", [["predict", ""], ["train", "--out", ""], ["train", "--data.root", "a"]])
def test_files_are_left_to_the_shell(words: list[str]) -> None:
    assert completions(words) == []


_ASK = {
    "bash": "COMP_WORDS=(recoseg train --meth); COMP_CWORD=2; _recoseg; printf '%s\\n' ${COMPREPLY[@]}",
    "fish": "complete -C 'recoseg train --meth'",
}


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_real_shell_asks_and_gets_an_answer(shell: str, tmp_path: Path, capsys) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    program = tmp_path / "recoseg"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m recoseg "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    words = [shell, "-c", f"source {script}; {_ASK[shell]}"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    assert "--method.mix" in done.stdout.split()


def test_without_a_shell_it_says_which_there_are(capsys) -> None:
    assert main(["completion"]) == 2
    assert "which shell? recoseg completion bash, fish or zsh" in capsys.readouterr().err
