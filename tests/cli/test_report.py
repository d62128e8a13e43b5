"""A page about one run or several, from their folders alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import markupsafe
import pytest

from recoseg.cli.main import main
from recoseg.runs.run_folder import run_names as distinct_names
from recoseg.text import listed


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny) -> Path:
    """A folder with two runs, trained once for all tests here."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, seed in (("one", 0), ("two", 1)):
            assert main(["train", "--out", name, *tiny, f"--train.seed={seed}"]) == 0
    return folder


@pytest.fixture
def two_runs(recoseg, trained, tmp_path) -> None:
    """Copies of them in the folder that `recoseg` works in."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)


def test_two_runs_share_a_page(recoseg, two_runs, tmp_path) -> None:
    outcome = recoseg("report", "one", "two", "--out", "pages/both.html")
    assert (outcome.code, outcome.out) == (0, "page: pages/both.html\n")
    text = (tmp_path / "pages" / "both.html").read_text(encoding="utf-8")
    assert "<title>one and two</title>" in text
    assert "2 validation images" in text
    assert text.count("val/0000") >= 2  # both validation images are shown


def test_unlabelled_images_that_a_method_does_not_use_are_not_counted(recoseg, two_runs, tiny) -> None:
    words = [*tiny, "--split.labels=2"]  # of 6
    for name, method in (("plain", "supervised"), ("mean", "mean_teacher")):
        assert recoseg("train", "--out", name, *words, "--method", method).code == 0
    assert recoseg("report", "plain", "mean", "--out", "both.html").code == 0
    cells = re.findall(
        r'data-label="Unlabelled images">(.*?)<', Path("both.html").read_text(encoding="utf-8")
    )
    assert cells == ["0", "4"]


def test_a_page_can_be_written_again_where_training_put_it(recoseg, two_runs, tmp_path) -> None:
    page = tmp_path / "one" / "report" / "index.html"
    before = page.read_bytes()
    page.unlink()
    assert recoseg("report", "one").code == 0
    assert page.read_bytes() == before


def test_a_file_that_is_no_page_of_ours_is_not_replaced(recoseg, two_runs, tmp_path) -> None:
    (tmp_path / "notes.md").write_text("precious")
    for out, message in (("notes.md", "not a page of recoseg"), (".", "is a folder")):
        outcome = recoseg("report", "one", "--out", out)
        assert outcome.code in (1, 2)
        assert message in outcome.err
    assert (tmp_path / "notes.md").read_text() == "precious"
    for _ in range(2):  # a page of ours may be written again
        assert recoseg("report", "one", "--out", "page.html").code == 0


def test_runs_on_other_classes_do_not_share_a_page(recoseg, two_runs, photos, tiny) -> None:
    settings = [word for word in tiny if not word.startswith("--data.")]
    assert recoseg("train", "--data", photos, "--out", "three", *settings).code == 0
    outcome = recoseg("report", "one", "three", "--out", "page.html")
    assert (outcome.code, outcome.err) == (
        1,
        "recoseg: 'three' has other classes than 'one': give each its own page\n",
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "weights.safetensors").write_bytes(b"\x08junk"), "not a readable weights file"),
        (lambda run: (run / "config.yaml").unlink(), "is not a run of recoseg"),
    ],
)
def test_a_run_that_is_not_whole_is_one_clear_line(recoseg, two_runs, tmp_path, damage, message) -> None:
    damage(tmp_path / "one")
    outcome = recoseg("report", "one")
    assert outcome.code in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_weights_of_another_network_are_refused(recoseg, two_runs, tmp_path) -> None:
    config = tmp_path / "one" / "config.yaml"
    config.write_text(config.read_text().replace("decoder_width: 8", "decoder_width: 16"))
    outcome = recoseg("report", "one")
    assert outcome.code in (1, 2)
    assert "have another shape" in outcome.err


def test_a_run_without_weights_has_a_page_that_says_so(recoseg, two_runs, tmp_path) -> None:
    (tmp_path / "one" / "weights.safetensors").unlink()
    assert recoseg("report", "one", "two", "--out", "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Without weights, so without pictures and relations of classes: one." in text
    assert "Prediction of two for" in text
    assert "Prediction of one for" not in text


def test_a_run_that_has_only_begun_has_a_page_too(recoseg, two_runs, tmp_path) -> None:
    for name in ("weights.safetensors", "metrics.jsonl", "losses.jsonl"):
        (tmp_path / "one" / name).unlink()
    assert recoseg("report", "one", "--out", "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Not evaluated yet: one." in text
    assert "Nothing recorded yet." in text
    assert "This page has no pictures." in text


def test_scores_come_from_the_weights_where_the_log_is_missing(recoseg, two_runs, tmp_path) -> None:
    whole = (tmp_path / "one" / "report" / "index.html").read_text(encoding="utf-8")
    (tmp_path / "one" / "metrics.jsonl").unlink()
    assert recoseg("report", "one", "--out", "page.html").code == 0
    rest = (tmp_path / "page.html").read_text(encoding="utf-8")
    table = re.compile(r"<table class=\"classes.*?</table>", re.DOTALL)
    assert table.findall(whole) == table.findall(rest) != []


def test_training_writes_boundary_scores_confusion_and_relations(recoseg, two_runs, tmp_path) -> None:
    text = (tmp_path / "one" / "report" / "index.html").read_text(encoding="utf-8")
    for part in ("Boundary F", "Confusion matrix of one", "Relation graph of one in Z"):
        assert part in text
    assert "Relation graph of one in R" not in text  # it has no representation head


def test_a_contrast_adds_its_own_relations_and_curves(
    recoseg, small, classmix_and_contrast, tmp_path
) -> None:
    assert recoseg("train", "--out", "reco", *small, *classmix_and_contrast).code == 0
    text = (tmp_path / "reco" / "report" / "index.html").read_text(encoding="utf-8")
    for part in ("Relation graph of reco in R", "Contrast accuracy", "chance level", "regional contrast"):
        assert part in text


@pytest.mark.parametrize(("number", "pictures"), [(0, 0), (1, 1), (20, 2)])
def test_as_many_pictures_as_asked_for_and_there_are(recoseg, two_runs, tmp_path, number, pictures) -> None:
    assert recoseg("report", "one", "--out", "page.html", "--pictures", number).code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('<article class="picture"') == pictures


@pytest.mark.parametrize("number", ["-1", "some", "1.5"])
def test_a_number_of_pictures_that_is_none_is_one_clear_line(recoseg, number) -> None:
    outcome = recoseg("report", "one", f"--pictures={number}")
    assert (outcome.code, outcome.err) == (
        1,
        f"recoseg: --pictures: got {number!r}, needs a whole number, 0 for none\n",
    )


def test_the_command_to_reproduce_can_be_pasted_into_a_shell(recoseg, tiny, tmp_path) -> None:
    assert recoseg("train", "--out", "my run", *tiny).code == 0
    text = (tmp_path / "my run" / "report" / "index.html").read_text(encoding="utf-8")
    assert markupsafe.escape("recoseg train --config 'my run/config.yaml'") in text


def test_runs_of_the_same_name_are_told_apart_by_their_paths() -> None:
    assert distinct_names([Path("a/run"), Path("a/other/")]) == ["run", "other"]
    assert distinct_names([Path("a/run"), Path("b/run")]) == ["a/run", "b/run"]
    assert distinct_names([Path()]) == [Path.cwd().name]


def test_names_are_listed_as_people_do() -> None:
    assert [listed(names) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
