"""Scores as plain JSON values and back, and the file that keeps them with all that they depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.types import BoundaryScores, Scores

COUNTS = ("bands", "contours", "confusion")
"""The fields of BoundaryScores."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores, and what they are the scores of."""

    scores: Scores
    class_names: tuple[str, ...]
    about: Mapping[str, Any]  # protocol, subset, weights, data, ...: plain values

    def save(self, path: Path) -> None:
        plain = {**self.about, "classes": list(self.class_names), **scores_as_plain(self.scores)}
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in plain.items())
        write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")  # one line for each, also for a matrix

    @classmethod
    def load(cls, path: Path) -> Evaluation:
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            scores, names = scores_from_plain(plain), tuple(plain["classes"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is not a file of scores: write it again by recoseg evaluate") from error
        about = {name: value for name, value in plain.items() if name not in {"classes", *SCORES}}
        return cls(scores=scores, class_names=names, about=about)


def scores_as_plain(scores: Scores) -> dict[str, Any]:
    """For a JSON file; an absent class is null. The counts are in it, so that scores can be read back."""
    plain: dict[str, Any] = {
        "mean_iou": none_if_nan(scores.mean_iou),
        "accuracy": none_if_nan(scores.accuracy),
        "iou": [none_if_nan(value) for value in scores.iou.tolist()],
        "class_accuracy": [none_if_nan(value) for value in scores.class_accuracy.tolist()],
        "confusion": scores.confusion.tolist(),
    }
    if scores.boundary is not None:
        plain["boundary"] = boundary_as_plain(scores.boundary)
    return plain


SCORES = ("mean_iou", "accuracy", "iou", "class_accuracy", "confusion", "boundary")
"""The names that `scores_as_plain` gives."""


def boundary_as_plain(boundary: BoundaryScores) -> dict[str, Any]:
    return {
        "mean_iou": none_if_nan(boundary.mean_iou),
        "mean_f_score": none_if_nan(boundary.mean_f_score),
        "near_mean_iou": none_if_nan(boundary.near.mean_iou),
        "iou": [none_if_nan(value) for value in boundary.iou.tolist()],
        "f_score": [none_if_nan(value) for value in boundary.f_score.tolist()],
        "near_iou": [none_if_nan(value) for value in boundary.near.iou.tolist()],
        "counts": {name: getattr(boundary, name).tolist() for name in COUNTS},
    }


def scores_from_plain(plain: Mapping[str, Any]) -> Scores:
    """What `scores_as_plain` was given; other names in `plain` are passed over."""
    boundary = None
    if plain.get("boundary") is not None:
        counts = plain["boundary"]["counts"]
        boundary = BoundaryScores(*(torch.tensor(counts[name], dtype=torch.int64) for name in COUNTS))
    return Scores(torch.tensor(plain["confusion"], dtype=torch.int64), boundary)


def none_if_nan(value: float) -> float | None:
    return None if value != value else value
