"""How the student goes through labelled and unlabelled crops: one after the other, or all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from recoseg.models.bilinear import resize
from recoseg.types import ModelOutput, PseudoLabels


@dataclass(frozen=True)
class _BothOutputs:
    """What the student says of the labelled and of the mixed crops; `whole` where it saw them together."""

    on_labelled: ModelOutput
    on_mixed: ModelOutput
    whole: ModelOutput | None = None

    @property
    def logits(self) -> Tensor:
        """(B, K, h, w): of the labelled crops, then of the others."""
        if self.whole is not None:
            return self.whole.logits
        return torch.cat([self.on_labelled.logits, self.on_mixed.logits])

    def enlarged(self, size: torch.Size) -> Tensor:
        """(B, K, H, W) float32: the same logits, at the size of the images."""
        return resize(self.logits.float(), size)

    def pixels(
        self, labelled: PseudoLabels, mixed: PseudoLabels
    ) -> Sequence[tuple[ModelOutput, PseudoLabels]]:
        """Each prediction with the labels its pixels should have; in one piece where that saves a copy."""
        if self.whole is None or labelled.sparse:
            return [(self.on_labelled, labelled), (self.on_mixed, mixed)]
        labels = torch.cat([labelled.labels, mixed.labels])
        return [(self.whole, PseudoLabels(labels, torch.cat([labelled.confidence, mixed.confidence])))]


def separate(student: nn.Module, labelled: Tensor, mixed: Tensor) -> _BothOutputs:
    """Two passes: BatchNorm sees labelled and mixed crops apart, as in the authors' runs."""
    return _BothOutputs(student(labelled), student(mixed))


def together(student: nn.Module, labelled: Tensor, mixed: Tensor) -> _BothOutputs:
    """One pass: BatchNorm's statistics are those of both, and a step takes less time."""
    whole: ModelOutput = student(torch.cat([labelled, mixed]))
    return _BothOutputs(part(whole, slice(len(labelled))), part(whole, slice(len(labelled), None)), whole)


def part(output: ModelOutput, images: slice) -> ModelOutput:
    features = output.features
    return ModelOutput(output.logits[images], None if features is None else features[images])


PASSES: dict[str, Callable[[nn.Module, Tensor, Tensor], _BothOutputs]] = {
    "separate": separate,
    "together": together,
}
