"""The nouns that flow through recoseg, and the letters that their shapes are written in.

`B` images, `K` classes, `D` feature channels, `H W` image pixels, `h w` feature-map pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from recoseg.errors import UserError
from recoseg.words import is_text

IGNORE = 255
"""The label of a pixel that has none: on disk, in tensors, for void, padding and hidden labels alike."""


@dataclass(frozen=True)
class ClassInfo:
    """What the class indices of a dataset mean: `names[k]` is drawn in `palette[k]` (RGB, 0-255)."""

    names: tuple[str, ...]
    palette: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= IGNORE:
            raise UserError(f"a dataset needs 1 to {IGNORE} classes, not {len(self.names)}")
        if len(self.names) != len(self.palette):
            raise UserError(f"{len(self.names)} class names but {len(self.palette)} palette colours")
        if len(set(self.names)) != len(self.names):
            repeated = sorted({n for n in self.names if self.names.count(n) > 1})
            raise UserError(f"class names must differ; repeated: {', '.join(repeated)}")
        for name in self.names:
            if not is_text(name):
                raise UserError(f"the class name {name!r} is not text that can be written down; rename it")

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Sample:
    """One image as an adapter yields it: decoded, neither scaled nor normalised.

    Kept in 8 bits because that is what files hold: a cache of samples takes a fifth of what
    float images and int64 labels would. A `Batch` holds floats and int64.
    """

    image: Tensor  # (3, H, W) uint8
    labels: Tensor  # (H, W) uint8, IGNORE where there is none
    key: str


@dataclass(frozen=True)
class Batch:
    """Crops of several images. "Unlabelled" is not another type: all its labels are IGNORE."""

    images: Tensor  # (B, 3, H, W) float in [0, 1]
    labels: Tensor  # (B, H, W) int64
    keys: tuple[str, ...]
    sparse: bool = False  # whether the labels are single pixels, which move as points
    shown: Tensor | None = None  # (B, H, W) bool: pixels of the image, not padding; None: all of them

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class ModelOutput:
    """What a network says of its images, at the resolution of its decoder."""

    logits: Tensor  # (B, K, h, w), before softmax
    features: Tensor | None = None  # (B, D, h, w); None when the representation head is off


@dataclass(frozen=True)
class PseudoLabels:
    """A label for each pixel, and the probability that its giver attaches to it."""

    labels: Tensor  # (B, H, W) int64
    confidence: Tensor  # (B, H, W) float in [0, 1]
    sparse: bool = False  # whether the labels are single pixels
    shown: Tensor | None = None  # (B, H, W) bool beside sparse labels: pixels of the image, not padding

    @classmethod
    def certain(cls, labels: Tensor) -> PseudoLabels:
        """Labels from a person: confidence 1 wherever there is one."""
        return cls(labels, (labels != IGNORE).float())

    @classmethod
    def of_batch(cls, labelled: Batch) -> PseudoLabels:
        """Its labels, from a person."""
        return replace(cls.certain(labelled.labels), sparse=labelled.sparse, shown=labelled.shown)

    def within(self, shown: Tensor | None) -> PseudoLabels:
        """Without the labels of padding: of pixels that are not `shown` (B, H, W); None: all are."""
        if shown is None:
            return self
        return replace(
            self, labels=self.labels.where(shown, IGNORE), confidence=self.confidence.where(shown, 0)
        )

    def overridden_by(self, known: Tensor) -> PseudoLabels:
        """With the `known` labels (B, H, W), and confidence 1, wherever there is one."""
        is_known = known != IGNORE
        return PseudoLabels(known.where(is_known, self.labels), self.confidence.masked_fill(is_known, 1.0))


@dataclass(frozen=True)
class StepOutput:
    """What one training step of a method produced.

    `parts` are logged as they are; `loss` is their weighted sum; `pixels` says, for each prediction the
    step made, which label with which confidence its pixels should have: the contrast reads that.
    """

    loss: Tensor  # scalar
    parts: dict[str, Tensor] = field(default_factory=dict)  # scalars
    pixels: Sequence[tuple[ModelOutput, PseudoLabels]] = ()
    mixed: tuple[Tensor, PseudoLabels] | None = None  # what the student saw of the unlabelled images
    stats: dict[str, Tensor] = field(default_factory=dict)  # scalars that no loss rests on
    note: str | None = None  # what a person should know of this step

    @classmethod
    def mean(cls, outputs: Sequence[StepOutput]) -> StepOutput:
        """Of several parts of one step: the mean losses, and the rest of the last one."""
        last, count = outputs[-1], len(outputs)
        parts = {name: sum_of(output.parts[name] for output in outputs) / count for name in last.parts}
        return replace(last, loss=sum_of(output.loss for output in outputs) / count, parts=parts)

    def detached(self) -> StepOutput:
        """For the log: without predictions, and without what a backward pass would need."""
        return replace(self, loss=self.loss.detach(), pixels=())

    def plus(self, name: str, part: Tensor, *, weight: float = 1.0) -> StepOutput:
        """With one more part of the loss."""
        return replace(self, loss=self.loss + weight * part, parts={**self.parts, name: part.detach()})


def sum_of(tensors: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(tensors)).sum(0)


@dataclass(frozen=True)
class BoundaryScores:
    """How good predictions are where classes meet; docs/evaluating.md has the formulas.

    A class that has no such pixels, neither true nor predicted, is NaN, and left out of the means.
    """

    bands: Tensor  # (3, K) int64: pixels in the band of the class in both maps, in the truth, as predicted
    contours: Tensor  # (4, K) int64: true contour pixels, those found, predicted ones, those that are right
    confusion: Tensor  # (K, K) int64: of the pixels near true contours alone

    @property
    def iou(self) -> Tensor:  # (K,) float64
        both, true, predicted = self.bands.double().unbind()
        return both / (true + predicted - both)

    @property
    def f_score(self) -> Tensor:  # (K,) float64; 0 where contours are in one of the maps alone
        true, found, predicted, right = self.contours.double().unbind()
        recall, precision = found / true.clamp(min=1), right / predicted.clamp(min=1)
        mean = 2 * precision * recall / (precision + recall).clamp(min=1e-300)
        return mean.masked_fill(true + predicted == 0, float("nan"))

    @property
    def mean_iou(self) -> float:
        return float(self.iou.nanmean())

    @property
    def mean_f_score(self) -> float:
        return float(self.f_score.nanmean())

    @property
    def near(self) -> Scores:
        """The ordinary scores of the pixels near true contours."""
        return Scores(self.confusion)


@dataclass(frozen=True)
class Scores:
    """How good predictions are.

    A class that occurs neither in the truth nor in a prediction is NaN, and left out of the mean.
    """

    confusion: Tensor  # (K, K) int64, [true class, predicted class]
    boundary: BoundaryScores | None = None  # where they were asked for

    @property
    def iou(self) -> Tensor:  # (K,) float64
        hits = self.confusion.diagonal().double()
        union = (self.confusion.sum(0) + self.confusion.sum(1)).double() - hits
        return hits / union  # 0/0 is NaN: the class is absent

    @property
    def class_accuracy(self) -> Tensor:  # (K,) float64, NaN where the class is not in the truth
        return self.confusion.diagonal().double() / self.confusion.sum(1).double()

    @property
    def mean_iou(self) -> float:
        """Mean over the classes that occur; NaN only when no pixel was counted at all."""
        return float(self.iou.nanmean())

    @property
    def accuracy(self) -> float:
        return float(self.confusion.diagonal().sum().double() / self.confusion.sum().double())

    @property
    def mean_accuracy(self) -> float:
        """Mean over the classes that are in the truth."""
        return float(self.class_accuracy.nanmean())

    @property
    def num_absent(self) -> int:
        """Classes that the mean leaves out."""
        return int(self.iou.isnan().sum())
