"""The notebook in examples/ runs from top to bottom."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


def shown(source: str, names: dict[str, Any]) -> object:
    """Run a cell; its last expression is what a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


def test_it_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)  # results of some machine do not belong there
    names: dict[str, Any] = {}
    answers = [shown("".join(cell["source"]), names) for cell in cells]
    assert repr(answers[1]).startswith("<Run runs/001: mean_teacher with classmix + regional contrast, 20 it")
    assert "mean IoU" in capsys.readouterr().out
    assert answers[3]._repr_png_().startswith(b"\x89PNG")
    assert answers[4][0] == (64, 128)
    assert answers[5].is_file()
    assert answers[6].item() > 0
