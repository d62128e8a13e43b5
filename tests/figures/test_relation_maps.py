"""Heat maps and trees of class relations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib import colormaps
from PIL import Image

from recoseg.errors import UserError
from recoseg.evaluate.class_relations import Relations
from recoseg.figures.relation_maps import RelationPanel, draw_relations

NAN = float("nan")


def panel(rows: list[list[float]], run: str = "one", embedding: str = "Z") -> RelationPanel:
    graph = torch.tensor(rows, dtype=torch.float64)
    return RelationPanel(run, embedding, Relations(graph, torch.ones(len(rows), dtype=torch.int64)))


def random_panel(num_classes: int) -> RelationPanel:
    vectors = torch.randn(num_classes, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vectors /= vectors.norm(dim=1, keepdim=True)
    return panel((vectors @ vectors.t()).tolist())


THREE = panel([[1, 0.9, 0.1], [0.9, 1, 0.3], [0.1, 0.3, 1]])
NAMES = ("road", "sky", "car")


def test_a_picture_names_runs_classes_cosines_and_their_mean(tmp_path, texts) -> None:
    draw_relations(tmp_path / "a.svg", [THREE], NAMES)
    said = texts(tmp_path / "a.svg")
    assert "one: Z" in said
    assert "mean similarity 0.43" in said  # (0.9 + 0.1 + 0.3) / 3
    for name in NAMES:
        assert said.count(name) == 3  # across, down, and in the tree
    assert said.count(".90") == 2
    assert said.count("1.00") == 3


def test_cells_have_the_colours_of_their_cosines_on_one_scale_for_all(tmp_path) -> None:
    other = panel([[1, -0.5, 0], [-0.5, 1, 0], [0, 0, 1]], embedding="R")
    draw_relations(tmp_path / "a.png", [THREE, other], NAMES)
    with Image.open(tmp_path / "a.png") as picture:
        pixels = np.array(picture.convert("RGB"))
    for cosine in (0.9, 0.1, 0.3, -0.5, 0.0):
        wanted = np.round(np.array(colormaps["viridis"]((cosine + 0.5) / 1.5)[:3]) * 255)
        assert (abs(pixels - wanted).max(2) <= 2).sum() > 5000, cosine


def order_of(said: list[str], names: tuple[str, ...]) -> list[str]:
    """Names under the first heat map."""
    return [text for text in said if text in names][: len(names)]


def test_the_first_tree_gives_the_order_for_all_if_asked(tmp_path, texts) -> None:
    first = panel([[1, 0.1, 0.9], [0.1, 1, 0.3], [0.9, 0.3, 1]])
    for by_tree, orders in ((False, [["a", "b", "c"]]), (True, [["a", "c", "b"], ["b", "c", "a"]])):
        draw_relations(tmp_path / "a.svg", [first, THREE], ("a", "b", "c"), by_tree=by_tree)
        said = texts(tmp_path / "a.svg")
        assert order_of(said, ("a", "b", "c")) in orders


def test_a_class_without_pixels_is_left_out_and_said_so(tmp_path, texts) -> None:
    draw_relations(tmp_path / "a.svg", [panel([[1, NAN, 0.2], [NAN, NAN, NAN], [0.2, NAN, 1]])], NAMES)
    said = texts(tmp_path / "a.svg")
    assert "sky" not in said
    assert "Left out, having no pixels here: sky." in said


def test_one_class_is_no_reason_to_fail_but_none_is(tmp_path, texts) -> None:
    draw_relations(tmp_path / "a.svg", [panel([[1]])], ["road"])
    assert texts(tmp_path / "a.svg").count("road") == 2  # and no tree
    with pytest.raises(UserError, match="no class has a pixel in these images"):
        draw_relations(tmp_path / "b.svg", [panel([[NAN]])], ["road"])
    assert not (tmp_path / "b.svg").exists()


def test_150_classes_are_all_named(tmp_path, texts) -> None:
    names = tuple(f"class {k}" for k in range(150))
    draw_relations(tmp_path / "a.svg", [random_panel(150)], names, by_tree=True)
    said = texts(tmp_path / "a.svg")
    assert all(said.count(name) == 3 for name in names)
    assert len(said) < 3 * 150 + 30  # cells are too small for numbers
