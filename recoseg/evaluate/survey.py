"""What pages and pictures tell of a network over a set of images, in one pass: scores, class relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NotRequired

import torch
from torch import nn

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.evaluate import METRICS
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.class_relations import PlainRelations, Relations, RelationsCounter
from recoseg.evaluate.loop import Counter, ScoreCounter, count
from recoseg.evaluate.resampling import MOST_IMAGES, Gain, Interval, gain_of, mean_iou_interval
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import require_scores, scores_as_plain, scores_from_plain
from recoseg.plain_scores import PlainScores
from recoseg.records import Count, require_lengths

_BOUNDARY = BoundaryRule()


class _PlainSurvey(PlainScores):
    """What `Survey.as_plain` gives."""

    num_images: Count
    relations: dict[str, PlainRelations]
    images: NotRequired[dict[str, list[list[Count]]]]  # by key, as in `Scores`


class SurveyFile(_PlainSurvey):
    made_from: dict[str, Any]


def require_survey_of(plain: Mapping[str, Any], num_classes: int) -> None:
    """A rule for plain surveys: all that is in them is of so many classes."""
    require_scores(plain, num_classes)
    for name, one in plain["relations"].items():
        require_lengths(f"relations.{name}.graph", one["graph"], num_classes, num_classes)
        require_lengths(f"relations.{name}.pixels", one["pixels"], num_classes)
    for key, counts in plain.get("images", {}).items():
        require_lengths(f"images.{key}", counts, 3, num_classes)


@dataclass(frozen=True)
class Survey:
    """Whole images, no flips, no other sizes."""

    scores: Scores  # also where classes meet
    relations: dict[str, Relations]  # of "Z" and "R", as far as the network has them
    num_images: int
    keys: tuple[str, ...] = ()  # where scores of each image are known: theirs

    def as_plain(self) -> dict[str, Any]:
        """For a JSON file; numbers are written in full, so that reading gives the same survey."""
        relations = {name: one.as_plain() for name, one in self.relations.items()}
        plain = {"num_images": self.num_images, **scores_as_plain(self.scores), "relations": relations}
        if self.scores.images is not None:
            plain["images"] = dict(zip(self.keys, self.scores.images.tolist(), strict=True))
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Survey:
        relations = {name: Relations.from_plain(one) for name, one in plain["relations"].items()}
        scores, images = scores_from_plain(plain), plain.get("images")
        if images:
            scores = replace(scores, images=torch.tensor(list(images.values()), dtype=torch.int64))
        return cls(scores, relations, plain["num_images"], tuple(images or ()))

    @cached_property
    def interval(self) -> Interval | None:
        """Of the mean IoU; None where it is not known: for a single image, and for very many."""
        return mean_iou_interval(self.scores.images) if self.scores.images is not None else None

    def gain_over(self, first: Survey) -> Gain | None:
        """How sure the differences to another are; None unless both are of the same images, and of several.

        The same images have the same names and the same truth.
        """
        ours, theirs = self.scores.images, first.scores.images
        if ours is None or theirs is None or self.keys != first.keys:
            return None
        return gain_of(theirs, ours) if torch.equal(ours[:, 1], theirs[:, 1]) else None


def pooled(surveys: Sequence[Survey]) -> tuple[Scores, Interval | None]:
    """The scores of all pixels of several surveys, each of other images, and how sure the mean IoU is."""
    total = torch.stack([one.scores.confusion for one in surveys]).sum(0)
    known = [one.scores.images for one in surveys if one.scores.images is not None]
    images = torch.cat(known) if len(known) == len(surveys) else None
    return Scores(total, images=images), mean_iou_interval(images) if images is not None else None


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
    each = len(keys) <= MOST_IMAGES
    scores = ScoreCounter(num_classes, boundary=_BOUNDARY, each_image=each, device=device)
    relations = RelationsCounter(num_classes)
    metrics = {name: metric(num_classes, device=device) for name, metric in METRICS.items()}
    counters: list[Counter] = [scores, relations, *metrics.values()]
    count(model, dataset, keys, counters, device=device, batch_size=batch_size, progress=progress)
    measured = {name: metric.result() for name, metric in metrics.items()}
    known = tuple(keys) if each else ()
    return Survey(replace(scores.scores(), metrics=measured), relations.relations(), len(keys), known)
