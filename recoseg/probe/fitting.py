"""How a probe is fitted: the L2 penalty is chosen by folds over the labelled images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.evaluate.resampling import mean_iou_interval
from recoseg.models.network import SegmentationNetwork
from recoseg.probe.cells import Cells, labelled_cells
from recoseg.probe.regression import STRENGTHS, fit_classifier, fit_path
from recoseg.seeds import permutation

NUM_FOLDS = 5
_CELLS_OF_FOLDS = 20_000
_WITHOUT_FOLDS = 0.1
"""The L2 penalty where a single image is labelled."""


@dataclass(frozen=True)
class ProbeFit:
    """The L2 penalty that was chosen, and the scores of the folds."""

    strength: float
    images: Tensor | None  # (I, 3, K) cells of each held-back image: right, true, predicted; None: no folds

    def __str__(self) -> str:
        told = f"linear probe of the frozen features, L2 penalty {self.strength:g}"
        if self.images is None:
            return f"{told}; too few labelled images for folds"
        interval = mean_iou_interval(self.images)
        between = "" if interval is None else f" ({interval.low:.0%} to {interval.high:.0%})"
        return f"{told}; mean IoU of {min(NUM_FOLDS, len(self.images))} folds {self.mean_iou:.1%}{between}"

    @property
    def mean_iou(self) -> float | None:
        """Over cells of held-back images; None where a single image is labelled."""
        return None if self.images is None else float(_mean_iou(self.images.sum(0)))


def fit_probe(
    network: SegmentationNetwork,
    dataset: Dataset,
    keys: Sequence[str],
    num_classes: int,
    *,
    sparse: bool = False,
    class_weights: Tensor | None = None,
    device: torch.device,
    progress: Progress | None = None,
) -> ProbeFit:
    """Fit the network's probe to the labels of the images `keys`; its encoder stays as it is."""
    if network.probe is None:
        raise UserError("this network has no probe: build it with model.start probe")
    cells = labelled_cells(network, dataset, keys, sparse=sparse, device=device, progress=progress)
    fit = cross_validate(cells, num_classes, class_weights=class_weights)
    set_probe(network, cells, fit, num_classes, class_weights=class_weights)
    return fit


def set_probe(
    network: SegmentationNetwork,
    cells: Cells,
    fit: ProbeFit,
    num_classes: int,
    *,
    class_weights: Tensor | None = None,
) -> None:
    """Fit the network's probe to all cells with the L2 penalty that the folds chose."""
    assert network.probe is not None
    found = fit_classifier(
        cells.features, cells.labels, num_classes, strength=fit.strength, class_weights=class_weights
    )
    network.probe.set_(found.weight, found.bias, found.mean, found.deviation)


def cross_validate(cells: Cells, num_classes: int, *, class_weights: Tensor | None = None) -> ProbeFit:
    """Choose the L2 penalty with the highest mean IoU over cells of images that were held back."""
    num_images = cells.num_images
    if num_images < 2:
        return ProbeFit(_WITHOUT_FOLDS, None)
    every = -(-len(cells) // _CELLS_OF_FOLDS)
    cells = cells.take(torch.arange(0, len(cells), every, device=cells.labels.device))
    num_folds = min(NUM_FOLDS, num_images)
    fold_of_image = torch.tensor(permutation(num_images, 0, "probe folds")) % num_folds
    fold = fold_of_image.to(cells.images)[cells.images]  # (N,)
    counts = torch.zeros(len(STRENGTHS), num_images, 3, num_classes, dtype=torch.int64)
    for number in range(num_folds):
        kept, held = (
            cells.take((fold != number).nonzero()[:, 0]),
            cells.take((fold == number).nonzero()[:, 0]),
        )
        if not len(kept) or not len(held):
            continue
        path = fit_path(kept.features, kept.labels, num_classes, class_weights=class_weights)
        for place, classifier in enumerate(path):
            predicted = classifier.logits(held.features).argmax(0)
            counts[place] += _counts(predicted, held, num_images, num_classes)
    means = [_mean_iou(images.sum(0)) for images in counts]
    best = max(range(len(STRENGTHS)), key=lambda place: means[place])  # of equal ones the strongest
    return ProbeFit(STRENGTHS[best], counts[best])


def _counts(predicted: Tensor, cells: Cells, num_images: int, num_classes: int) -> Tensor:
    """(I, 3, K): of each image's cells, those right, true and predicted of each class."""
    places = cells.images * num_classes
    right = predicted == cells.labels
    parts = [(places + cells.labels)[right], places + cells.labels, places + predicted]
    sums = [torch.bincount(part, minlength=num_images * num_classes).cpu() for part in parts]
    return torch.stack([one.view(num_images, num_classes) for one in sums], 1)


def _mean_iou(counts: Tensor) -> float:
    """(3, K) -> the mean over classes that occur."""
    right, true, predicted = counts.double()
    return float((right / (true + predicted - right)).nanmean())
