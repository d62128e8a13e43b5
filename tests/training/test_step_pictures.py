"""Pictures of a step: image, labels in their colours, confidence as grey."""

from __future__ import annotations

import torch

from recoseg.training.log import step_pictures
from recoseg.types import IGNORE, PseudoLabels


def test_image_label_and_confidence_stand_side_by_side() -> None:
    images = torch.full((1, 3, 1, 2), 0.25)
    pseudo = PseudoLabels(torch.tensor([[[1, IGNORE]]]), torch.tensor([[[0.75, 0.0]]]))
    picture = step_pictures(images, pseudo, [(0, 0, 0), (255, 0, 51)])[0]  # (3, 1, 6)
    assert picture[:, 0].t().tolist() == [
        [0.25, 0.25, 0.25],
        [0.25, 0.25, 0.25],
        [1.0, 0.0, torch.tensor(0.2).item()],
        [0.0, 0.0, 0.0],
        [0.75, 0.75, 0.75],
        [0.0, 0.0, 0.0],
    ]


def test_no_more_pictures_than_asked_for() -> None:
    pseudo = PseudoLabels(torch.zeros(5, 4, 6, dtype=torch.int64), torch.ones(5, 4, 6))
    assert step_pictures(torch.zeros(5, 3, 4, 6), pseudo, [(9, 9, 9)], most=2).shape == (2, 3, 4, 18)
