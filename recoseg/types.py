"""The nouns that flow through recoseg, and the letters that their shapes are written in.

`B` images, `K` classes, `D` feature channels, `H W` image pixels, `h w` feature-map pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recoseg.errors import UserError

if TYPE_CHECKING:  # the label page's server and light commands run without torch
    from torch import Tensor

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

    def __len__(self) -> int:
        return len(self.names)

    @property
    def background(self) -> int | None:
        """The class of what is no object: the one of that name, if there is one."""
        names = [name.strip().lower() for name in self.names]
        return names.index("background") if "background" in names else None


def require_same_classes(named: Sequence[tuple[str, ClassInfo]], *, remedy: str) -> None:
    """Of several runs, by name: the numbers of their classes must mean the same."""
    first, classes = named[0]
    for name, others in named[1:]:
        if others.names != classes.names:
            raise UserError(f"{name!r} has other classes than {first!r}: {remedy}")


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
    inside: Tensor | None = None  # (B, H, W) bool: pixels of the image, not padding; None: all of them

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def shown(self) -> Tensor:
        """(B, H, W) bool: pixels of the image, not padding."""
        import torch

        return torch.ones_like(self.labels, dtype=torch.bool) if self.inside is None else self.inside


@dataclass(frozen=True)
class ModelOutput:
    """What a network says of its images, at the resolution of its decoder."""

    logits: Tensor  # (B, K, h, w), before softmax; contiguous but where cut from a padded image
    features: Tensor | None = None  # (B, D, h, w); None when the representation head is off


@dataclass(frozen=True)
class PseudoLabels:
    """A label for each pixel, and the probability that its giver attaches to it."""

    labels: Tensor  # (B, H, W) int64
    confidence: Tensor  # (B, H, W) float in [0, 1]
    sparse: bool = False  # whether the labels are single pixels
    inside: Tensor | None = None  # (B, H, W) bool beside sparse labels: pixels of the image, not padding

    @classmethod
    def certain(cls, labels: Tensor) -> PseudoLabels:
        """Labels from a person: confidence 1 wherever there is one."""
        return cls(labels, (labels != IGNORE).float())

    @classmethod
    def of_batch(cls, labelled: Batch) -> PseudoLabels:
        """Its labels, from a person."""
        return replace(cls.certain(labelled.labels), sparse=labelled.sparse, inside=labelled.inside)

    def within(self, inside: Tensor | None) -> PseudoLabels:
        """Without the labels of padding: of pixels that are not `inside` (B, H, W); None: all are."""
        if inside is None:
            return self
        return replace(
            self, labels=self.labels.where(inside, IGNORE), confidence=self.confidence.where(inside, 0)
        )

    def overridden_by(self, known: Tensor) -> PseudoLabels:
        """With the `known` labels (B, H, W), and confidence 1, wherever there is one."""
        is_known = known != IGNORE
        return PseudoLabels(known.where(is_known, self.labels), self.confidence.masked_fill(is_known, 1.0))


@dataclass(frozen=True)
class StepOutput:
    """What one training step of a method produced.

    `parts` are logged as they are; `loss` is their weighted sum; `pixels` says, for each prediction the
    step made, which label with which confidence its pixels should have, those of the labelled images first:
    the contrast reads that.
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
        parts = {name: _sum_of(output.parts[name] for output in outputs) / count for name in last.parts}
        return replace(last, loss=_sum_of(output.loss for output in outputs) / count, parts=parts)

    def detached(self) -> StepOutput:
        """For the log: without predictions, and without what a backward pass would need."""
        return replace(self, loss=self.loss.detach(), pixels=())

    def plus(self, name: str, part: Tensor, *, weight: float = 1.0) -> StepOutput:
        """With one more part of the loss."""
        return replace(self, loss=self.loss + weight * part, parts={**self.parts, name: part.detach()})


def _sum_of(tensors: Iterable[Tensor]) -> Tensor:
    import torch

    return torch.stack(list(tensors)).sum(0)
