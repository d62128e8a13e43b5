"""Files that recoseg wrote itself, damaged since: one line that names the file and what is wrong in it.

A new fault is one line: a row of REFUSED with a name, what to do to the world, the command, and what its one
line of error says. A new file is one row of FILES: its fields are then damaged in all ways that are wrong.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from recoseg.cli.main import main
from recoseg.config.load import to_yaml
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import Evaluation
from recoseg.experiments.plan.cells import cell_at
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.tables.results import Result

GONE = object()
VALUES: dict[str, Any] = {
    "gone": GONE, "null": None, "text": "x", "negative": -1, "fraction": 0.5, "huge": 10**30,
    "NaN": math.nan, "a list": [], "an object": {},
}  # fmt: skip
"""What may stand in place of a value."""

CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda old: old[: len(old) // 2],
    "not UTF-8": lambda _: b'{"\xff\xfe": 1}\n',
    "zeros": lambda old: bytes(len(old)) + b"\n",
    "no JSON": lambda _: b"<html>\n",
    "a number": lambda _: b"3\n",
    "null": lambda _: b"null\n",
    "a list": lambda _: b"[1]\n",
    "no fields": lambda _: b"{}\n",
    "nested too deep": lambda _: b"[" * 100_000 + b"\n",
    "5000 digits": lambda _: b'{"iteration": ' + b"9" * 5000 + b"}\n",
}
"""What may stand in place of all that a file holds."""


def edit_text(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def edit_header(path: Path, change: Callable[[bytes], bytes]) -> None:
    """The JSON in the header of a weights file."""
    with safe_open(path, framework="pt") as file:
        header = file.metadata()["recoseg"]
    save_file(load_file(path), path, {"recoseg": change(header.encode()).decode(errors="replace")})


def edit_state(path: Path, change: Callable[[Any], object]) -> None:
    state = torch.load(path, weights_only=True)
    change(state)
    path.with_name("state.previous.pt").unlink(missing_ok=True)
    torch.save(state, path)


def put(content: Any, name: str, value: Any) -> None:
    """Put a value at a dotted name, or take away what is there."""
    *parents, last = [int(word) if word.isdigit() else word for word in name.split(".")]
    for parent in parents:
        content = content[parent]
    if value is GONE:
        del content[last]
    else:
        content[last] = value


def put_json(text: bytes, name: str, value: Any) -> bytes:
    """The same in the first record of a file."""
    lines = text.splitlines(keepends=True)
    count = len(lines) if lines[0].strip() == b"{" else 1  # one record over many lines, or one a line
    content = json.loads(b"".join(lines[:count]))
    put(content, name, value)
    return json.dumps(content).encode() + b"\n" + b"".join(lines[count:])


def make_cell(world, seed: int = 0) -> Path:
    """A run of a grid that is trained to its end, with its scores and its result."""
    out = world.path / "cells"
    cell = cell_at(load_profile("tiny"), "scenes-10", "classmix", seed, out=out, data={}, lists=None)
    shutil.copytree(world.run, cell.folder, ignore=shutil.ignore_patterns("*.pt"))
    config = cell.config
    (cell.folder / "config.yaml").write_text(to_yaml(config))
    line = (world.run / "metrics.jsonl").read_bytes().splitlines()[-1]
    (cell.folder / "metrics.jsonl").write_bytes(put_json(line, "iteration", config.train.iterations))
    scores = Scores(torch.tensor([[3, 1], [0, 4]]))
    about = {"iteration": config.train.iterations, "subset": "val", "weights": "last"}
    Evaluation(scores=scores, class_names=("a", "b"), about=about).save(cell.scores)
    result = Result(
        profile="tiny", column="scenes-10", row="classmix", seed=seed, subset="val", pixels=8, mean_iou=0.7,
        accuracy=0.8, boundary_iou=None, boundary_f_score=None, iou={"a": 0.7, "b": None}, curve=((1, 0.5),),
        iterations=config.train.iterations, seconds=3.0, machine="m", versions="v",
        settings=dict(cell.settings),
    )  # fmt: skip
    result.save(cell.folder / "result.json")
    result.save(world.path / "results.jsonl")
    return cell.folder


def make_partial_split(world) -> None:
    assert main(["split", "photos", "--pixels", "1", "--out", "split.json"]) == 0


def make_predictions(world) -> None:
    (world.path / "masks").mkdir()
    (world.path / "masks" / "predictions.json").write_text('{"weights": "0123", "looks": "whole image"}')


def make_prepared(world) -> None:
    assert main(PREPARE.split()) == 0


def make_imported(world) -> None:
    assert main(["export-labels", "photos", "masks.json"]) == 0
    assert main(IMPORT.split()) == 0


IMPORT = "import masks.json new --images photos/images --workers 1"
PREPARE = "prepare folder photos small --scale 0.5 --workers 1"
TABLE = "experiments table scenes --profile tiny"
CELL = "cells/tiny/scenes-10/classmix/seed-0"
RESULT = f"{CELL}/result.json"


@dataclass(frozen=True)
class File:
    """A file, the command that reads it, and its fields: dotted name -> values that are right there."""

    path: str
    words: str
    fields: dict[str, str] = field(default_factory=dict)
    harmless: str = ""  # contents that are passed over, by design
    other: str = ""  # contents that another line tells of: a row of REFUSED
    make: Callable[[Any], object] = lambda world: None
    edit: Callable[[Path, Callable[[bytes], bytes]], None] = edit_text


FILES = [
    File(
        "run/metrics.jsonl",
        "status run",
        {"iteration": "", "mean_iou": "null, fraction", "confusion": "a list"},
        harmless="empty, half",
    ),
    File(
        "run/losses.jsonl",
        "status run",
        {"iteration": "", "seconds": "fraction, huge"},
        harmless="empty, half",
    ),
    File(
        "split.json",
        "describe photos --split split.json",
        {"labelled": "a list", "points": "", "class_counts": "gone, an object"},
        make=make_partial_split,
    ),
    File(
        RESULT,
        "experiments show scenes --profile tiny --runs cells",
        {"column": "", "mean_iou": "fraction", "iou": "an object", "curve.0": "gone"},
        make=make_cell,
    ),
    File(
        "results.jsonl",
        f"{TABLE} --results results.jsonl",
        {"iterations": ""},
        make=make_cell,
    ),
    File(
        "run/weights.safetensors",
        "predict run photos/images/p0.png -o masks",
        {"classes": "", "palette.0": ""},
        edit=edit_header,
    ),
    File(
        "masks/predictions.json",
        "predict run photos/images -o masks --force",
        {"weights": "gone, text"},
        other="no fields",
        make=make_predictions,
    ),
    File(
        "small/prepare.json",
        PREPARE,
        {"classes": "a list", "height": "null"},
        make=make_prepared,
    ),
    File("new/import.json", IMPORT, {"classes": "a list", "thickness": ""}, make=make_imported),
    File(
        "new/imported.jsonl",
        IMPORT,
        {"key": "text", "pixels": "an object", "notes": "an object"},
        other="empty, half",  # what is not in the log is drawn again
        make=make_imported,
    ),
]  # fmt: skip


def damaged_fields() -> Iterator[Any]:
    for file in FILES:
        for name, right in file.fields.items():
            for kind, value in VALUES.items():
                if kind not in right.split(", "):
                    change = partial(put_json, name=name, value=value)
                    yield pytest.param(file, change, id=f"{file.path}: {name} is {kind}")


def damaged_contents(*, harmless: bool) -> Iterator[Any]:
    for file in FILES:
        for kind, change in CONTENTS.items():
            if (kind in file.harmless.split(", ")) == harmless and kind not in file.other.split(", "):
                yield pytest.param(file, change, id=f"{file.path}: {kind}")


@pytest.mark.parametrize(("file", "change"), [*damaged_fields(), *damaged_contents(harmless=False)])
def test_a_file_with_anything_wrong_in_it_is_named_in_one_line(file, change, world, refused):
    file.make(world)
    refused(lambda w: file.edit(w.path / file.path, change), file.words, file.path)


@pytest.mark.parametrize(("file", "change"), list(damaged_contents(harmless=True)))
def test_a_file_that_a_crash_left_so_does_no_harm(file, change, world, survived):
    file.make(world)
    survived(lambda w: file.edit(w.path / file.path, change), file.words, "run")


def field_of(path: str, name: str, value: Any, make: Callable[[Any], object] = lambda world: None):
    """A plant that changes one field of a file, made first where it is not there."""

    def plant(world) -> None:
        make(world)
        edit_text(world.path / path, partial(put_json, name=name, value=value))

    return plant


def content_of(path: str, kind: str, make: Callable[[Any], object] = lambda world: None):
    def plant(world) -> None:
        make(world)
        edit_text(world.path / path, CONTENTS[kind])

    return plant


def cut_inside(path: str):
    """A line that is cut short, and another after it: no crash does that."""

    def plant(world) -> None:
        lines = (world.path / path).read_text().splitlines(keepends=True)
        (world.path / path).write_text(lines[0] + lines[1][:20] + "\n" + lines[1])

    return plant


def no_file(path: str, make: Callable[[Path], object]):
    """Something else in the place of a file."""

    def plant(world) -> None:
        (world.path / path).unlink()
        make(world.path / path)

    return plant


def with_masks(world) -> None:
    assert main(["predict", "run", "photos/images", "-o", "masks"]) == 0


RESUME, PAGE, CURVES = "train --resume run --no-page", "report run --pictures 0", "picture curves run"
STATUS, AGAIN = "status run", "predict run photos/images -o masks --resume"
METRICS, LOSSES, SPLIT, WEIGHTS = (
    f"run/{name}" for name in ("metrics.jsonl", "losses.jsonl", "split.json", "weights.safetensors")
)
RESULTS = f"{TABLE} --results results.jsonl"

REFUSED = [
    ("half a config", content_of("run/config.yaml", "half"), "evaluate run", "run/config.yaml"),
    # logs
    ("metrics for a page", field_of(METRICS, "iteration", "x"), PAGE,
     f'{METRICS} line 1: iteration must be a whole number, not "x"'),
    ("metrics for a picture", field_of(METRICS, "accuracy", []), CURVES,
     f"{METRICS} line 1: accuracy must be a number or null, not a list"),
    ("metrics for resuming", cut_inside(METRICS), RESUME, f"{METRICS} line 2: not JSON, or cut short"),
    ("losses for a page", cut_inside(LOSSES), PAGE, f"{LOSSES} line 2: not JSON, or cut short"),
    ("losses for a picture", field_of(LOSSES, "supervised", "x"), CURVES,
     f"{LOSSES} line 1: supervised must be a number or null"),
    ("losses for resuming", field_of(LOSSES, "iteration", None), RESUME,
     f"{LOSSES} line 1: iteration must be a whole number, not null"),
    ("negative confusion", field_of(METRICS, "confusion.0.1", -3), STATUS, "confusion[0][1] must be at"),
    ("a confusion that is not square", field_of(METRICS, "confusion.1", [3]), STATUS,
     "confusion[1] must have 2 entries, not 1"),
    ("scores of a class more", field_of(METRICS, "iou", [1, 1, 1]), STATUS, "iou must have 2 entries, not 3"),
    ("a choice on nothing", field_of(METRICS, "selection", {"mean_iou": 1}), STATUS,
     "selection.on is missing"),
    ("stats in a list", field_of(LOSSES, "stats", [1]), STATUS, "stats must be an object, not a list"),
    ("a folder as log", no_file(METRICS, Path.mkdir), STATUS, f"{METRICS} is not a file"),
    ("a pipe as log", no_file(LOSSES, os.mkfifo), STATUS, f"{LOSSES} is not a file"),
    # splits
    ("a pipe as split", no_file(SPLIT, os.mkfifo), PAGE, "it has no split.json"),
    ("a split of other images", field_of(SPLIT, "labelled", ["elsewhere"]), RESUME, "1 of its keys are gone"),
    ("a split of another dataset", field_of(SPLIT, "dataset", "x"), RESUME, "it was drawn from dataset 'x'"),
    ("a split of other classes", field_of(SPLIT, "class_counts", {"sky": 1}), RESUME,
     "its classes are others"),
    ("half a split for resuming", content_of(SPLIT, "half"), RESUME, f"{SPLIT}: not JSON, or cut short"),
    ("half a split for a page", content_of(SPLIT, "half"), PAGE, f"{SPLIT}: not JSON, or cut short"),
    # weights
    ("no weights", content_of(WEIGHTS, "empty"), "evaluate run", f"{WEIGHTS}: not a readable weights file"),
    ("half the weights", content_of(WEIGHTS, "half"), PAGE, f"{WEIGHTS}: not a readable weights file"),
    # records of commands that go on
    ("masks of no weights", field_of("masks/predictions.json", "weights", GONE, with_masks), AGAIN,
     "masks holds predictions made otherwise (other weights)"),
    ("masks of something more", field_of("masks/predictions.json", "more", "x", with_masks), AGAIN,
     "masks holds predictions made otherwise (other more)"),
    ("masks of nothing", content_of("masks/predictions.json", "no fields", with_masks), AGAIN,
     "masks holds predictions made otherwise (other weights, looks)"),
    ("other data prepared", field_of("small/prepare.json", "dataset", "x", make_prepared), PREPARE,
     "small was begun with dataset x, not folder"),
    ("other classes prepared", field_of("small/prepare.json", "classes", ["a"], make_prepared), PREPARE,
     "small was begun with classes ['a'], not"),
    ("another size prepared", field_of("small/prepare.json", "scale", None, make_prepared), PREPARE,
     "small was begun with scale None, not 0.5"),
    ("another rule for overlaps", field_of("new/import.json", "overlap", "later", make_imported), IMPORT,
     "new was begun with overlap later, not smaller"),
    # results
    ("a result of another seed", field_of(RESULT, "seed", 7, make_cell), f"{TABLE} --runs cells",
     f"{RESULT} is of seed 7, not 0"),
    ("half a result", content_of(RESULT, "half", make_cell), f"{TABLE} --runs cells",
     f"{RESULT}: not JSON, or cut short"),
    ("unknown settings", field_of("results.jsonl", "settings", {"train.x": 1}, make_cell), RESULTS,
     "results.jsonl: settings of scenes-10/classmix/seed-0: --train.x: unknown setting"),
    ("no results", lambda w: (w.path / "results.jsonl").touch(), RESULTS,
     "results.jsonl has no results in it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "plant", "words", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_damaged_file_of_ours_is_named_in_one_line(name, plant, words, says, refused):
    refused(plant, words, says)


HEADERS = [
    ("classes", ["a", "b", "c"], f"{WEIGHTS}: 3 class names but 2 palette colours"),
    ("classes", ["a", "a"], f"{WEIGHTS}: class names must differ; repeated: a"),
    ("classes", ["a", "b"], "class 0 is 'a' for the network and 'class_0' in the data"),
    ("palette", [[1, 2]] * 2, f"{WEIGHTS}: header: palette[0] must have 3 entries, not 2"),
    ("palette", [[1, 2, 256]] * 2, f"{WEIGHTS}: header: palette[0][2] must be at most 255, not 256"),
    ("surprise", 1, f"{WEIGHTS}: header: surprise is not known"),
]


@pytest.mark.parametrize(("name", "value", "says"), HEADERS)
def test_a_header_of_other_weights_is_told_in_one_line(name, value, says, refused):
    change = partial(put_json, name=name, value=value)
    refused(lambda w: edit_header(w.path / WEIGHTS, change), "evaluate run", says)


TENSOR, STUDENT = "method.student.classifier.1.weight", "optimisers.student"
STATES = [
    ("format", 99, "run/state.pt was written by another version"),
    ("iteration", GONE, "iteration is missing"),
    ("iteration", "x", 'iteration must be a whole number, not "x"'),
    ("iteration", -1, "iteration must be at least 0"),
    ("iteration", 99, "iteration must be at most 2, not 99"),
    ("settings", GONE, "settings is missing"),
    ("settings", [], "settings must be an object, not a list"),
    ("settings", {"train.seed": 7}, "the run was begun with other settings"),
    ("method", GONE, "method is missing"),
    ("method", [1], "method must be an object, not a list"),
    ("method", {}, "method.student."),
    ("method", {"more": "x"}, 'method.more must be a Tensor, not "x"'),
    ("optimisers", {}, f"{STUDENT} is missing"),
    (STUDENT, None, f"{STUDENT} must be an object, not null"),
    (f"{STUDENT}.param_groups", [], f"{STUDENT}.param_groups must have"),
    (
        f"{STUDENT}.param_groups.0.initial_lr",
        GONE,
        f"{STUDENT}.param_groups[0].initial_lr must be 0.0025, not",
    ),
    (f"{STUDENT}.param_groups.0.momentum", 0.1, f"{STUDENT}.param_groups[0].momentum must be 0.9, not 0.1"),
    (f"{STUDENT}.param_groups.0.params", [0], f"{STUDENT}.param_groups[0].params must have"),
    (
        f"{STUDENT}.state.0.momentum_buffer",
        torch.ones(7),
        f"{STUDENT}.state.0.momentum_buffer must have shape",
    ),
    (f"{STUDENT}.state.0", {"more": 1}, f"{STUDENT}.state.0 must have"),
    ("scaler", {"scale": 1.0}, "scaler must have"),
    ("log", GONE, "log is missing"),
    ("log.recent.counts", GONE, "log.recent.counts is missing"),
    ("log.recent.sums", {"loss": torch.ones(1, 1)}, "log.recent.sums.loss must be a row of numbers"),
]


@pytest.mark.parametrize(("name", "value", "says"), STATES)
def test_a_whole_state_of_another_run_is_told_in_one_line(name, value, says, refused):
    line = refused(lambda w: edit_state(w.run / "state.pt", lambda old: put(old, name, value)), RESUME, says)
    assert "state.pt" in line or "settings" in line


TENSORS = [
    (torch.ones(3), f"{TENSOR} must have shape (2, 8, 1, 1), not (3,)"),
    (
        torch.ones(2, 8, 1, 1, dtype=torch.int64),
        f"{TENSOR} must have numbers as torch.float32, not torch.int64",
    ),
    ("x", f"{TENSOR} must be a Tensor"),
]


@pytest.mark.parametrize(("value", "says"), TENSORS)
def test_a_state_with_another_tensor_is_told_in_one_line(value, says, refused):
    def plant(world) -> None:
        name = TENSOR.removeprefix("method.")
        edit_state(world.run / "state.pt", lambda old: old["method"].update({name: value}))

    refused(plant, RESUME, f"run/state.pt: {says}")


SURVEYS = ["empty", "half", "nested too deep", "num_images", "confusion", "relations.Z.graph", "made_from"]


@pytest.mark.parametrize("what", SURVEYS)
def test_a_damaged_survey_is_made_again(what, world, survived):
    good = (world.run / "survey.json").read_bytes()
    change = CONTENTS.get(what) or partial(put_json, name=what, value=[["x"]])
    survived(lambda w: edit_text(w.run / "survey.json", change), PAGE, "page: ")
    assert (world.run / "survey.json").read_bytes() == good


INDEXES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no pixels": ("pixels", lambda old: None),
    "pixels as text": ("pixels", lambda old: old.astype(str)),
    "pixels as fractions": ("pixels", lambda old: old * np.nan),
    "negative pixels": ("pixels", lambda old: -old),
    "another number of classes": ("pixels", lambda old: old[:, :1]),
    "another number of images": ("keys", lambda old: old[:0]),
    "one key": ("keys", lambda old: old[0]),
    "numbers as keys": ("keys", lambda old: np.arange(len(old))),
    "other stamps": ("stamps", lambda old: old[:, :1]),
}
"""An array of the file, and what stands in its place."""


@pytest.mark.parametrize("what", ["empty", "half", "zeros", *INDEXES])
def test_a_damaged_class_index_is_made_again(what, world, survived, tmp_path):
    words = "split photos --labels 1 --workers 1 --force --out split.json"
    assert main(words.split()) == 0
    [path] = (tmp_path / "cache" / "recoseg").glob("*.npz")
    good, arrays = (world.path / "split.json").read_text(), dict(np.load(path))

    def plant(world) -> None:
        if what in CONTENTS:
            edit_text(path, CONTENTS[what])
            return
        name, change = INDEXES[what]
        changed = {**arrays, name: change(arrays[name])}
        np.savez(path, **{name: value for name, value in changed.items() if value is not None})

    survived(plant, words, "1 labelled images")
    assert (world.path / "split.json").read_text() == good
    mended = np.load(path)
    assert all(np.array_equal(mended[name], value) for name, value in arrays.items())


def test_a_damaged_run_does_not_hide_the_others(world, capsys):
    for name in ("a", "b", "c"):
        shutil.copytree(world.run, world.path / "runs" / name, ignore=shutil.ignore_patterns("*.pt"))
    (world.path / "runs/a/config.yaml").write_text("train: {it")
    edit_text(world.path / "runs/b/metrics.jsonl", partial(put_json, name="iteration", value="x"))
    capsys.readouterr()
    assert main(["status"]) == 1
    told = capsys.readouterr()
    assert [word for word in ("runs/a", "runs/b", "runs/c") if word in told.out] == ["runs/c"]
    first, second = told.err.splitlines()
    assert first.startswith("recoseg: runs/a/config.yaml line 1: not valid YAML")
    assert second.startswith(
        'recoseg: runs/b/metrics.jsonl line 1: iteration must be a whole number, not "x"'
    )


def test_a_damaged_run_does_not_hide_the_others_of_its_grid(world, capsys):
    make_cell(world)
    path = make_cell(world, seed=1) / "result.json"
    edit_text(path, CONTENTS["half"])
    for words in ("experiments show scenes --profile tiny --runs cells", f"{TABLE} --runs cells"):
        capsys.readouterr()
        assert main(words.split()) == 1
        told = capsys.readouterr()
        assert "70.0" in told.out
        assert f"{path}: not JSON, or cut short" in told.err
        assert told.err.count("\n") == 1


def test_damaged_scores_are_a_failure_of_that_run_alone(world, capsys):
    """They are read when a run of a grid is done, in a thread."""
    make_cell(world)
    (world.path / CELL / "result.json").unlink()
    edit_text(world.path / CELL / "scores.json", partial(put_json, name="confusion", value=[[-1]]))
    words = "experiments run scenes --profile tiny --runs cells --seeds 0 --only classmix"
    capsys.readouterr()
    assert main(words.split()) == 1
    told = capsys.readouterr()
    assert "scores.json: confusion[0][0] must be" in " ".join(told.out.split())
    assert told.err == ""
