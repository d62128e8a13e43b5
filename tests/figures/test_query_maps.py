"""Easy and hard queries of an image."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recoseg.figures.query_maps import QueryMap, draw_queries
from recoseg.losses.regional_contrast import RegionalContrast
from recoseg.types import IGNORE


def query_map(hard_below: float = 0.97) -> QueryMap:
    """Four pixels: sure, just hard, wrong, without a label."""
    probability = torch.tensor([0.99, 0.97, 0.2, 1.0])
    probabilities = torch.stack((probability, 1 - probability))[None, :, None]  # (1, 2, 1, 4)
    labels = torch.tensor([[[0, 0, 0, IGNORE]]])
    return QueryMap.of("run", labels, probabilities, hard_below=hard_below)


def test_pixels_are_easy_or_hard_by_the_probability_of_their_own_label() -> None:
    found = query_map()
    assert found.easy.tolist() == [[True, False, False, False]]
    assert found.hard.tolist() == [[False, True, True, False]]  # delta_s itself is hard
    assert found.own_probability[0, :3].tolist() == pytest.approx([0.99, 0.97, 0.2])
    assert np.isnan(found.own_probability[0, 3])
    assert found.share(found.hard) == pytest.approx(2 / 3)


def test_queries_are_white_others_black_and_pixels_without_a_label_grey() -> None:
    found = query_map()
    assert found.as_grey(found.hard)[0].tolist() == [[0] * 3, [255] * 3, [255] * 3, [128] * 3]


@pytest.mark.parametrize("hard_below", [0.3, 0.8, 0.97])
def test_the_hard_ones_are_those_that_the_loss_counts(hard_below) -> None:
    generator = torch.Generator().manual_seed(0)
    probabilities = (4 * torch.randn(1, 3, 6, 7, generator=generator)).softmax(1)
    labels = torch.randint(0, 3, (1, 6, 7), generator=generator)
    labels[0, 0] = IGNORE
    contrast = RegionalContrast(num_queries=4, num_keys=4, hard_below=hard_below)
    features = torch.randn(1, 2, 6, 7, generator=generator)
    _, stats = contrast(features, labels, probabilities, generator=generator, return_stats=True)
    found = QueryMap.of("run", labels, probabilities, hard_below=hard_below)
    for label, share in enumerate(stats.hard_share.tolist()):
        mine = labels[0].numpy() == label
        assert found.hard[mine].mean() == pytest.approx(share)
    assert (found.hard ^ found.easy == ~np.isnan(found.own_probability)).all()


def test_a_picture_tells_threshold_and_shares_of_every_run(tmp_path, texts) -> None:
    image = np.zeros((4, 16, 3), dtype=np.uint8)
    draw_queries(tmp_path / "a.svg", image, [query_map(), query_map(0.5)])
    said = texts(tmp_path / "a.svg")
    for text in ("Easy queries (> 0.97): 33 %", "Hard queries (≤ 0.97): 67 %", "Hard queries (≤ 0.5): 33 %"):
        assert text in said
    assert said.count("run") == 2
    assert "no label" in said
    draw_queries(tmp_path / "b.svg", image, [query_map()])
    assert "run" not in texts(tmp_path / "b.svg")


def test_an_image_without_any_label_is_drawn(tmp_path) -> None:
    nothing = QueryMap.of(
        "run", torch.full((1, 2, 2), IGNORE), torch.full((1, 2, 2, 2), 0.5), hard_below=0.97
    )
    assert nothing.share(nothing.hard) == 0
    draw_queries(tmp_path / "a.png", np.zeros((8, 8, 3), dtype=np.uint8), [nothing])
    assert (tmp_path / "a.png").is_file()
