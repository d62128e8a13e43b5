"""The paper's pictures of whole runs."""

from __future__ import annotations

import json
import shutil

import pytest
from PIL import Image

from recoseg.cli.main import main
from recoseg.cli.picture import SUBCOMMANDS
from recoseg.training.run_folder import run_names


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny, classmix_and_contrast):
    """Two runs on the same data: one without a representation head, one with."""
    root = tmp_path_factory.mktemp("trained")
    assert main(["train", "--out", str(root / "plain"), *tiny]) == 0
    settings = [*tiny, *classmix_and_contrast, "--split.labels=3", "--split.random=true", "--split.pixels=5%"]
    assert main(["train", "--out", str(root / "reco"), *settings]) == 0
    return root


@pytest.fixture
def runs(trained, tmp_path):
    """Copies in the folder that `recoseg` works in."""
    for name in ("plain", "reco"):
        shutil.copytree(trained / name, tmp_path / name)
        (tmp_path / name / "survey.json").unlink(missing_ok=True)
    return tmp_path


def test_relations_of_two_runs_and_their_numbers(recoseg, runs) -> None:
    outcome = recoseg("picture", "relations", "plain", "reco", "--out", "a.png")
    assert outcome.code == 0
    assert outcome.out.endswith("numbers: a.json\npicture: a.png\n")
    assert max(map(len, outcome.out.splitlines())) <= 80
    numbers = json.loads((runs / "a.json").read_text())
    assert [(graph["run"], graph["embedding"]) for graph in numbers["graphs"]] == [
        ("plain", "Z"), ("reco", "Z"), ("reco", "R"),
    ]  # fmt: skip
    classes = numbers["classes"]
    for graph in numbers["graphs"]:
        assert len(graph["graph"]) == len(classes)
        known = [k for k in range(len(classes)) if k not in graph["absent"]]
        pairs = [graph["graph"][a][b] for a in known for b in known if a != b]
        assert graph["mean_similarity"] == pytest.approx(sum(pairs) / len(pairs))
        assert sorted(graph["leaves"]) == graph["linkage_classes"] == known
        assert f"{graph['mean_similarity']:.3f}" in outcome.out
    with Image.open(runs / "a.png") as picture:
        assert picture.width > picture.height
    assert (runs / "plain" / "survey.json").is_file()


def test_the_order_can_follow_the_tree(recoseg, runs) -> None:
    for order in ("data", "dendrogram"):
        assert recoseg("picture", "relations", "plain", "--out", f"{order}.svg", "--order", order).code == 0
    assert (runs / "data.svg").read_bytes() != (runs / "dendrogram.svg").read_bytes()
    assert (runs / "data.json").read_bytes() == (runs / "dendrogram.json").read_bytes()


@pytest.mark.parametrize(
    ("kind", "words", "ending"),
    [
        ("predictions", ["plain", "reco", "--arrows", "--zoom"], "png"),
        ("predictions", ["plain", "reco", "--arrows", "--zoom"], "svg"),
        ("predictions", ["plain", "reco", "--arrows", "--zoom"], "pdf"),
        ("queries", ["plain", "reco"], "svg"),
        ("labels", ["reco"], "pdf"),
        ("curves", ["plain", "reco"], "svg"),
    ],
)
def test_a_picture_is_the_same_file_each_time(recoseg, runs, kind, words, ending) -> None:
    for name in ("a", "b"):
        outcome = recoseg("picture", kind, *words, "--out", f"{name}.{ending}")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.endswith(f"picture: {name}.{ending}\n")
    content = (runs / f"a.{ending}").read_bytes()
    assert content == (runs / f"b.{ending}").read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])


def test_a_picture_goes_into_the_first_run_and_is_drawn_afresh(recoseg, runs) -> None:
    for _ in range(2):
        assert recoseg("picture", "curves", "plain").out == "picture: plain/pictures/curves.png\n"


def test_curves_show_every_part_of_the_loss_and_how_the_contrast_ranks(recoseg, runs) -> None:
    (runs / "reco" / "weights.safetensors").unlink()  # they need none
    assert recoseg("picture", "curves", "plain", "reco", "--out", "a.svg").code == 0
    text = (runs / "a.svg").read_text()
    for title in ("Mean IoU", "Loss: supervised", "Loss: unsupervised", "Loss: contrast", "ranked first"):
        assert title in text
    assert recoseg("picture", "curves", "plain", "--out", "b.svg").code == 0
    assert "Loss: supervised" not in (runs / "b.svg").read_text()  # it is the loss


def test_images_are_chosen_by_key_or_number(recoseg, runs) -> None:
    outcome = recoseg("picture", "predictions", "plain", "--count", "1", "--out", "a.png")
    assert outcome.out.startswith("images: val/00000\n")
    outcome = recoseg("picture", "predictions", "plain", "--out", "b.png", "--images", "train/00001")
    assert outcome.out.startswith("images: train/00001\n")
    outcome = recoseg("picture", "queries", "plain", "--image", "val/00001", "--out", "c.svg")
    assert outcome.out.startswith("image: val/00001\n")
    assert "(≤ 0.97)" in (runs / "c.svg").read_text()
    assert recoseg("picture", "queries", "plain", "--hard-below", "0.5", "--out", "d.svg").code == 0
    assert "(≤ 0.5)" in (runs / "d.svg").read_text()


def test_an_image_without_labels_is_judged_by_the_networks_own(recoseg, photos, tiny, tmp_path) -> None:
    settings = [word for word in tiny if not word.startswith("--data.")]
    assert recoseg("train", "--data", photos, "--out", "own", *settings).code == 0
    outcome = recoseg("picture", "queries", "own", "--image", "p7", "--out", "a.svg")
    assert outcome.code == 0, outcome.err
    assert "Confidence in the own label" in (tmp_path / "a.svg").read_text()
    assert recoseg("picture", "predictions", "own", "--images", "p7", "--out", "b.svg").code == 0
    assert "undefined" in (tmp_path / "b.svg").read_text()


def test_runs_of_other_classes_share_no_picture_but_curves(recoseg, runs, photos, tiny) -> None:
    settings = [word for word in tiny if not word.startswith("--data.")]
    assert recoseg("train", "--data", photos, "--out", "other", *settings).code == 0
    for kind in ("relations", "queries", "predictions"):
        outcome = recoseg("picture", kind, "plain", "other", "--out", "a.png")
        assert (outcome.code, outcome.err) == (
            1,
            "recoseg: 'other' has other classes than 'plain': draw them one by one\n",
        )
    assert recoseg("picture", "curves", "plain", "other", "--out", "a.png").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["relation", "plain"], "unknown picture 'relation'; did you mean 'relations'?"),
        ([], "required: KIND"),
        (["curves"], "required: RUN"),
        (["curves", "nowhere"], "no run folder at nowhere"),
        (["curves", "plain", "--out", "a.jpg"], "a.jpg: a picture's name ends in .png, .svg, .pdf"),
        (["curves", "plain", "--out", "no/a.png"], "there is no folder no"),
        (["curves", "plain", "--force"], "--force has no effect without --out"),
        (["curves", "plain", "--order", "data"], "unexpected argument '--order'"),
        (["relations", "plain", "./plain"], "a run is named twice"),
        (["labels", "plain", "reco"], "labels are those of one run, and 2 are given"),
        (["labels", "reco", "--image", "nobody"], "no labelled training image has this key"),
        (["queries", "plain", "--image", "val/0001"], "no image of this key; one that it has is 'val/00001'"),
        (["queries", "plain", "--hard-below", "2"], "hard_below"),
        (["predictions", "plain", "--images", "x"], "--images x: the dataset has no image of this key"),
        (["predictions", "plain", "--count", "0"], "--count must be at least 1"),
        (["predictions", "plain", "--count", "2", "--images", "x"], "not allowed with argument"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(recoseg, runs, words, message) -> None:
    outcome = recoseg("picture", *words)
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_file_of_somebodys_is_not_written_over(recoseg, runs) -> None:
    (runs / "a.json").write_text("mine")
    outcome = recoseg("picture", "relations", "plain", "--out", "a.png")
    assert "a.json exists already" in outcome.err
    assert recoseg("picture", "relations", "plain", "--out", "a.png", "--force").code == 0


@pytest.mark.parametrize("kind", ["relations", "queries", "predictions"])
def test_a_run_without_weights_is_one_clear_line(recoseg, runs, kind) -> None:
    (runs / "plain" / "weights.safetensors").unlink()
    outcome = recoseg("picture", kind, "plain")
    assert outcome.code in (1, 2)
    assert outcome.err == "recoseg: plain has no weights yet: train it to its first evaluation\n"


def test_a_run_that_logged_nothing_has_no_curves(recoseg, runs) -> None:
    for name in ("metrics.jsonl", "losses.jsonl"):
        (runs / "plain" / name).unlink()
    assert "nothing is logged yet" in recoseg("picture", "curves", "plain").err


@pytest.mark.parametrize("kind", SUBCOMMANDS)
def test_every_kind_has_help(recoseg, kind) -> None:
    outcome = recoseg("picture", kind, "--help")
    assert outcome.code == 0
    assert f"recoseg picture {kind}" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_runs_of_one_name_are_told_apart_by_their_folders() -> None:
    assert run_names(["a/x", "b/y"]) == ["x", "y"]
    assert run_names(["a/x", "b/x"]) == ["a/x", "b/x"]
    assert run_names(["a/c/x", "b/c/x"]) == ["a/c/x", "b/c/x"]
    assert run_names(["/"]) == ["/"]
