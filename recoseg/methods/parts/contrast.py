"""ReCo on top of any method: the contrast reads what a step says of its pixels."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.losses.regional_contrast import RegionalContrast
from recoseg.losses.regional_contrast.checks import check_probability
from recoseg.losses.regional_contrast.loss import PAPER
from recoseg.losses.regional_contrast.stats import ContrastStats
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.methods.parts.ramp import Ramp
from recoseg.models.bilinear import resize
from recoseg.text import lookup
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput

_Cells = tuple[Tensor, Tensor, Tensor]
"""Features (B, D, h, w), labels (B, h, w) and probabilities (B, K, h, w)."""

_FILLS = {"labelled": True, "confident": False, "teacher": True}
"""What enters a feature bank -> whether it comes from labelled images alone."""


class ContrastTerm(nn.Module):
    """Adds `weight` times the contrast of all pixels with a label, or a pseudo-label above `trust_above`.

    The weight grows from 0 over the first `ramp` iterations, while the network has little to contrast yet.
    Where only single pixels are labelled, the others join with the student's own label, if its confidence is
    at least `own_label_above`; padding does not.

    If the contrast has a feature bank, pixels enter it after the loss: those whose label the student gives
    them too, with a probability of at least `bank_above`. They are pixels of the labelled images, of all
    images with pseudo-labels (`confident`), or of the labelled images as the moving average sees them
    (`teacher`, for one more pass).
    """

    def __init__(
        self,
        *,
        contrast: RegionalContrast,
        weight: float = PAPER.weight,
        trust_above: float = PAPER.trust_above,
        own_label_above: float = PAPER.own_label_above,
        ramp: int = 0,
        bank_fill: Literal["labelled", "confident", "teacher"] = "labelled",
        bank_above: float = 0.0,
    ) -> None:
        super().__init__()
        check_probability("bank_above", bank_above)
        self.labelled_alone = lookup(_FILLS, bank_fill, what="bank_fill=")
        self.by_teacher, self.bank_above = bank_fill == "teacher", bank_above
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
        labelled: Batch | None = None,
        teacher: nn.Module | None = None,
    ) -> StepOutput:
        """The step with a part "contrast" in its loss, and if asked for, stats of it.

        What the `labelled` images and the `teacher`, a moving average, are is for a feature bank to know.
        """
        weight = self.weight * self.ramp.weight(iteration)
        pixels = [self.cells(predicted, labels) for predicted, labels in output.pixels]
        features, labels, probabilities = (joined(tensors) for tensors in zip(*pixels, strict=True))
        if with_stats:
            loss, stats = self.contrast(
                features, labels, probabilities, generator=generator, return_stats=True
            )
            idle = stats.inactive_because
            note = f"the contrast is 0 in this step: {idle}" if idle else None
            output = replace(output, stats={**output.stats, **_as_numbers(stats)}, note=note)
        else:
            loss = self.contrast(features, labels, probabilities, generator=generator)
        if self.contrast.bank is not None:
            assert labelled is not None
            self._fill((features, labels, probabilities), labelled, teacher, generator)
        return output.plus("contrast", loss, weight=weight)

    @torch.no_grad()
    def _fill(
        self, cells: _Cells, labelled: Batch, teacher: nn.Module | None, generator: torch.Generator | None
    ) -> None:
        """Let what may enter the bank enter it; the cells of labelled images come first."""
        assert self.contrast.bank is not None
        if self.by_teacher and teacher is not None:
            cells = self.cells(teacher(labelled.images), PseudoLabels.of_batch(labelled))
        features, labels, probabilities = cells
        if self.labelled_alone:
            features, labels, probabilities = (tensor[: len(labelled)] for tensor in cells)
        probability, likeliest = probabilities.max(1)
        admitted = (likeliest == labels) & (probability >= self.bank_above)
        if self.labelled_alone:  # by a person
            admitted &= shrink_labels(labelled.labels, features.shape[2:], sparse=labelled.sparse) != IGNORE
        self.contrast.bank.fill(features, labels, admitted, generator)

    def cells(self, predicted: ModelOutput, pseudo: PseudoLabels) -> _Cells:
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
        "contrast_chance_level": torch.full_like(stats.accuracy, stats.chance_level),
        "contrast_active_classes": stats.active_classes.sum(),
        "contrast_hard_share": stats.hard_share.nanmean(),
    }
