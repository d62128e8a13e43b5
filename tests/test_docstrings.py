"""Docstrings of public names: their parts are there, and their examples run as they stand."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recoseg

PARTS = {
    "RegionalContrast": ("Args", "Raises"),
    "Run": ("Args", "Raises"),
    "UserError": ("Args",),
    "load": ("Args", "Returns", "Raises"),
    "losses": (),
    "methods": ("Raises",),
    "models": ("Returns", "Raises"),
    "shrink_labels": ("Args", "Returns", "Raises"),
    "train": ("Args", "Returns", "Raises"),
    "with_representation": ("Args", "Returns", "Raises"),
}


def documented_arguments(text: str) -> list[str]:
    """The names under "Args:"; their further lines are indented more."""
    block = text.partition("Args:\n")[2].partition("\n\n")[0]
    return re.findall(r"^    \*{0,2}(\w+):", block, re.MULTILINE)


def test_all_public_names_are_checked() -> None:
    assert {*PARTS, "__version__"} == set(recoseg.__all__)
    assert "`__version__` is" in (recoseg.__doc__ or "")


@pytest.mark.parametrize("name", PARTS)
def test_a_public_name_has_the_parts_of_its_docstring(name: str) -> None:
    thing = getattr(recoseg, name)
    text = inspect.getdoc(thing) or ""
    headings = [part for part in ("Args", "Returns", "Raises", "Example") if f"\n{part}:\n" in text]
    assert set(headings) >= {*PARTS[name], "Example"}
    if callable(thing) and name != "UserError":
        assert documented_arguments(text) == [*inspect.signature(thing).parameters]
    if name != "UserError":
        assert "section" in text or "Eq." in text or "appendix" in text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained run and a photo."""
    path = tmp_path_factory.mktemp("examples")
    recoseg.train(
        {"name": "scenes", "height": 32, "width": 64, "num_train": 4, "num_val": 2},
        out=path / "runs" / "first",
        quiet=True,
        augment={"crop": 32},
        model={"encoder": "resnet10_small", "decoder_width": 32},
        train={"iterations": 2, "labelled_per_step": 2},
    )
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(path / "photo.jpg")
    return path


@pytest.mark.parametrize("name", [*PARTS, "recoseg"])
def test_the_example_of_a_public_name_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = inspect.getdoc(recoseg if name == "recoseg" else getattr(recoseg, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    failures: list[str] = []
    results = doctest.DocTestRunner().run(example, out=failures.append)
    assert results.attempted
    assert not results.failed, "".join(failures)
