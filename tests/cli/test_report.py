"""A page about one run or several, from their folders alone."""

from __future__ import annotations

import pytest

from recoseg.report.pictures import spread


@pytest.fixture
def two_runs(recoseg, tiny):
    for name, seed in (("one", 0), ("two", 1)):
        assert recoseg("train", "--out", name, *tiny, f"--train.seed={seed}").code == 0


def test_two_runs_share_a_page(recoseg, two_runs, tmp_path) -> None:
    outcome = recoseg("report", "one", "two", "--out", "pages/both.html")
    assert (outcome.code, outcome.out) == (0, "page: pages/both.html\n")
    text = (tmp_path / "pages" / "both.html").read_text(encoding="utf-8")
    assert "<title>one and two</title>" in text
    assert text.count("val/0000") >= 2  # both validation images are shown


def test_a_page_can_be_written_again_where_training_put_it(recoseg, two_runs, tmp_path) -> None:
    page = tmp_path / "one" / "report" / "index.html"
    before = page.read_bytes()
    page.unlink()
    assert recoseg("report", "one").code == 0
    assert page.read_bytes() == before


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
        (lambda run: (run / "weights.safetensors").unlink(), "has no weights yet"),
        (lambda run: (run / "weights.safetensors").write_bytes(b"\x08junk"), "not a readable weights file"),
        (lambda run: (run / "config.yaml").unlink(), "is not a run of recoseg"),
    ],
)
def test_a_run_that_is_not_whole_is_one_clear_line(recoseg, two_runs, tmp_path, damage, message) -> None:
    damage(tmp_path / "one")
    outcome = recoseg("report", "one")
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_weights_of_another_network_are_refused(recoseg, two_runs, tmp_path) -> None:
    config = tmp_path / "one" / "config.yaml"
    config.write_text(config.read_text().replace("decoder_width: 8", "decoder_width: 16"))
    outcome = recoseg("report", "one")
    assert outcome.code == 1
    assert "have another shape" in outcome.err


def test_pictures_are_spread_over_all_images() -> None:
    assert spread(list("abcdefgh"), 4) == list("aceg")
    assert spread(list("ab"), 4) == list("ab")
