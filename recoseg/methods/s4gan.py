"""S4GAN (Mittal et al., 2021): a discriminator tells predicted class maps from true ones.

The student makes its maps of unlabelled images look true, and trusts the ones that do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import S4GANSettings
from recoseg.config.parse import section_of
from recoseg.losses.cross_entropy import pixel_cross_entropy
from recoseg.methods.method import Method, MethodParts, require_whole_labels
from recoseg.methods.parts.discriminator import Discriminator, Judgement, class_maps
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.second_networks import untouched, without_learning
from recoseg.models.bilinear import resize
from recoseg.types import IGNORE, Batch, PseudoLabels, StepOutput


class S4GAN(Method):
    """supervised + `match_weight` * matching + `self_weight` * self-training, and the discriminator's loss.

    Matching: distance between the discriminator's mean features of true and of predicted maps; with several
    processes, between the means of each process's own images. Self-training: cross-entropy with the student's
    own labels, for images whose map the discriminator takes for a true one with a probability above
    `self_above`. Both grow by the ramp; before it begins, the discriminator rests as well.

    The loss holds what student and discriminator learn from, so that one backward pass serves both: the
    student's parts see the discriminator's weights as constants, the discriminator's part sees maps as
    constants. A true map is one-hot, and all zero where a pixel has no label. Predicted maps are all zero in
    padding alone, since nobody knows where else a person would have left a gap.
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        num_classes: int,
        **settings: Any,
    ) -> None:
        own = section_of(S4GANSettings, settings)
        super().__init__(student, own)
        self.view, self.num_classes = view, num_classes
        self.match_weight, self.self_weight, self.self_above = (
            own.match_weight,
            own.self_weight,
            own.self_above,
        )
        self.ramp = Ramp(supervised_start=own.supervised_start or 0, ramp=own.ramp or 0)
        self.discriminator = Discriminator(num_classes)
        self.optimiser = Adam(self.discriminator.parameters(), lr=own.discriminator_lr, betas=(0.9, 0.99))

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> S4GAN:
        return cls(student, parts.strong_view("none"), parts.num_classes, **settings)

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        require_whole_labels("s4gan", sparse=sparse)
        self.discriminator.require_size(crop)

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.ramp.has_begun(iteration)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"discriminator": self.optimiser}

    def after_update(self, iteration: int) -> None:
        super().after_update(iteration)
        if not self.ramp.has_begun(iteration):
            self.optimiser.state.clear()  # Adam counts no step of those in which the discriminator rests

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        require_whole_labels("s4gan", sparse=labelled.sparse)
        output = self.supervised_step(labelled)
        if unlabelled is None:
            return replace(output, loss=output.loss + untouched(self.discriminator))
        whole = PseudoLabels.certain(torch.zeros_like(unlabelled.labels)).within(unlabelled.inside)
        images, seen = self.view(unlabelled.images, whole, None, generator)
        inside = seen.labels != IGNORE  # (B, H, W): not padding
        on_unlabelled = self.student(images)
        logits = resize(on_unlabelled.logits.float(), images.shape[2:])  # (B, K, H, W)
        predicted = logits.softmax(1) * inside[:, None]
        confidence, labels = predicted.detach().max(1)  # (B, H, W), twice
        labels = labels.where(inside, IGNORE)

        true = class_maps(labelled.labels, self.num_classes).to(predicted.dtype)
        on_true = self.discriminator(labelled.images, true)
        on_predicted = self.discriminator(images, predicted.detach())
        judgement: Judgement = without_learning(self.discriminator, images, predicted)
        looks_true = judgement.scores.detach().float().sigmoid() >= self.self_above  # (B,)

        matching = F.l1_loss(judgement.features.mean(0), on_true.features.detach().mean(0))
        self_training = pixel_cross_entropy(logits, labels.where(looks_true[:, None, None], IGNORE))
        scale = self.ramp.weight(iteration)
        output = output.plus("matching", matching, weight=scale * self.match_weight)
        output = output.plus("self_training", self_training, weight=scale * self.self_weight)
        output = output.plus("discriminator", _discriminator_loss(on_true, on_predicted))
        own = PseudoLabels(labels, confidence)
        return replace(output, pixels=[*output.pixels, (on_unlabelled, own)], mixed=(images, own))


def _discriminator_loss(on_true: Judgement, on_predicted: Judgement) -> Tensor:
    """Binary cross-entropy: true maps are to score 1, predicted ones 0; both kinds weigh the same."""
    kinds = ((on_true.scores, torch.ones_like), (on_predicted.scores, torch.zeros_like))
    losses = [F.binary_cross_entropy_with_logits(scores, target(scores)) for scores, target in kinds]
    return (losses[0] + losses[1]) / 2
