"""The card of a run: names from outside stay text, and what is not known is said to be so."""

from __future__ import annotations

import pytest
import yaml

from recoseg.config.settings import RunConfig
from recoseg.runs.model_card import model_card
from recoseg.splits.label_split import LabelSplit

pytest.importorskip("huggingface_hub")

SPLIT = LabelSplit(("a",), ("b", "c"), dataset="folder", fingerprint="f", builder="random_images", seed=3)


def card_of(classes: list[str], **others) -> str:
    known = {"iteration": 2000, "scores": None, "license": None, "datasets": []}
    return model_card("anna/a", config=RunConfig(), split=SPLIT, classes=classes, **{**known, **others})


def test_names_of_classes_end_no_cell_and_are_no_markup() -> None:
    scores = {"mean_iou": 0.5, "accuracy": 0.75, "iou": [0.5, None], "class_accuracy": [0.25, None]}
    card = card_of(["a|b\n<img>", "traffic_light"], scores=scores)
    assert r"| a\|b\\n\<img\> | 50.0 | 25.0 |" in card
    assert r"| traffic\_light | – | – |" in card
    assert "mean IoU 50.0 %, and 75.0 % of all pixels are right" in card


def test_the_front_matter_holds_only_what_is_known_and_cannot_be_broken_out_of() -> None:
    front = yaml.safe_load(card_of(["a"]).split("---\n")[1])
    assert front.keys() == {"library_name", "pipeline_tag", "tags"}
    lines = card_of(["a"], license="mit\n---\ntags: x", datasets=["b: c"]).splitlines()
    front = yaml.safe_load("\n".join(lines[1 : lines.index("---", 1)]))
    assert front["license"] == "mit\n---\ntags: x"
    assert front["datasets"] == ["b: c"]


def test_what_is_not_there_is_said_so() -> None:
    card = card_of(["a"])
    assert "after 2,000 iterations, were not evaluated" in card
    assert "None was given: ask before you use" in card
    for row in (
        "| labelled images | 1 |",
        "| unlabelled images | 0 |",  # Supervised uses none of the two
        "| weights | last |",
        r"| split | random\_images, seed 3 |",
    ):
        assert row in card
