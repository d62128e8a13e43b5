"""What pages and pictures tell of a network over a set of images, in one pass: scores, class relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.evaluate import METRICS
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.class_relations import PlainRelations, Relations, RelationsCounter
from recoseg.evaluate.loop import Counter, ScoreCounter, count
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import PlainScores, require_classes, scores_as_plain, scores_from_plain
from recoseg.records import Count, require_lengths

_BOUNDARY = BoundaryRule()


class _PlainSurvey(PlainScores):
    """What `Survey.as_plain` gives."""

    num_images: Count
    relations: dict[str, PlainRelations]


class SurveyFile(_PlainSurvey):
    made_from: dict[str, Any]


def require_survey_of(plain: Mapping[str, Any], num_classes: int) -> None:
    """A rule for plain surveys: all that is in them is of so many classes."""
    require_classes(plain, num_classes)
    for name, one in plain["relations"].items():
        require_lengths(f"relations.{name}.graph", one["graph"], num_classes, num_classes)
        require_lengths(f"relations.{name}.pixels", one["pixels"], num_classes)


@dataclass(frozen=True)
class Survey:
    """Whole images, no flips, no other sizes."""

    scores: Scores  # also where classes meet
    relations: dict[str, Relations]  # of "Z" and "R", as far as the network has them
    num_images: int

    def as_plain(self) -> dict[str, Any]:
        """For a JSON file; numbers are written in full, so that reading gives the same survey."""
        relations = {name: one.as_plain() for name, one in self.relations.items()}
        return {"num_images": self.num_images, **scores_as_plain(self.scores), "relations": relations}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Survey:
        relations = {name: Relations.from_plain(one) for name, one in plain["relations"].items()}
        return cls(scores_from_plain(plain), relations, plain["num_images"])


def survey(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    device: torch.device,
    batch_size: int = 4,
    progress: Progress | None = None,
) -> Survey:
    """For one process: it goes through all images, whatever other processes of a training do."""
    num_classes = len(dataset.classes)
    scores = ScoreCounter(num_classes, boundary=_BOUNDARY, device=device)
    relations = RelationsCounter(num_classes)
    metrics = {name: metric(num_classes, device=device) for name, metric in METRICS.items()}
    counters: list[Counter] = [scores, relations, *metrics.values()]
    count(model, dataset, keys, counters, device=device, batch_size=batch_size, progress=progress)
    measured = {name: metric.result() for name, metric in metrics.items()}
    return Survey(replace(scores.scores(), metrics=measured), relations.relations(), len(keys))
