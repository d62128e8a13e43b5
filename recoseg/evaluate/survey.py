"""What pages and pictures tell of a network over a set of images, in one pass: scores, class relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from recoseg.data.base import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.counter import ScoreCounter
from recoseg.evaluate.embeddings import Embedder
from recoseg.evaluate.enlarged import enlarged_argmax
from recoseg.evaluate.evaluator import same_size_groups
from recoseg.evaluate.read_ahead import read_ahead
from recoseg.evaluate.relations import ClassSums, PlainRelations, Relations
from recoseg.evaluate.scores_file import PlainScores, require_classes, scores_as_plain, scores_from_plain
from recoseg.typed_values import Count, require_lengths
from recoseg.types import Scores

BOUNDARY = BoundaryRule()


class PlainSurvey(PlainScores):
    """What `Survey.as_plain` gives."""

    num_images: Count
    relations: dict[str, PlainRelations]


class SurveyFile(PlainSurvey):
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


@torch.inference_mode()
def survey(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    device: torch.device,
    batch_size: int = 4,
    progress: Progress | None = None,
) -> Survey:
    """Image by image, so that memory does not grow with their number; the model is in eval mode.

    For one process: it goes through all images, whatever other processes of a training do.
    """
    num_classes = len(dataset.classes)
    embedder = Embedder(model, num_classes=num_classes, device=device)
    counter = ScoreCounter(num_classes, boundary=BOUNDARY, device=device)
    sums: dict[str, ClassSums] = {}
    done = 0
    groups = same_size_groups((dataset.sample(key) for key in keys), batch_size)
    for samples in read_ahead(groups):
        labels = torch.stack([sample.labels for sample in samples]).to(device)  # (B, H, W) uint8
        look = embedder(torch.stack([sample.image for sample in samples]))
        counter.add(enlarged_argmax(look.output.logits, labels.shape[1:]), labels)
        for name, embeddings in look.embeddings.items():
            sums.setdefault(name, ClassSums(num_classes)).add(embeddings, labels)
        done += len(samples)
        if progress is not None:
            progress(done, len(keys))
    return Survey(counter.scores(), {name: one.relations() for name, one in sums.items()}, done)
