"""Every command and every line of Python in the README runs, and every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recoseg
from recoseg.cli.main import main
from recoseg.config.help_text import describe_weights
from recoseg.runs.start import load_for

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
SHORT = [
    "--augment.crop=32", "--model.encoder=resnet10_small", "--model.decoder-width=8", "--train.iterations=2",
    "--train.labelled-per-step=2",
]  # fmt: skip
FEW_PIXELS = ["--contrast.num-queries=8", "--contrast.num-keys=16"]
FEW_SCENES = ["--data.height=32", "--data.width=32", "--data.num-train=24", "--data.num-val=2"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.S | re.M)


def commands() -> list[list[str]]:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def own_images(folder: Path) -> None:
    """The folder that the README talks of."""
    for kind in ("images", "labels"):
        (folder / kind).mkdir(parents=True)
    generator = np.random.default_rng(0)
    for number in range(6):
        labels = generator.integers(0, 2, (40, 48), dtype=np.uint8)
        Image.fromarray(labels * 200).convert("RGB").save(folder / "images" / f"{number}.jpg")
        if number < 4:
            Image.fromarray(labels).save(folder / "labels" / f"{number}.png")
    (folder.parent / "cityscapes_quarter").mkdir()
    (folder.parent / "photos").mkdir()
    Image.new("RGB", (40, 30)).save(folder.parent / "photos" / "a.jpg")
    Image.new("RGB", (40, 30)).save(folder.parent / "photo.jpg")


def test_every_command_and_the_prediction_run_as_written(tmp_path, monkeypatch, capsys) -> None:
    """In the README's order, since later ones use what earlier ones made; only shorter."""
    monkeypatch.chdir(tmp_path)
    own_images(tmp_path / "my_images")
    ours = [words[1:] for words in commands() if words[0] == "recoseg"]
    assert len(ours) >= 5
    for words in ours:
        if words[0] == "train":
            words = [*words, *SHORT, *([] if "--data" in words else FEW_SCENES)]
            words += FEW_PIXELS if "--contrast" in words else []
        if words[:2] == ["experiments", "run"]:  # of hours: only what it would do
            words = ["experiments", "show", *words[2:-2], "--commands"]
        assert main(words) == 0, (words, capsys.readouterr().err)
    assert (tmp_path / "compared.html").is_file()
    assert (tmp_path / "runs" / "first" / "report" / "index.html").is_file()
    assert any((tmp_path / "masks").rglob("a*.png"))
    values: dict[str, Any] = {"recoseg": recoseg}
    exec(next(block for block in blocks("python") if "recoseg.load" in block), values)
    assert values["prediction"].labels.shape == values["prediction"].confidence.shape == (30, 40)


def test_compared_runs_are_all_scored_by_the_same_average() -> None:
    compared = next(words for words in commands() if "compared.html" in words)[2:-2]
    trained = {words[-1]: words[2:-2] for words in commands() if words[:2] == ["recoseg", "train"]}
    weights = {describe_weights(load_for("scenes", trained[run][2:])) for run in compared}
    assert len(weights) == 1, weights


def test_every_make_target_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), flags=re.M)
    named = [words[1] for words in commands() if words[0] == "make"]
    assert {"demo", "test"} <= set(named)
    assert set(named) <= set(targets)


def test_all_commands_are_of_a_known_kind() -> None:
    assert {words[0] for words in commands()} <= {"make", "recoseg", "pip"}


def test_the_python_block_is_the_tested_example() -> None:
    block = next(block for block in blocks("python") if "RegionalContrast" in block)
    assert block.strip() in (REPOSITORY / "examples" / "own_loop.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").glob("*.md")],
    ids=lambda page: page.name,
)  # fmt: skip
def test_links_lead_to_files_that_exist(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_first_screen_says_what_it_is_for_and_how_to_start() -> None:
    first = "\n".join(README.splitlines()[:25])
    assert "make demo" in first
    assert "make test" in first
    assert "few labels" in first


def test_docs_speak_of_files_and_names_in_them_that_exist() -> None:
    text = (REPOSITORY / "docs" / "paper_to_code.md").read_text(encoding="utf-8")
    found = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`(?: `([A-Za-z_.]+)`)?", text)
    assert any(name for _, name in found)
    for file, name in found:
        paths = [one for one in (REPOSITORY / "recoseg" / file, REPOSITORY / file) if one.is_file()]
        assert paths, file
        text = paths[0].read_text(encoding="utf-8")
        for part in filter(None, name.split(".")):
            assert re.search(rf"(def|class) {part}\b|^\s*{part}\b", text, re.MULTILINE), name
