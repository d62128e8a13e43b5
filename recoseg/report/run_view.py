"""What the page shows of one run: what its folder tells, and what its network makes of a few images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from recoseg.data.dataset import Dataset
from recoseg.errors import UserError
from recoseg.evaluate.class_scores import ClassScores
from recoseg.evaluate.protocol import WHOLE_IMAGE
from recoseg.evaluate.scores_file import scores_as_plain
from recoseg.evaluate.survey import Survey
from recoseg.models.network import without_features
from recoseg.score_names import LAST_WEIGHTS
from recoseg.splits.label_split import LabelSplit
from recoseg.training.run_folder import RunFolder
from recoseg.types import ClassInfo


@dataclass(frozen=True)
class Picture:
    """An image that a run was asked about, and what it answered."""

    key: str
    image: Tensor  # (3, H, W) uint8
    truth: Tensor  # (H, W) uint8, IGNORE where a pixel has no label
    prediction: Tensor  # (H, W) uint8
    confidence: Tensor  # (H, W) uint8: the probability of the predicted class, 255 for 1


@dataclass(frozen=True)
class RunView:
    """One run as the page sees it: plain values, no files."""

    name: str
    classes: ClassInfo
    method: str
    network: str
    config_yaml: str
    num_labelled: int
    num_unlabelled: int  # 0 where the method uses none
    metrics: list[dict[str, Any]]
    losses: list[dict[str, Any]]
    pictures: list[Picture]
    command: str
    survey: Survey | None = None  # None while there are no weights
    weights: str = LAST_WEIGHTS  # which are scored
    pixels: str | None = None  # how many of a class's pixels are labelled in an image; None: all
    settings: Mapping[str, object] = field(default_factory=dict)  # of its config, by their dotted names

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        """Those of the weights, or else of the last evaluation; None before the first."""
        if self.survey is not None:
            return scores_as_plain(self.survey.scores)
        return self.metrics[-1] if self.metrics else None

    @property
    def mean_iou(self) -> float | None:
        return self.scores["mean_iou"] if self.scores else None

    @property
    def start(self) -> float | None:
        """The mean IoU before the first step, which is that of the probe; None where that was not scored."""
        first = self.metrics[0] if self.metrics else None
        return first["mean_iou"] if first and first["iteration"] == 0 else None

    @cached_property
    def class_table(self) -> ClassScores:
        """Its columns are empty before the first evaluation."""
        return ClassScores.of(self.classes.names, self.scores or {})

    def class_scores(self, score: str) -> Sequence[float | None] | None:
        """One of `SCORE_NAMES` for each class; None where nobody counted it."""
        return self.class_table.columns.get(score)

    def class_score(self, score: str, index: int) -> float | None:
        """Of class number `index`; None where it has none, or where nothing was evaluated."""
        values = self.class_scores(score)
        return values[index] if values else None

    @property
    def best(self) -> dict[str, Any] | None:
        """The evaluation whose weights were kept as the best; None where none were chosen."""
        chosen = [line for line in self.metrics if (line.get("selection") or {}).get("mean_iou") is not None]
        return max(chosen, key=lambda line: line["selection"]["mean_iou"], default=None)

    @property
    def iterations(self) -> int:
        """How many were done and logged."""
        return max((int(line["iteration"]) for line in (*self.metrics, *self.losses)), default=0)


def view_run(
    folder: RunFolder,
    *,
    name: str,
    classes: ClassInfo,
    method: str,
    network: str,
    weights: str = LAST_WEIGHTS,
    uses_unlabelled: bool = True,
    pictures: Sequence[Picture],
    command: str,
    settings: Mapping[str, object],
    survey: Survey | None = None,
) -> RunView:
    """The run in `folder`, with `pictures` of its predictions and the `command` that repeats it."""
    split, metrics = LabelSplit.load(folder.split), folder.read_metrics()
    for line in metrics:
        if len(line["iou"]) != len(classes):
            raise UserError(
                f"{folder.metrics}: has scores of {len(line['iou'])} classes, and the data has "
                f"{len(classes)}; bring the file back, or the data that it was written for"
            )
    return RunView(
        name=name,
        classes=classes,
        method=method,
        network=network,
        config_yaml=folder.config.read_text(encoding="utf-8"),
        num_labelled=len(split.labelled),
        pixels=split.pixels,
        num_unlabelled=len(split.unlabelled) if uses_unlabelled else 0,
        weights=weights,
        metrics=metrics,
        losses=folder.read_losses(),
        pictures=list(pictures),
        command=command,
        settings=settings,
        survey=survey,
    )


SEEDS, FOLDS = "train.seed", "data.fold"


def repeated_by(settings: Sequence[Mapping[str, object]]) -> str | None:
    """SEEDS or FOLDS where runs of these settings differ in that alone: they are one run, done repeatedly."""
    first = settings[0]
    differing = {
        name
        for other in settings[1:]
        for name in first.keys() | other.keys()
        if first.get(name) != other.get(name)
    }
    (name,) = differing if len(differing) == 1 else (None,)
    all_other = len({str(one.get(name)) for one in settings}) == len(settings) if name else False
    return name if name in (SEEDS, FOLDS) and all_other else None


def seed_groups(runs: Sequence[RunView]) -> list[list[RunView]]:
    """Runs by their settings without seeds, each group in the order of its seeds; none unless there are
    several groups, all with the same two seeds or more."""
    found: dict[str, dict[tuple[str, str], RunView]] = {}
    for run in runs:
        others = {name: value for name, value in run.settings.items() if name not in (SEEDS, "split.seed")}
        seeds = (str(run.settings.get(SEEDS)), str(run.settings.get("split.seed")))
        found.setdefault(str(sorted(others.items())), {})[seeds] = run
    groups = [[group[seeds] for seeds in sorted(group)] for group in found.values()]
    same = len({tuple(sorted(group)) for group in found.values()}) == 1
    return groups if same and len(groups) > 1 < len(groups[0]) and sum(map(len, groups)) == len(runs) else []


def are_folds(runs: Sequence[RunView]) -> bool:
    """Whether each was scored on other images of the same data, so that scores do not compare."""
    return repeated_by([run.settings for run in runs]) == FOLDS


def take_pictures(
    model: nn.Module, dataset: Dataset, keys: Sequence[str], device: torch.device
) -> list[Picture]:
    """Image, truth, prediction and confidence for each key."""
    model.eval()
    pictures = []
    with without_features(model):
        for key in keys:
            sample = dataset.sample(key)
            predicted, confidence = predict_surely(model, sample.image, device, len(dataset.classes))
            pictures.append(Picture(key, sample.image, sample.labels, predicted, confidence))
    return pictures


@torch.inference_mode()
def predict_surely(
    model: nn.Module, image: Tensor, device: torch.device, num_classes: int
) -> tuple[Tensor, Tensor]:
    """(3, H, W) uint8 -> the predicted class (H, W) uint8, and its probability (H, W) uint8, 255 for 1."""
    predicted = torch.empty(image.shape[1:], dtype=torch.uint8)
    confidence = torch.empty_like(predicted)
    for block in WHOLE_IMAGE.blocks(model, image[None], device, num_classes=num_classes):
        highest, classes = block.logits[0].softmax(0).max(0)
        predicted[block.rows, block.columns] = classes.to("cpu", torch.uint8)
        confidence[block.rows, block.columns] = (highest * 255).round().to("cpu", torch.uint8)
    return predicted, confidence


def spread(keys: Sequence[str], most: int) -> list[str]:
    """At most `most` of the keys, evenly spaced: neighbours in a list often look alike."""
    count = min(most, len(keys))
    return [keys[index * len(keys) // count] for index in range(count)]
