"""A run folder and the data to judge it on -> scores with all that they depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch

from recoseg.builders.data import build_dataset
from recoseg.builders.load import TrainedNetwork, trained_network
from recoseg.builders.trained import require_same_classes
from recoseg.builders.training import choose_device
from recoseg.config.load import load
from recoseg.data.base import SUBSETS, Dataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.evaluator import evaluate
from recoseg.evaluate.protocol import Protocol
from recoseg.evaluate.scores_file import Evaluation
from recoseg.lookup import did_you_mean
from recoseg.train.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Exam:
    """A trained network, and labelled images to judge it on."""

    trained: TrainedNetwork
    weights: str
    dataset: Dataset
    subset: str
    keys: Sequence[str]
    data: dict[str, Any]  # the settings of the dataset
    device: torch.device

    @property
    def is_other_data(self) -> bool:
        """Than the run was trained with."""
        return self.data != dataclasses.asdict(self.trained.config.data)

    def taken(
        self, protocol: Protocol, boundary: BoundaryRule | None, *, progress: Progress | None = None
    ) -> Evaluation:
        scores = evaluate(
            self.trained.network.to(self.device),
            self.dataset,
            self.keys,
            device=self.device,
            protocol=protocol,
            boundary=boundary,
            progress=progress,
        )
        about = {
            "recoseg": version("recoseg"),
            "weights": self.weights,
            "iteration": self.trained.iteration,
            "data": self.data,
            "subset": self.subset,
            "num_images": len(self.keys),
            "protocol": protocol.name,
            "boundary_rule": boundary.as_plain() if boundary else None,
        }
        return Evaluation(scores=scores, class_names=self.dataset.classes.names, about=about)


def build_exam(
    folder: RunFolder,
    *,
    weights: str = "last",
    data_words: Sequence[str] = (),
    subset: str = "val",
    trust: bool = False,
) -> Exam:
    """`data_words` are settings such as --data FOLDER that replace the run's own data."""
    if subset not in SUBSETS:
        raise UserError(f"unknown subset {subset!r}{did_you_mean(subset, SUBSETS)}")
    trained = trained_network(folder, weights=weights, trust=trust)
    config = load(folder.config, data_words)
    dataset = build_dataset(config.data)
    require_same_classes(trained.classes, dataset.classes)
    return Exam(
        trained=trained,
        weights=weights,
        dataset=dataset,
        subset=subset,
        keys=labelled_keys(dataset, subset),
        data=dataclasses.asdict(config.data),
        device=choose_device(config.train.device),
    )


def labelled_keys(dataset: Dataset, subset: str) -> list[str]:
    """The images of the subset that can be scored."""
    keys = dataset.keys(subset)
    labelled = [key for key in keys if dataset.has_labels(key)]
    if labelled:
        return labelled
    others = [name for name in SUBSETS if any(dataset.has_labels(key) for key in dataset.keys(name))]
    what = (
        f"none of the {len(keys)} images of subset {subset} has labels" if keys else f"no images in {subset}"
    )
    raise UserError(f"{dataset.name}: {what}; subsets with labels: {', '.join(others) or 'none'}")
