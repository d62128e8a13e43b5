"""The images that a run is judged on while it goes, and those that its best weights are chosen on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from recoseg.config.train_settings import TrainSettings
from recoseg.data.dataset import Dataset
from recoseg.errors import UserError
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.scores import Scores
from recoseg.seeds import permutation
from recoseg.splits.label_split import LabelSplit, VisibleLabels


@dataclass(frozen=True)
class Selection:
    """The images that choose the best weights, and what they are called in every output."""

    on: str
    dataset: Dataset
    keys: Sequence[str]


@dataclass(frozen=True)
class Validation:
    dataset: Dataset
    keys: Sequence[str]
    selection: Selection | None = None

    def scores(self, model: nn.Module, device: torch.device) -> tuple[Scores, Scores | None]:
        """On the validation images, and on those that choose, if any do."""
        scores = evaluate(model, self.dataset, self.keys, device=device)
        if self.selection is None:
            return scores, None
        if self.selection.keys == self.keys:
            return scores, scores
        return scores, evaluate(model, self.selection.dataset, self.selection.keys, device=device)


def hold_back(keys: Sequence[str], share: float, seed: int) -> tuple[list[str], list[str]]:
    """Keys to train on, and a seeded share of them that is not: at least one of each."""
    if len(keys) < 2:
        raise UserError("train.best_on labelled needs at least 2 labelled images: one is kept from training")
    count = min(max(1, round(share * len(keys))), len(keys) - 1)
    held = {keys[place] for place in permutation(len(keys), seed, "held back")[:count]}
    return [key for key in keys if key not in held], [key for key in keys if key in held]


def best_so_far(lines: Iterable[Mapping[str, Any]]) -> float:
    """The best selection score in the lines of metrics.jsonl; minus infinity if there is none."""
    scores = [line["selection"]["mean_iou"] for line in lines if line.get("selection")]
    return max((score for score in scores if score is not None), default=float("-inf"))


def build_selection(
    train: TrainSettings, dataset: Dataset, val_keys: list[str], visible: VisibleLabels, split: LabelSplit
) -> Selection | None:
    """The images that choose the best weights, if any do."""
    if train.best_on != "labelled" and train.best_share != TrainSettings().best_share:
        raise UserError("train.best_share has no effect without train.best_on labelled")
    if train.best_on == "val":
        return Selection("the validation images", dataset, val_keys)
    if train.best_on == "labelled":
        _, held = hold_back(split.labelled, train.best_share, train.seed)
        return Selection(f"labelled images held back from training ({len(held)})", visible, held)
    return None
