"""Scores as plain JSON values and back, and the file that keeps them with all that they depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from recoseg.evaluate import METRICS
from recoseg.evaluate.scores import BoundaryScores, Scores
from recoseg.files import write_whole
from recoseg.plain_scores import BOUNDARY_COUNTS, SCORES, PlainScores, require_classes
from recoseg.records import convert, read_record, require_kind


class _PlainEvaluation(PlainScores):
    classes: list[str]


def require_scores(plain: Mapping[str, Any], num_classes: int) -> None:
    """A rule for plain scores: all of them are of so many classes, and metrics are of their types."""
    require_classes(plain, num_classes)
    for name, result in plain.get("metrics", {}).items():
        if name in METRICS:  # there may be others: of somebody's own
            require_kind(f"metrics.{name}", result, METRICS[name].kind)


def _require_evaluation(plain: Mapping[str, Any]) -> None:
    convert(plain, _PlainEvaluation)  # there is more in it
    require_scores(plain, len(plain["classes"]))


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
        remedy = "write it again by recoseg evaluate"
        plain = read_record(
            path, dict[str, Any], what="file of scores", remedy=remedy, rule=_require_evaluation
        )
        about = {name: value for name, value in plain.items() if name not in {"classes", *SCORES}}
        return cls(scores=scores_from_plain(plain), class_names=tuple(plain["classes"]), about=about)


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
        plain["boundary"] = _boundary_as_plain(scores.boundary)
    if scores.metrics:
        plain["metrics"] = dict(scores.metrics)
    return plain


def _boundary_as_plain(boundary: BoundaryScores) -> dict[str, Any]:
    return {
        "mean_iou": none_if_nan(boundary.mean_iou),
        "mean_f_score": none_if_nan(boundary.mean_f_score),
        "near_mean_iou": none_if_nan(boundary.near.mean_iou),
        "iou": [none_if_nan(value) for value in boundary.iou.tolist()],
        "f_score": [none_if_nan(value) for value in boundary.f_score.tolist()],
        "near_iou": [none_if_nan(value) for value in boundary.near.iou.tolist()],
        "counts": {name: getattr(boundary, name).tolist() for name in BOUNDARY_COUNTS},
    }


def scores_from_plain(plain: Mapping[str, Any]) -> Scores:
    """What `scores_as_plain` was given; `plain` is known to be `PlainScores`, and may have more."""
    boundary = None
    if plain.get("boundary") is not None:
        counts = plain["boundary"]["counts"]
        tensors = (torch.tensor(counts[name], dtype=torch.int64) for name in BOUNDARY_COUNTS)
        boundary = BoundaryScores(*tensors)
    return Scores(torch.tensor(plain["confusion"], dtype=torch.int64), boundary, plain.get("metrics", {}))


def none_if_nan(value: float) -> float | None:
    return None if value != value else value
