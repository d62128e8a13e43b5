"""The notebook in examples/ runs from top to bottom."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


def shown(source: str, names: dict[str, Any]) -> object:
    """Run a cell; its last expression is what a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


def code_cells() -> list[str]:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)  # results of some machine do not belong there
    return ["".join(cell["source"]) for cell in cells]


def test_it_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch, capsys) -> None:
    """With few steps and few images."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    short = {
        '"iterations": 400, "evaluate_every": 50': '"iterations": 4',
        '"num_train": 200': '"num_train": 12',
    }
    cells = code_cells()
    for long, few in short.items():
        assert long in cells[1]
        cells[1] = cells[1].replace(long, few)
    answers = [shown(source, names) for source in cells]
    assert repr(answers[1]).startswith("<Run runs/001: mean_teacher with classmix + regional contrast, 4 it")
    assert "mean IoU" in capsys.readouterr().out
    assert answers[3]._repr_png_().startswith(b"\x89PNG")
    assert answers[4][0] == (64, 128)
    assert answers[5].is_file()
    assert answers[6].item() > 0


@pytest.mark.slow
def test_its_network_has_learned_something(tmp_path: Path, monkeypatch) -> None:
    """As it stands, with pretrained weights: half of each class on average, and no class without a score."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run: Any = [shown(source, names) for source in code_cells()[:2]][1]
    assert run.scores.mean_iou > 0.55
    assert run.scores.iou.min() > 0.2
    assert len((run.folder.path / "metrics.jsonl").read_text().splitlines()) == 8
