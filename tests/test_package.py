"""`import recoseg`: what there is at the top, and training from Python as the command does it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recoseg

TINY = {
    "augment": {"crop": (32, 64)},
    "model": {"encoder": "resnet10_small", "decoder_width": 32},
    "train": {"iterations": 2, "evaluate_every": 2, "labelled_per_step": 2},
    "data": {"name": "scenes", "height": 32, "width": 64, "num_train": 4, "num_val": 2},
}


def test_everything_that_is_listed_is_there() -> None:
    assert dir(recoseg) == sorted(recoseg.__all__)
    for name in recoseg.__all__:
        assert getattr(recoseg, name) is not None
    assert recoseg.__version__ == importlib.metadata.version("recoseg")
    assert {"Supervised", "MeanTeacher"} <= set(recoseg.methods.__all__)


def test_what_is_not_there_is_said_so() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        recoseg.nothing  # noqa: B018


def test_importing_it_does_not_wait_for_torch() -> None:
    program = "import recoseg, sys; recoseg.__version__; dir(recoseg); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_training_from_python_gives_a_run_with_scores_predictions_and_a_page(tmp_path: Path, capsys) -> None:
    run = recoseg.train(out=tmp_path / "run", **TINY)
    assert "page:" in capsys.readouterr().out
    assert isinstance(run, recoseg.Run)
    assert 0 <= run.scores.mean_iou <= 1
    assert repr(run).startswith(f"<Run {tmp_path / 'run'}: supervised, 2 iterations, mean IoU")
    prediction = run.predict(np.zeros((40, 50, 3), np.uint8))
    assert prediction.labels.shape == (40, 50)
    assert prediction._repr_png_().startswith(b"\x89PNG")
    assert run.report(tmp_path / "page.html").is_file()
    assert callable(recoseg.train)  # still the function, whatever was imported on the way


def test_it_says_nothing_when_it_shall_be_quiet(tmp_path: Path, capsys) -> None:
    recoseg.train(out=tmp_path / "run", quiet=True, **TINY)
    assert capsys.readouterr().out == ""


def test_mistakes_are_the_errors_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(recoseg.UserError, match=r"here that is --train\.iterations"):
        recoseg.train(out=tmp_path / "run", epochs=3)
    with pytest.raises(recoseg.UserError, match="no folder and no dataset 'nowhere'"):
        recoseg.train("nowhere")
