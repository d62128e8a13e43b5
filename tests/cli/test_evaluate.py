"""Scores of a trained run from the command line: table, file, protocols, and what people get wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from recoseg.cli.evaluate import show
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import ScoreCounter, Seen
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import Evaluation


@pytest.fixture
def trained(trained_run, small):
    return trained_run("run", *small, "--train.best-on=val")


@pytest.fixture
def trained_on_photos(recoseg, small, photos, tmp_path):
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    outcome = recoseg("train", "--data", photos, "--out", "run", *settings)
    assert outcome.code == 0, outcome.err
    return tmp_path / "run"


def plain(run, name: str = "val"):
    return json.loads((run / "evaluation" / f"{name}.json").read_text())


def test_scores_are_shown_and_written_and_are_those_of_training(recoseg, trained, lines) -> None:
    outcome = recoseg("evaluate", "run")
    assert outcome.code == 0, outcome.err
    scores, logged = plain(trained), lines(trained / "metrics.jsonl")[-1]
    assert {name: scores[name] for name in ("mean_iou", "accuracy", "iou", "confusion")} == {
        name: logged[name] for name in ("mean_iou", "accuracy", "iou", "confusion")
    }
    assert (scores["protocol"], scores["subset"], scores["weights"]) == ("whole image", "val", "last")
    assert (scores["num_images"], scores["iteration"], scores["data"]["name"]) == (3, 4, "scenes")
    assert scores["boundary_rule"] == {"dilation": "2%", "tolerance": "0.75%", "band": "1%"}
    assert scores["recoseg"]
    assert outcome.out.startswith(
        "run:      run, last weights, iteration 4\ndata:     scenes, val, 3 images\n"
    )
    assert "protocol: whole image\n" in outcome.out
    assert outcome.out.endswith("scores: run/evaluation/val.json\n")
    mean = next(line for line in outcome.out.splitlines() if line.split()[:1] == ["mean"]).split()[1:]
    assert mean[0] == f"{100 * scores['mean_iou']:.1f}"
    assert mean[2:] == [
        f"{100 * scores['boundary'][name]:.1f}" for name in ("mean_iou", "mean_f_score", "near_mean_iou")
    ]
    assert max(len(line) for line in outcome.out.splitlines()) <= 80


def test_a_file_can_be_read_back_by_its_own_reader(recoseg, trained) -> None:
    assert recoseg("evaluate", "run").code == 0
    evaluation = Evaluation.load(trained / "evaluation" / "val.json")
    assert evaluation.scores.mean_iou == plain(trained)["mean_iou"]
    assert evaluation.class_names[0] == "road"
    assert evaluation.about["protocol"] == "whole image"


@pytest.mark.parametrize(
    ("options", "name", "protocol"),
    [
        ("--subset train", "train", "whole image"),
        ("--weights best", "val_best", "whole image"),
        ("--window 32 --overlap 0.5", "val_window-32_overlap-0.5", "windows of 32, overlap 0.5"),
        ("--flip --scales 0.75 1", "val_flip_scales-0.75-1", "whole image, flipped, scales 0.75 1"),
        ("--no-boundary", "val_no-boundary", "whole image"),
        ("--tolerance 3 --band 0.5%", "val_tolerance-3_band-0.5pct", "whole image"),
        ("--scales 1 --tolerance 0.75% --boundary", "val", "whole image"),
    ],
)
def test_other_choices_have_files_of_their_own(recoseg, trained, options, name, protocol) -> None:
    outcome = recoseg("evaluate", "run", *options.split())
    assert outcome.code == 0, outcome.err
    assert [path.name for path in (trained / "evaluation").iterdir()] == [f"{name}.json"]
    assert plain(trained, name)["protocol"] == protocol
    assert f"protocol: {protocol}\n" in outcome.out


def test_the_best_weights_are_other_weights(recoseg, trained, small, lines, tmp_path) -> None:
    assert recoseg("train", "--out", "other", *small, "--train.seed=5").code == 0
    shutil.copy(tmp_path / "other" / "weights.safetensors", trained / "best.safetensors")
    assert recoseg("evaluate", "run", "--weights", "best").code == 0
    other, own = (lines(run / "metrics.jsonl")[-1]["confusion"] for run in (tmp_path / "other", trained))
    assert plain(trained, "val_best")["confusion"] == other != own


def test_without_boundary_scores_none_are_shown(recoseg, trained) -> None:
    outcome = recoseg("evaluate", "run", "--no-boundary")
    assert "oundary" not in outcome.out.removesuffix("scores: run/evaluation/val_no-boundary.json\n")
    assert "boundary" not in plain(trained, "val_no-boundary")


def test_other_images_of_the_same_classes_can_be_judged(recoseg, trained) -> None:
    outcome = recoseg("evaluate", "run", "--data.num-val", "2", "--data.seed", "7")
    assert outcome.code == 0, outcome.err
    (path,) = (trained / "evaluation").iterdir()
    assert path.name.startswith("val_scenes-")
    assert json.loads(path.read_text())["num_images"] == 2
    assert (
        recoseg("evaluate", "run", "--data", "scenes", "--data.height", "40", "--data.width", "70").code == 0
    )
    assert len(list((trained / "evaluation").iterdir())) == 2


def test_another_folder_with_the_same_classes_can_be_judged(
    recoseg, trained_on_photos, photos, tmp_path
) -> None:
    shutil.copytree(photos, tmp_path / "more")
    outcome = recoseg("evaluate", "run", "--data", "more", "--subset", "train")
    assert outcome.code == 0, outcome.err
    (path,) = (trained_on_photos / "evaluation").iterdir()
    assert path.name.startswith("train_more-")
    assert json.loads(path.read_text())["data"]["root"] == str(tmp_path / "more")


def test_all_labelled_images_of_another_folder_are_scored_and_nothing_is_written_there(
    recoseg, trained_on_photos, photos, tmp_path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(photos, other)
    (other / "val.txt").unlink()
    (other / "images" / "p1.jpg").rename(other / "images" / "q1.jpg")
    (other / "labels" / "p1.png").rename(other / "labels" / "q1.png")
    before = sorted(path for path in other.rglob("*"))
    outcome = recoseg("evaluate", "run", "--data", other)
    assert outcome.code == 0, outcome.err
    assert "other, all 6 labelled images\n" in outcome.out
    assert sorted(path for path in other.rglob("*")) == before
    (path,) = (trained_on_photos / "evaluation").iterdir()
    assert path.name.startswith("all_other-")
    assert json.loads(path.read_text())["num_images"] == 6
    (other / "val.txt").write_text("p0\np2\n")
    outcome = recoseg("evaluate", "run", "--data", other)
    assert "other, val, 2 of 6 labelled images; --subset all" in outcome.out


def test_one_labelled_image_of_another_folder_can_be_scored(
    recoseg, trained_on_photos, photos, tmp_path
) -> None:
    other = tmp_path / "other"
    for kind, name in (("images", "p0.jpg"), ("labels", "p0.png")):
        (other / kind).mkdir(parents=True)
        shutil.copy(photos / kind / name, other / kind)
    (other / "classes.json").write_text(json.dumps({"names": ["class_0", "class_1", "class_2"]}))
    outcome = recoseg("evaluate", "run", "--data", other)
    assert outcome.code == 0, outcome.err
    assert "other, all 1 labelled image\n" in outcome.out


def test_training_images_are_not_scored_where_the_data_has_moved(
    recoseg, trained_on_photos, photos, tmp_path
) -> None:
    shutil.copytree(photos, tmp_path / "moved")
    (tmp_path / "moved" / "val.txt").unlink()  # as in a folder that could not be written to
    outcome = recoseg("evaluate", "run", "--data", "moved")
    assert outcome.code == 0, outcome.err
    assert "moved, val, 1 of 6 labelled images" in outcome.out


def test_folds_of_the_run_do_not_divide_another_folder(recoseg, small, photos, tmp_path) -> None:
    settings = [word for word in small if not word.startswith(("--data.", "--split."))]
    folds = ["--data.folds=3", "--data.fold=2"]
    assert recoseg("train", "--data", photos, "--out", "run", *settings, *folds).code == 0
    shutil.copytree(photos, tmp_path / "moved")
    assert "val, 2 of 6 labelled images" in recoseg("evaluate", "run", "--data", "moved").out
    (tmp_path / "moved" / "labels" / "p5.png").unlink()
    assert "all 5 labelled images" in recoseg("evaluate", "run", "--data", "moved").out


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a", "b"], "the network was trained on 3 classes and the data has 2"),
        (["a", "b", "c"], "class 0 is "),
    ],
)
def test_data_of_other_classes_is_refused(
    recoseg, trained_on_photos, photos, tmp_path, classes, message
) -> None:
    other = tmp_path / "other"
    shutil.copytree(photos, other)
    (other / "classes.json").write_text(json.dumps({"names": classes}))
    if len(classes) == 2:
        for path in (other / "labels").glob("*.png"):
            Image.fromarray(np.minimum(np.array(Image.open(path)), 1)).save(path)
    outcome = recoseg("evaluate", "run", "--data", "other")
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (trained_on_photos / "evaluation").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--subset", "vla"], "unknown subset 'vla'; did you mean 'val'? Known: train, val, test"),
        (["--subset", "test"], "scenes: no images in test; subsets with labels: train, val"),
        (["--windw", "64"], "unexpected argument '--windw'; did you mean '--window'?"),
        (["--train.seed", "3"], "unexpected argument '--train.seed'"),
        (["--overlap", "0.5"], "--overlap has no effect without --window"),
        (["--window", "20"], "window: got 20, needs a whole number of at least 32 pixels"),
        (["--tolerance", "3px"], "--tolerance: got '3px', needs pixels above 0"),
        (["--no-boundary", "--band", "3"], "--band has no effect with --no-boundary"),
        (["--force"], "--force has no effect without --out"),
        (["--out", "there/is/no.json"], "--out there/is/no.json: there is no folder"),
        (["--data", "nowhere/at/all"], "nowhere/at/all"),
        (
            ["--data.heigth", "64"],
            "did you mean --data.height?",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(recoseg, trained, words, message) -> None:
    outcome = recoseg("evaluate", "run", *words)
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (trained / "evaluation").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "weights.safetensors").unlink(), "has no weights yet"),
        (lambda run: (run / "weights.safetensors").write_bytes(b"\x08junk"), "not a readable weights file"),
        (lambda run: (run / "config.yaml").unlink(), "is not a run of recoseg"),
    ],
)
def test_a_run_that_is_not_whole_is_one_clear_line(recoseg, trained, damage, message) -> None:
    damage(trained)
    outcome = recoseg("evaluate", "run")
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_weights_of_another_class_count_are_refused(recoseg, trained_on_photos, photos, small) -> None:
    """The weights of another run, of 16 classes, in the place of those of three."""
    assert recoseg("train", "--out", "scenes", *small).code == 0
    shutil.copy(trained_on_photos.parent / "scenes" / "weights.safetensors", trained_on_photos)
    outcome = recoseg("evaluate", "run")
    assert outcome.code in (1, 2)
    assert "the network was trained on 16 classes and the data has 3" in outcome.err


def test_a_kept_file_is_written_over_only_by_force(recoseg, trained, tmp_path) -> None:
    (tmp_path / "mine.json").write_text("mine")
    outcome = recoseg("evaluate", "run", "--out", "mine.json")
    assert outcome.code in (1, 2)
    assert "mine.json exists already" in outcome.err
    assert (tmp_path / "mine.json").read_text() == "mine"
    assert recoseg("evaluate", "run", "--out", "mine.json", "--force").code == 0
    assert json.loads((tmp_path / "mine.json").read_text())["subset"] == "val"
    assert not (trained / "evaluation").exists()


def test_the_run_may_be_evaluated_again_and_again(recoseg, trained) -> None:
    first = recoseg("evaluate", "run")
    before = (trained / "evaluation" / "val.json").read_bytes()
    assert recoseg("evaluate", "run").out == first.out
    assert (trained / "evaluation" / "val.json").read_bytes() == before


def shown(scores: Scores, names: list[str], capsys) -> str:
    about = {
        "weights": "last", "iteration": 1, "data": {"name": "made up"}, "subset": "val", "num_images": 1,
        "protocol": "whole image", "boundary_rule": BoundaryRule().as_plain(),
    }  # fmt: skip
    console = Console(width=80, highlight=False, markup=False, color_system=None)
    evaluation = Evaluation(scores=scores, class_names=tuple(names), about=about)
    show(evaluation, console, run=Path("run"))
    return capsys.readouterr().out


def test_a_class_without_pixels_is_a_dash_and_said_to_be_left_out(capsys) -> None:
    scores = Scores(torch.tensor([[6, 2, 0, 0], [0, 4, 0, 4], [0, 0, 0, 0], [0, 0, 0, 0]]))
    out = shown(scores, ["sky", "sea", "sand", "ship"], capsys)
    rows = {line.split()[1]: line.split()[2:] for line in out.splitlines() if line[:2].strip().isdigit()}
    assert rows["sky"] == ["75.0", "75.0"]
    assert rows["sand"] == ["–", "–"]
    assert rows["ship"] == ["0.0", "–"]
    assert "Left out of the means, neither labelled nor predicted: sand." in out
    assert "Predicted, but not in the labels: ship. Their IoU is 0." in out
    mean = (75 + 40 + 0) / 3
    assert f"mean {mean:.1f} {(75 + 50) / 2:.1f}" in " ".join(out.split())
    words = out[out.index("Most confused") :].split()
    assert words[-8:] == ["sea", "ship", "50.0%", "4", "sky", "sea", "25.0%", "2"]


@pytest.mark.parametrize("num_classes", [2, 150])
def test_the_table_fits_a_terminal_with_few_and_with_many_classes(num_classes, capsys) -> None:
    generator = torch.Generator().manual_seed(0)
    maps = torch.randint(0, num_classes, (2, 1, 30, 40), generator=generator).to(torch.uint8)
    counter = ScoreCounter(num_classes, boundary=BoundaryRule())
    counter.add(Seen(maps[0], maps[1]))
    names = [f"a rather long name for the class with number {number}" for number in range(num_classes)]
    out = shown(counter.scores(), names, capsys)
    assert max(len(line) for line in out.splitlines()) <= 80
    assert out.count("a rather long") >= num_classes
    assert "…" not in out


def test_perfect_predictions_have_no_confusions(capsys) -> None:
    assert "confused" not in shown(Scores(torch.eye(3, dtype=torch.int64)), ["a", "b", "c"], capsys)


def test_options_that_are_suggested_can_be_given(recoseg, trained) -> None:
    message = recoseg("evaluate", "run", "--windw", "64").err
    told = message.partition("Known: ")[2].strip().split(", ")
    help_text = recoseg("evaluate", "--help").out
    assert "--window" in told
    assert [option for option in told if option not in help_text] == []


def test_the_table_says_how_sure_the_mean_is(recoseg, trained) -> None:
    outcome = recoseg("evaluate", "run")
    low, high = plain(trained)["mean_iou_interval"]
    assert 0 <= low <= plain(trained)["mean_iou"] <= high <= 1
    told = " ".join(outcome.out.split())
    assert f"95% bootstrap interval {100 * low:.1f} to {100 * high:.1f} over 3 images" in told


def test_one_image_has_no_interval(recoseg, trained) -> None:
    outcome = recoseg("evaluate", "run", "--data.num-val=1", "--out", "one.json")
    assert "too few for a confidence interval" in outcome.out
    assert json.loads((trained.parent / "one.json").read_text())["mean_iou_interval"] is None
