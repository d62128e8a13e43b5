"""ReCo on top of any method: the contrast reads what a step says of its pixels."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.losses.regional_contrast import RegionalContrast
from recoseg.losses.regional_contrast.checks import check_probability
from recoseg.losses.regional_contrast.stats import ContrastStats
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.methods.parts.ramp import Ramp
from recoseg.models.layers import resize
from recoseg.types import IGNORE, ModelOutput, PseudoLabels, StepOutput


class ContrastTerm(nn.Module):
    """Adds `weight` times the contrast of all pixels with a label, or a pseudo-label above `trust_above`.

    The weight grows from 0 over the first `ramp` iterations, while the network has little to contrast yet.
    Where only single pixels are labelled, the others join with the student's own label, if its confidence is
    at least `own_label_above`; padding does not.
    """

    def __init__(
        self,
        *,
        contrast: RegionalContrast,
        weight: float = 1.0,
        trust_above: float = 0.7,
        own_label_above: float = 0.97,
        ramp: int = 0,
    ) -> None:
        super().__init__()
        check_probability("own_label_above", own_label_above)
        check_probability("trust_above", trust_above)
        self.contrast, self.weight, self.ramp = contrast, weight, Ramp(ramp=ramp)
        self.trust_above, self.own_label_above = trust_above, own_label_above

    def forward(
        self,
        output: StepOutput,
        generator: torch.Generator | None,
        *,
        iteration: int,
        with_stats: bool = False,
    ) -> StepOutput:
        """The step with a part "contrast" in its loss, and if asked for, stats of it."""
        weight = self.weight * self.ramp.weight(iteration)
        pixels = [self.cells(predicted, labels) for predicted, labels in output.pixels]
        features, labels, probabilities = (joined(tensors) for tensors in zip(*pixels, strict=True))
        if not with_stats:
            loss = self.contrast(features, labels, probabilities, generator=generator)
            return output.plus("contrast", loss, weight=weight)
        loss, stats = self.contrast(features, labels, probabilities, generator=generator, return_stats=True)
        idle = stats.inactive_because
        note = f"the contrast is 0 in this step: {idle}" if idle else None
        output = output.plus("contrast", loss, weight=weight)
        return replace(output, stats={**output.stats, **_as_numbers(stats)}, note=note)

    def cells(self, predicted: ModelOutput, pseudo: PseudoLabels) -> tuple[Tensor, Tensor, Tensor]:
        """Features (B, D, h, w), labels (B, h, w) and the student's probabilities (B, K, h, w)."""
        features = predicted.features
        if features is None:
            raise UserError("the contrast needs a network that gives features: see docs/networks.md")
        size = features.shape[2:]
        logits = predicted.logits if predicted.logits.shape[2:] == size else resize(predicted.logits, size)
        probabilities = logits.detach().softmax(1)
        trusted = pseudo.confidence >= self.trust_above
        labels = shrink_labels(pseudo.labels, size, sparse=pseudo.sparse, mask=trusted)
        if pseudo.sparse:
            confidence, own = probabilities.max(1)
            fill = (labels == IGNORE) & (confidence >= self.own_label_above)
            if pseudo.inside is not None:
                fill &= shrink_labels(pseudo.inside.long(), size) == 1
            labels = own.where(fill, labels)
        return features, labels, probabilities


def joined(tensors: tuple[Tensor, ...]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)


def _as_numbers(stats: ContrastStats) -> dict[str, Tensor]:
    """The stats that a log shows, each a single number."""
    return {
        "contrast_accuracy": stats.accuracy,
        "contrast_chance_level": stats.accuracy.new_tensor(stats.chance_level),
        "contrast_active_classes": stats.active_classes.sum(),
        "contrast_hard_share": stats.hard_share.nanmean(),
    }
